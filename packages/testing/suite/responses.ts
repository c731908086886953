/**
 * Defines tests for every response of the operation that adds an item, whatever its fields are. The caller chooses
 * whether the tests invoke the function directly or send HTTP requests.
 */
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  acceptsUnknownFields,
  bodyOf,
  conflict,
  content,
  contents,
  type Item,
  invalidBody,
  itemOf,
  longFields,
  longText,
  newId,
  otherContent,
  responseTo,
  shortened,
  tableKey,
  unknownField,
  withText,
} from '../data/example.ts';
import type { Fault, Faults } from '../store/faulty-store.ts';
import * as faults from '../store/faulty-store.ts';
import { createOperation } from '../under-test.ts';

/** A request that adds an item: without `contentType`, it has no Content-Type. */
export type ServiceRequest = {
  body: string | Buffer | undefined;
  contentType?: string | undefined;
  contentEncoding?: string | undefined;
};

export type ServiceResponse = { status: number; headers: Record<string, unknown>; body: unknown };

export type ServiceUnderTest = {
  /**
   * Sends the request, with a valid token if the service needs one, and checks that the response follows
   * the contract. With a real clock, sends it again after a 503, which a busy machine may cause.
   */
  send: Send;
  /** Reads the item with this id from the store, not through the service. */
  read: (id: string) => Promise<Item | undefined>;
};
type Send = (request: ServiceRequest) => Promise<ServiceResponse>;

export type FaultyService = Faults & {
  /** Starts a new instance of the service, whose SDK client has its whole retry quota. */
  start: () => Promise<{ send: Send }>;
};

const contentType = 'application/json';

export const ok = (id: string, fields = content) => ({ status: 200, body: responseTo(id, fields) });

export const refusal = (error: number) => ({ status: Math.floor(error / 100), body: { error } });

/** Adds fields, as JSON text, at the end of a body. */
const withFields = (body: string, fields: string): string => `${body.slice(0, -1)},${fields}}`;

/** Returns a field, as JSON text, with nested arrays and objects that give its body `levels` levels of nesting. */
const nested = (levels: number, number: string): string => {
  const [arrays, objects] = [Math.floor((levels - 1) / 2), Math.ceil((levels - 1) / 2)];
  return `"${unknownField}":${'['.repeat(arrays)}${'{"a":'.repeat(objects)}${number}${'}'.repeat(objects)}${']'.repeat(arrays)}`;
};

/** Defines tests of its responses while the store works. */
export const testResponses = (service: ServiceUnderTest): void => {
  const post = (body: ServiceRequest['body']): Promise<ServiceResponse> => service.send({ body, contentType });
  const { read } = service;

  describe(`${createOperation.id} stores a body as sent, and repeats it as the contract says`, () => {
    test.each(contents)('%j', async (fields) => {
      const id = newId();
      expect(await post(bodyOf(id, fields))).toMatchObject(ok(id, fields));
      expect(await read(id)).toEqual(itemOf(id, fields));
    });

    const unknown: [what: string, change: (body: string) => string][] = [
      ['with unknown fields', (body) => withFields(body, `"${unknownField}":{"id":[1,null]},"nor this":1.5`)],
      [
        'with 2,000 levels of nesting',
        (body) => withFields(body, `"nor this":["[{\\"[{\\\\"],${nested(2_000, '1.5')}`),
      ],
    ];
    test.each<[what: string, change: (body: string) => string]>([
      ['with white space around the JSON', (body) => `\t${body.replace('{', '\r\n{ ')} `],
      ['with a duplicate field: the last one counts', (body) => body.replace('{', `{"${tableKey.name}":null,`)],
      ...(acceptsUnknownFields ? unknown : []),
    ])('%s', async (_, change) => {
      const id = newId();
      expect(await post(change(bodyOf(id)))).toMatchObject(ok(id));
      expect(await read(id)).toEqual(itemOf(id));
    });

    test.each([
      ['application/json', ''],
      ['APPLICATION/Json', 'identity, IDENTITY'],
      ['application/json ; charset="utf-8"', undefined],
      ['application/json\t;\tversion=1; x=y', undefined],
      ['Application/a-b!1+JSON;q=1', undefined],
    ])('if the request has the content type %s and the content encoding %j', async (type, contentEncoding) => {
      const id = newId();
      expect(await service.send({ body: bodyOf(id), contentType: type, contentEncoding })).toMatchObject(ok(id));
      expect(await read(id)).toEqual(itemOf(id));
    });

    test('if the body is at most 1 MiB', async () => {
      const id = newId();
      const spaces = ' '.repeat(1_048_576 - Buffer.byteLength(bodyOf(id)));
      expect(await post(`${bodyOf(id)}${spaces} `)).toMatchObject(refusal(41301));
      expect(await read(id), 'item in the store').toBeUndefined();
      expect(await post(bodyOf(id) + spaces)).toMatchObject(ok(id));
      expect(await read(id)).toEqual(itemOf(id));
    });
  });

  describe('items with the same id', () => {
    test('are acknowledged if they are equal; a different one is a conflict and changes nothing', async () => {
      const id = newId();
      expect(await post(bodyOf(id))).toMatchObject(ok(id));
      expect(await post(bodyOf(id))).toMatchObject(ok(id));
      expect(await post(bodyOf(id, otherContent))).toMatchObject(refusal(conflict));
      expect(await post(bodyOf(id, Object.fromEntries(Object.entries(content).reverse())))).toMatchObject(ok(id));
      expect(await read(id)).toEqual(itemOf(id));
    });

    test.each(shortened)('are different if only one has the field %s', async (_, shorter) => {
      for (const [stored, other] of [
        [content, shorter],
        [shorter, content],
      ]) {
        const id = newId();
        expect(await post(bodyOf(id, stored))).toMatchObject(ok(id, stored));
        expect(await post(bodyOf(id, other))).toMatchObject(refusal(conflict));
        expect(await read(id)).toEqual(itemOf(id, stored));
      }
    });

    test('(20 with two contents, sent at once) lead to a 200 for each with the content that is stored, and to 409s for the others', async () => {
      const id = newId();
      const sent = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? content : otherContent));
      const responses = await Promise.all(sent.map((fields) => post(bodyOf(id, fields))));
      const stored = sent.find((_, index) => responses[index]?.status === 200);
      expect(stored, 'acknowledged').toBeDefined();
      expect(responses).toMatchObject(sent.map((fields) => (fields === stored ? ok(id, fields) : refusal(conflict))));
      expect(await read(id)).toEqual(itemOf(id, stored));
    });
  });

  describe(`${createOperation.id} refuses a request and stores nothing`, () => {
    const { name: key } = tableKey;
    /** Changes to a valid body, after which the operation refuses it. */
    const refused: [what: string, change: (body: string) => string | undefined, error: number][] = [
      ...longFields.map((field): (typeof refused)[number] => [
        `more than 400 KB in the field ${field}`,
        (body) => withFields(body, `"${field}":"${longText}"`),
        41301,
      ]),
      ['no body', () => undefined, 40001],
      ['an empty body', () => '', 40001],
      ['only white space', () => ' \n', 40001],
      ['half a JSON object', (body) => body.slice(0, -1), 40001],
      ['two JSON values', (body) => `${body}{}`, 40001],
      ['a trailing comma', (body) => `${body.slice(0, -1)},}`, 40001],
      ['a number with a leading zero', (body) => withFields(body, `"${unknownField}":007`), 40001],
      ['a raw control character', (body) => withFields(body, `"${unknownField}":"a\nb"`), 40001],
      ['a byte order mark', (body) => `\ufeff${body}`, 40001],
      ['a __proto__ field', (body) => withFields(body, '"__proto__":{}'), 40001],
      ['a constructor with a prototype', (body) => withFields(body, '"constructor":{"prototype":{}}'), 40001],
      ['nesting of 2,001 levels beside a fraction', (body) => withFields(body, nested(2_001, '1.5')), 40001],
      ['nesting of 100,000 levels', (body) => withFields(body, nested(100_000, '1')), 40001],
      ['the JSON value null', () => 'null', 40002],
      ['a JSON string', () => '"x"', 40002],
      ['a body in an array', (body) => `[${body}]`, 40002],
      ['a body without its key', () => invalidBody, 40002],
      ['an id that is null', (body) => withFields(body, `"${key}":null`), 40002],
      ['an id in an object', (body) => withFields(body, `"${key}":{"N":"7"}`), 40002],
      ['a body over 1 MiB', (body) => body.padEnd(1_048_577), 41301],
    ];

    const refuses = async (request: (body: string) => ServiceRequest, error: number): Promise<void> => {
      const id = newId();
      expect(await service.send(request(bodyOf(id)))).toMatchObject(refusal(error));
      expect(await read(id), 'item in the store').toBeUndefined();
    };

    test.each(refused)('for %s', (_, change, error) => refuses((body) => ({ body: change(body), contentType }), error));

    test.each([undefined, '', 'text/json', 'application/json5', 'application/+json', 'application/json, text/plain'])(
      'for the content type %s',
      (type) => refuses((body) => ({ body, contentType: type }), 41501),
    );

    // The gateway passes application/json on as text, in which U+FFFD replaces each invalid byte.
    // The gateway encodes application/vnd.item+json in base64.
    const notUtf8: [what: string, bytes: string][] = [
      ['a byte that starts no sequence', 'ff'],
      ['a surrogate', 'ed a0 80'],
      ['an emoji cut to three bytes, as many as U+FFFD has', 'f0 9f 8c'],
      ['a cut emoji beside a whole U+FFFD and an invalid byte', 'f0 9f 98 20 ef bf bd ff'],
    ];
    describe.each(['application/json', 'application/vnd.item+json'])('for invalid UTF-8, sent as %s:', (type) => {
      test.each(notUtf8)('%s', async (_, hex) => {
        const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
        const withBytes = (body: string) =>
          Buffer.concat([Buffer.from(`${body.slice(0, -1)},"${unknownField}":"`), bytes, Buffer.from('"}')]);
        await refuses((body) => ({ body: withBytes(body), contentType: type }), 40001);
      });
    });

    test.each([
      ['a value', `"${unknownField}":"\ufffd"`],
      ['a key', '"\ufffd":1'],
    ])('for U+FFFD in %s, because the gateway may have put it there in place of invalid bytes', (_, fields) =>
      refuses((body) => ({ body: withFields(body, fields), contentType }), 40001),
    );

    test.each(['gzip', 'identity, gzip', 'gzip, identity', 'x'])(
      'for the content encoding %s, even if the body is plain JSON; the response names the encoding that it accepts',
      async (contentEncoding) => {
        await refuses((body) => ({ body, contentType, contentEncoding }), 41502);
        const { status, headers } = await service.send({ body: gzipSync(bodyOf()), contentType, contentEncoding });
        expect({ status, headers }).toMatchObject({ status: 415, headers: { 'accept-encoding': 'identity' } });
      },
    );

    test('for a missing body, even if the content type is missing too', async () => {
      await refuses(() => ({ body: undefined }), 40001);
    });

    test('with a message that names the invalid field and its rule', async () => {
      const message = expect.stringContaining(`${key} is required`);
      expect((await post(invalidBody)).body).toEqual({ error: 40002, message });
      expect((await post('[]')).body).toEqual({ error: 40002, message: 'the request body must be an object' });
    });
  });
};

/**
 * Faults of the store that last, so that the operation responds with a 503; each with the least and the most calls that
 * it makes to the store.
 */
export const lastingFaults: [what: string, fault: Fault, calls: [least: number, most: number]][] = [
  ['answers 500', faults.dynamoDbError(500, 'InternalServerError'), [3, 3]],
  ['answers 503', faults.dynamoDbError(503, 'ServiceUnavailable'), [3, 3]],
  ['throttles', faults.dynamoDbError(400, 'ThrottlingException'), [2, 3]],
  ['hangs up', faults.hangUp, [3, 3]],
  ['hangs', faults.hang, [3, 3]],
  ['sends a space every 100 ms', faults.drip, [1, 3]],
  ['loses every response after the write', faults.loseResponse, [3, 3]],
  ['cuts every response in the middle', faults.truncateResponse, [1, 3]],
  ['sends invalid JSON', faults.corruptResponse, [1, 3]],
  ['does not speak HTTP', faults.sendNonHttp, [1, 3]],
  ['asks to retry in 30 seconds', faults.sendRetryAfter, [1, 3]],
  ['is not DynamoDB', faults.captivePortal, [1, 3]],
];

const fields = withText(faults.secret);

/** Defines tests of its responses while the store fails. */
export const testFaults = ({ faults: store, read }: ServiceUnderTest & { faults: FaultyService }): void => {
  test.concurrent.each(lastingFaults)(
    'if the store %s, a 503 with Retry-After arrives before the time limit of a request, and the item can be sent again',
    async (_, fault, [least, most]) => {
      // A new instance has an SDK client with its whole retry quota.
      const { send } = await store.start();
      const id = newId();
      const create = () => send({ body: bodyOf(id, fields), contentType });
      store.fail(id, fault);
      expect(await create()).toMatchObject({ ...refusal(50301), headers: { 'retry-after': '1' } });
      expect(store.calls(id), 'calls to the store').toBeGreaterThanOrEqual(least);
      expect(store.calls(id), 'calls to the store').toBeLessThanOrEqual(most);
      expect([undefined, itemOf(id, fields)]).toContainEqual(await read(id));
      store.fail(id);
      expect(await create()).toMatchObject(ok(id, fields));
      expect(await read(id)).toEqual(itemOf(id, fields));
    },
  );
};
