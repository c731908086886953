/**
 * Defines tests for every response of createPlant. The caller chooses whether the tests invoke the function directly or
 * send HTTP requests.
 */
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  captivePortal,
  corruptResponse,
  drip,
  dynamoDbError,
  type Fault,
  type Faults,
  hang,
  hangUp,
  loseResponse,
  onFirstCall,
  sendNonHttp,
  sendRetryAfter,
  truncateResponse,
} from './faulty-store.ts';
import type { Item } from './plants-store.ts';

/** A request to POST /plants: without `contentType`, it has no Content-Type. */
export type PlantRequest = {
  body: string | Buffer | undefined;
  contentType?: string | undefined;
  contentEncoding?: string | undefined;
};

export type PlantResponse = { status: number; headers: Record<string, unknown>; body: unknown };

export type PlantService = {
  /**
   * Sends the request to POST /plants, with a valid token if the service needs one, and checks that the response follows
   * the contract. With a real clock, sends it again after a 503, which a busy machine may cause.
   */
  send: Send;
  /** Reads the item with this id from the store, not through the service. */
  read: (id: string) => Promise<Item | undefined>;
  /** Undefined for a service into whose store tests cannot inject faults. */
  faults?: FaultyService;
};
type Send = (request: PlantRequest) => Promise<PlantResponse>;

export type FaultyService = Faults & {
  /** Starts a new instance of the service, whose SDK client has its whole retry quota. */
  start: () => Promise<{ send: Send }>;
};

/** Returns a random 64-bit id, which an earlier run is most unlikely to have used. */
export const newId = (): string => String(randomBytes(8).readBigInt64BE());

const contentType = 'application/json';

const ok = (name: string, tag?: string) => ({ status: 200, body: tag === undefined ? { name } : { name, tag } });

const refusal = (error: number) => ({ status: Math.floor(error / 100), body: { error } });

/** Returns the item that the store must have for this plant. */
export const item = (id: string, name: string, tag?: string): Item => ({
  id: { N: id },
  name: { S: name },
  ...(tag !== undefined && { tag: { S: tag } }),
});

/** Returns JSON text with `levels` levels of nesting: a plant with an unknown field of nested arrays and objects. */
const nested = (levels: number, number: string): string => {
  const [arrays, objects] = [Math.floor((levels - 1) / 2), Math.ceil((levels - 1) / 2)];
  const more = '['.repeat(arrays) + '{"a":'.repeat(objects) + number + '}'.repeat(objects) + ']'.repeat(arrays);
  return `{"id":ID,"name":"x","m":${more}}`;
};

/** Defines tests of createPlant's responses. With `hasFaults`, some inject faults into the store. */
export const testResponses = (service: () => PlantService, hasFaults: boolean): void => {
  const post = (body: PlantRequest['body']): Promise<PlantResponse> => service().send({ body, contentType });
  const read = (id: string): Promise<Item | undefined> => service().read(id);

  describe('createPlant stores a NewPlant as sent and returns it as a Plant', () => {
    test.each<[what: string, fields: string, name: string, tag?: string]>([
      ['without a tag', '"name":"Moss"', 'Moss'],
      ['with an empty name and tag', '"name":"","tag":""', '', ''],
      ['with U+0000 in name and tag', '"name":"\\u0000","tag":"a\\u0000b"', '\0', 'a\0b'],
      ['with text beyond ASCII', '"name":"naïve e\u0301 🌱","tag":"\ufeff﷽"', 'naïve e\u0301 🌱', '\ufeff﷽'],
      ['with an escaped U+FFFD', '"name":"\\ufffd","tag":"\\uFFFD"', '\ufffd', '\ufffd'],
      ['with JSON escapes', '"n\\u0061me":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83c\\udf31"', '"\\/\b\f\n\r\té🌱'],
      ['with white space around the JSON tokens', '\t"name"\r\n: "Moss" ', 'Moss'],
      ['with unknown fields', '"name":"Moss","height":1.5,"ID":"7","more":{"id":[1,null]}', 'Moss'],
      ['with a duplicate field: the last one counts', '"name":7,"name":"Moss"', 'Moss'],
      ['with numbers in the name', '"name":"1.50 or 1234567890123456"', '1.50 or 1234567890123456'],
    ])('%s', async (_, fields, name, tag) => {
      const id = newId();
      expect(await post(`{"id":${id},${fields}}`)).toMatchObject(ok(name, tag));
      expect(await read(id)).toEqual(item(id, name, tag));
    });

    test('with any UTF-8 text, even if the content type makes the gateway encode the body in base64', async () => {
      const id = newId();
      const body = `{"id":${id},"name":"Löwenzahn 🌱","tag":"\ufffd"}`;
      const request = { body, contentType: 'application/vnd.plant+json' };
      expect(await service().send(request)).toMatchObject(ok('Löwenzahn 🌱', '\ufffd'));
      expect(await read(id)).toEqual(item(id, 'Löwenzahn 🌱', '\ufffd'));
    });

    test.each([
      ['application/json', ''],
      ['APPLICATION/Json', 'identity, IDENTITY'],
      ['application/json ; charset="utf-8"', undefined],
      ['application/json\t;\tversion=1; x=y', undefined],
      ['Application/a-b!1+JSON;q=1', undefined],
    ])('if the request has the content type %s and the content encoding %j', async (type, contentEncoding) => {
      const id = newId();
      const body = `{"id":${id},"name":"Reed"}`;
      expect(await service().send({ body, contentType: type, contentEncoding })).toMatchObject(ok('Reed'));
      expect(await read(id)).toEqual(item(id, 'Reed'));
    });

    test.each([
      ['4', '4'],
      ['-0.0e5', '0'],
      ['0e999999999', '0'],
      ['1.0', '1'],
      ['12.50E+1', '125'],
      ['7000e-3', '7'],
      ['0.9223372036854775807e19', '9223372036854775807'],
      ['9007199254740993', '9007199254740993'],
      ['9223372036854775807', '9223372036854775807'],
      ['-9223372036854775808', '-9223372036854775808'],
      ['-922337203685477580800e-2', '-9223372036854775808'],
    ])('if its id is written as %s, under the integer for which that stands', async (spelling, id) => {
      // An earlier run, or the test with another spelling of this id, may have stored a plant with this id already. The
      // name depends only on the id, so the stored plant equals this one, and the service returns 200.
      const name = `plant ${id}`;
      expect(await post(`{"id":${spelling},"name":"${name}"}`)).toMatchObject(ok(name));
      expect(await read(id)).toEqual(item(id, name));
    });

    test('if the body has 2,000 levels of nesting, in an unknown field', async () => {
      const id = newId();
      const body = nested(2_000, '1.5').replace('ID', id);
      expect(await post(body.replace('"m":', '"m":["[{\\"[{\\\\"],"n":'))).toMatchObject(ok('x'));
      expect(await read(id)).toEqual(item(id, 'x'));
    });

    test('if the body is at most 1 MiB', async () => {
      const id = newId();
      const body = (filler: string) => `{"id":${id},"name":"Moss","more":"${filler}"}`;
      const room = 1_048_576 - body('').length;
      expect(await post(body('x'.repeat(room + 1)))).toMatchObject(refusal(41301));
      expect(await read(id), 'item in the store').toBeUndefined();
      expect(await post(body('x'.repeat(room)))).toMatchObject(ok('Moss'));
      expect(await read(id)).toEqual(item(id, 'Moss'));
    });

    test('if the plant is at most 400 KB', async () => {
      // In most AWS regions, DynamoDB refuses an update that sets two fields, as this one does, if their names and
      // values together have more than 400 KB minus 41 bytes: docs/decisions/contract.md
      const name = 'x'.repeat(409_600 - 41 - 'name'.length - 'tag'.length - Buffer.byteLength('é'));
      expect(await post(JSON.stringify({ id: 8, name, tag: 'é' }))).toMatchObject(ok(name, 'é'));
      expect(await read('8')).toEqual(item('8', name, 'é'));
    });
  });

  describe('plants with the same id', () => {
    test('are acknowledged if they are equal; a different one is a conflict and changes nothing', async () => {
      const id = newId();
      const body = (fields: string) => `{"id":${id},${fields}}`;
      const [tagged, bare] = ['"name":"Fern","tag":"shade"', '"name":"Fern"'];
      expect(await post(body(tagged))).toMatchObject(ok('Fern', 'shade'));
      expect(await post(body(tagged))).toMatchObject(ok('Fern', 'shade'));
      for (const other of [bare, '"name":"Fern","tag":""', '"name":"Ivy","tag":"shade"', '"name":"","tag":"shade"']) {
        expect(await post(body(other))).toMatchObject(refusal(40901));
      }
      expect(await post(body('"tag":"shade","more":1,"name":"F\\u0065rn"'))).toMatchObject(ok('Fern', 'shade'));
      expect(await read(id)).toEqual(item(id, 'Fern', 'shade'));
    });

    test('(20 different ones, sent at once) lead to one 200, for the plant that is stored, and to nineteen 409s', async () => {
      const id = newId();
      const names = Array.from({ length: 20 }, (_, index) => `racer ${index}`);
      const responses = await Promise.all(names.map((name) => post(`{"id":${id},"name":"${name}"}`)));
      const winners = names.filter((_, index) => responses[index]?.status === 200);
      expect(winners, 'acknowledged').toHaveLength(1);
      expect(responses.filter(({ status }) => status !== 200)).toMatchObject(Array(19).fill(refusal(40901)));
      expect(await read(id)).toEqual(item(id, winners[0] ?? ''));
    });
  });

  describe('createPlant refuses a request and stores nothing', () => {
    /** Bodies that createPlant refuses. Each test replaces ID in the body with a new id. */
    const refused: [what: string, body: string | undefined, error: number][] = [
      ['no body', undefined, 40001],
      ['an empty body', '', 40001],
      ['only white space', ' \n', 40001],
      ['half a JSON object', '{"id":ID', 40001],
      ['two JSON values', '{"id":ID,"name":"x"}{}', 40001],
      ['a trailing comma', '{"id":ID,"name":"x",}', 40001],
      ['an id with a leading zero', '{"id":007,"name":"x"}', 40001],
      ['a raw control character', '{"id":ID,"name":"a\nb"}', 40001],
      ['a byte order mark', '\ufeff{"id":ID,"name":"x"}', 40001],
      ['a __proto__ field', '{"id":ID,"name":"x","__proto__":{}}', 40001],
      ['a constructor with a prototype', '{"id":ID,"name":"x","constructor":{"prototype":{}}}', 40001],
      ['nesting of 2,001 levels beside a fraction', nested(2_001, '1.5'), 40001],
      ['nesting of 100,000 levels', nested(100_000, '1'), 40001],
      ['the JSON value null', 'null', 40002],
      ['a JSON string', '"x"', 40002],
      ['a plant in an array', '[{"id":ID,"name":"x"}]', 40002],
      ['a plant without an id', '{"name":"x"}', 40002],
      ['a plant without a name', '{"id":ID}', 40002],
      ['an id that is a string', '{"id":"ID","name":"x"}', 40002],
      ['an id that is null', '{"id":null,"name":"x"}', 40002],
      ['an id in an object', '{"id":{"N":"ID"},"name":"x"}', 40002],
      ['an id of one half', '{"id":0.5,"name":"x"}', 40002],
      ['an id of 2^63', '{"id":9223372036854775808,"name":"x"}', 40002],
      ['an id of 2^63 in another spelling', '{"id":9.223372036854775808e18,"name":"x"}', 40002],
      ['an id of -2^63-1', '{"id":-9223372036854775809,"name":"x"}', 40002],
      ['an id too large for a double', '{"id":1e400,"name":"x"}', 40002],
      ['an id that a double rounds to 0', '{"id":1E-400,"name":"x"}', 40002],
      ['an id of a billion digits', '{"id":1e999999999,"name":"x"}', 40002],
      ['an id that only rounding makes whole', '{"id":1.0000000000000000001,"name":"x"}', 40002],
      ['a large id with a fraction', '{"id":9007199254740993.5,"name":"x"}', 40002],
      ['a valid id followed by an invalid one', '{"id":ID,"id":"ID","name":"x"}', 40002],
      ['a name that is a number', '{"id":ID,"name":1}', 40002],
      ['a name that is null', '{"id":ID,"name":null}', 40002],
      ['a tag that is null', '{"id":ID,"name":"x","tag":null}', 40002],
      ['a lone surrogate in the name', '{"id":ID,"name":"\\ud800"}', 40002],
      ['a lone surrogate in the tag', '{"id":ID,"name":"x","tag":"a\\udc00b"}', 40002],
      // In UTF-8, this name is over 400 KB, but it has fewer characters.
      ['a plant over 400 KB', `{"id":ID,"name":"${'é'.repeat(205_000)}"}`, 41301],
      ['a body over 1 MiB', `{"id":ID,"name":"x","more":"${'x'.repeat(1_048_576)}"}`, 41301],
    ];

    const refuses = async (request: (id: string) => PlantRequest, error: number): Promise<void> => {
      const id = newId();
      expect(await service().send(request(id))).toMatchObject(refusal(error));
      expect(await read(id), 'item in the store').toBeUndefined();
    };

    test.each(refused)('for %s', (_, body, error) =>
      refuses((id) => ({ body: body?.replaceAll('ID', id), contentType }), error),
    );

    test.each([undefined, '', 'text/json', 'application/json5', 'application/+json', 'application/json, text/plain'])(
      'for the content type %s',
      (type) => refuses((id) => ({ body: `{"id":${id},"name":"Reed"}`, contentType: type }), 41501),
    );

    // The gateway passes application/json on as text, in which U+FFFD replaces each invalid byte.
    // The gateway encodes application/vnd.plant+json in base64.
    const notUtf8: [what: string, bytes: string][] = [
      ['a byte that starts no sequence', 'ff'],
      ['a surrogate', 'ed a0 80'],
      ['an emoji cut to three bytes, as many as U+FFFD has', 'f0 9f 8c'],
      ['a cut emoji beside a whole U+FFFD and an invalid byte', 'f0 9f 98 20 ef bf bd ff'],
    ];
    describe.each(['application/json', 'application/vnd.plant+json'])('for invalid UTF-8, sent as %s:', (type) => {
      test.each(notUtf8)('%s', async (_, hex) => {
        const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
        const body = (id: string) => Buffer.concat([Buffer.from(`{"id":${id},"name":"`), bytes, Buffer.from('"}')]);
        await refuses((id) => ({ body: body(id), contentType: type }), 40001);
      });
    });

    test.each([
      ['a value', '"name":"\ufffd"'],
      ['a key', '"name":"Moss","\ufffd":1'],
    ])('for U+FFFD in %s, because the gateway may have put it there in place of invalid bytes', (_, fields) =>
      refuses((id) => ({ body: `{"id":${id},${fields}}`, contentType }), 40001),
    );

    test.each(['gzip', 'identity, gzip', 'gzip, identity', 'x'])(
      'for the content encoding %s, even if the body is plain JSON; the response names the encoding that it accepts',
      async (contentEncoding) => {
        const plain = (id: string) => `{"id":${id},"name":"Reed"}`;
        await refuses((id) => ({ body: plain(id), contentType, contentEncoding }), 41502);
        const { status, headers } = await service().send({ body: gzipSync(plain('1')), contentType, contentEncoding });
        expect({ status, headers }).toMatchObject({ status: 415, headers: { 'accept-encoding': 'identity' } });
      },
    );

    test('for a missing body, even if the content type is missing too', async () => {
      await refuses(() => ({ body: undefined }), 40001);
    });

    test('with a message that names every invalid field and its rule', async () => {
      expect((await post('{"id":"1","tag":7}')).body).toEqual({
        error: 40002,
        message:
          'id must be an integer from -9223372036854775808 to 9223372036854775807; name is required; tag must be a string',
      });
      expect((await post('[]')).body).toEqual({ error: 40002, message: 'the request body must be an object' });
    });
  });

  if (hasFaults) testFaults(service);
};

/**
 * Faults of the store that last, so that createPlant responds with a 503; each with the least and the most calls that
 * createPlant makes to the store.
 */
export const lastingFaults: [what: string, fault: Fault, calls: [least: number, most: number]][] = [
  ['answers 500', dynamoDbError(500, 'InternalServerError'), [3, 3]],
  ['answers 503', dynamoDbError(503, 'ServiceUnavailable'), [3, 3]],
  ['throttles', dynamoDbError(400, 'ThrottlingException'), [2, 3]],
  ['hangs up', hangUp, [3, 3]],
  ['hangs', hang, [3, 3]],
  ['sends a space every 100 ms', drip, [1, 3]],
  ['loses every response after the write', loseResponse, [3, 3]],
  ['cuts every response in the middle', truncateResponse, [1, 3]],
  ['sends invalid JSON', corruptResponse, [1, 3]],
  ['does not speak HTTP', sendNonHttp, [1, 3]],
  ['asks to retry in 30 seconds', sendRetryAfter, [1, 3]],
  ['is not DynamoDB', captivePortal, [1, 3]],
];

/** A plant name that no log line and no error response may contain. */
const name = 'secret Moss';

const testFaults = (service: () => PlantService): void => {
  /** Starts a new instance of the service, and lets the store fail for one plant. */
  const failing = async (fault: Fault) => {
    const { faults, read } = service();
    if (faults === undefined) throw new Error('This service has no faults.');
    const { send } = await faults.start();
    const id = newId();
    faults.fail(id, fault);
    return {
      create: () => send({ body: `{"id":${id},"name":"${name}"}`, contentType }),
      calls: () => faults.calls(id),
      heal: () => faults.fail(id),
      read: () => read(id),
      whole: item(id, name),
    };
  };

  describe.concurrent('if the store', () => {
    test.each(lastingFaults)(
      '%s, a 503 with Retry-After arrives before the time limit of a request, and the plant can be sent again',
      async (_, fault, [least, most]) => {
        const { create, calls, heal, read, whole } = await failing(fault);
        expect(await create()).toMatchObject({ ...refusal(50301), headers: { 'retry-after': '1' } });
        expect(calls(), 'calls to the store').toBeGreaterThanOrEqual(least);
        expect(calls(), 'calls to the store').toBeLessThanOrEqual(most);
        expect([undefined, whole]).toContainEqual(await read());
        heal();
        expect(await create()).toMatchObject(ok(name));
        expect(await read()).toEqual(whole);
      },
    );

    test.each([
      ['loses the response after the write', loseResponse],
      ['hangs up', hangUp],
      ['answers 500', dynamoDbError(500, 'InternalServerError')],
      ['throttles', dynamoDbError(400, 'ProvisionedThroughputExceededException')],
    ])('%s once, the response is a 200, because the function calls the store again', async (_, fault) => {
      const { create, calls, read, whole } = await failing(onFirstCall(fault));
      expect(await create()).toMatchObject(ok(name));
      expect(calls(), 'calls to the store').toBe(2);
      expect(await read()).toEqual(whole);
    });

    test.each(['ResourceNotFoundException', 'ExpiredTokenException'])(
      'returns %s, the response is a 500, because a retry would not help',
      async (type) => {
        const { create, calls, read } = await failing(dynamoDbError(400, type));
        expect(await create()).toMatchObject(refusal(50001));
        expect(calls(), 'calls to the store').toBe(1);
        expect(await read(), 'item in the store').toBeUndefined();
      },
    );
  });
};
