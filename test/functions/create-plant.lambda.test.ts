import { createServer, type ServerResponse } from 'node:http';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { expectInContract } from '../contract.ts';
import { lambdaContext, proxyEvent } from '../gateway-events.ts';
import { type PlantsStore, startPlantsStore } from '../plants-store.ts';
import { startServer } from '../servers.ts';

type Handler = (event: APIGatewayProxyEventV2, context: Context) => Promise<APIGatewayProxyStructuredResultV2>;

const load = async (environment: Record<string, string>): Promise<Handler> => {
  vi.resetModules();
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const { handler } = await import('../../functions/create-plant.lambda.ts');
  return handler as unknown as Handler;
};

const credentials = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };

let store: PlantsStore;
let handler: Handler;

beforeAll(async () => {
  store = await startPlantsStore();
});
afterAll(() => store.close());

/** What the function logged, one entry a line. */
let logged: { level: string; entry: unknown }[];
beforeEach(async () => {
  handler = await load({ ...credentials, TABLE_NAME: store.tableName, AWS_ENDPOINT_URL_DYNAMODB: store.endpoint });
  logged = [];
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    vi.spyOn(console, level).mockImplementation((...entry) => {
      logged.push({ level, entry: entry.length === 1 ? entry[0] : entry });
    });
  }
});

/** Each invocation gets an event of its own, as from Lambda. */
const invoke = async (event: APIGatewayProxyEventV2) => {
  const { statusCode = 0, headers, body = '' } = await handler(JSON.parse(JSON.stringify(event)), lambdaContext);
  expectInContract(statusCode, String(headers?.['content-type']), body);
  return { status: statusCode, headers, body: JSON.parse(body) };
};

describe('a NewPlant', () => {
  test('is stored as sent and answered as a Plant', async () => {
    const { status, body } = await invoke(proxyEvent('{"id":1,"name":"Moss","tag":"green"}'));
    expect([status, body]).toEqual([200, { name: 'Moss', tag: 'green' }]);
    expect(await store.read('1')).toEqual({ id: { N: '1' }, name: { S: 'Moss' }, tag: { S: 'green' } });
    expect(logged).toEqual([{ level: 'info', entry: { outcome: 'stored' } }]);
  });

  test('without a tag gets none, in the answer or the store', async () => {
    const { status, body } = await invoke(proxyEvent('{"id":2,"name":"Moss"}'));
    expect([status, body]).toEqual([200, { name: 'Moss' }]);
    expect(await store.read('2')).toEqual({ id: { N: '2' }, name: { S: 'Moss' } });
  });

  test('may have members that the contract does not name: they are neither stored nor answered', async () => {
    const { status, body } = await invoke(proxyEvent('{"id":3,"name":"Moss","height":1.5,"id2":{"a":[1]}}'));
    expect([status, body]).toEqual([200, { name: 'Moss' }]);
    expect(await store.read('3')).toEqual({ id: { N: '3' }, name: { S: 'Moss' } });
  });

  test.each([
    ['4', '4'],
    ['-0', '0'],
    ['5.0', '5'],
    ['1e2', '100'],
    ['12.50E+1', '125'],
    ['0e999999999', '0'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740993', '9007199254740993'],
    ['9.223372036854775807e18', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
  ])('with the id %s is stored under %s', async (id, stored) => {
    const { status } = await invoke(proxyEvent(`{"id":${id},"name":"id ${stored}"}`));
    expect(status).toBe(200);
    expect(await store.read(stored)).toEqual({ id: { N: stored }, name: { S: `id ${stored}` } });
  });

  test.each(['', '\u0000', 'naïve 🌱', '\ufeff', '﷽', 'a"b\\c\n'])('may be called %j', async (name) => {
    const id = 1000 + (name.codePointAt(0) ?? -1);
    const { status, body } = await invoke(proxyEvent(JSON.stringify({ id, name, tag: name })));
    expect([status, body]).toEqual([200, { name, tag: name }]);
    expect(await store.read(String(id))).toEqual({ id: { N: String(id) }, name: { S: name }, tag: { S: name } });
  });

  test('may come in base64', async () => {
    const body = Buffer.from('{"id":10,"name":"Löwenzahn"}').toString('base64');
    expect((await invoke(proxyEvent(body, { isBase64Encoded: true }))).status).toBe(200);
    expect(await store.read('10')).toEqual({ id: { N: '10' }, name: { S: 'Löwenzahn' } });
  });

  test('that was stored before is acknowledged again, another one under its id is not and changes nothing', async () => {
    const plant = proxyEvent('{"id":11,"name":"Fern","tag":"shade"}');
    expect((await invoke(plant)).status).toBe(200);
    expect((await invoke(plant)).status).toBe(200);
    for (const other of [
      '{"id":11,"name":"Fern"}',
      '{"id":11,"name":"Fern","tag":""}',
      '{"id":11,"name":"Ivy","tag":"shade"}',
    ]) {
      const { status, body } = await invoke(proxyEvent(other));
      expect([status, body.error]).toEqual([409, 40901]);
    }
    expect(await store.read('11')).toEqual({ id: { N: '11' }, name: { S: 'Fern' }, tag: { S: 'shade' } });
  });

  test.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json;charset=utf-8',
    'application/json ; charset="utf-8"',
    'application/vnd.plant+json',
    'application/a-b!1+json',
    'application/json\t; x=y',
  ])('may be sent as %s', async (contentType) => {
    const event = proxyEvent('{"id":12,"name":"Reed"}', { headers: { 'content-type': contentType } });
    expect((await invoke(event)).status).toBe(200);
  });
});

describe('the limits', () => {
  const ofLength = (bytes: number, body: (filler: string) => string) => body('x'.repeat(bytes - body('').length));

  test('let a body of 1 MiB pass, and no byte more', async () => {
    const body = (filler: string) => `{"id":40,"name":"x","more":"${filler}"}`;
    expect((await invoke(proxyEvent(ofLength(1_048_576, body)))).status).toBe(200);
    expect((await invoke(proxyEvent(ofLength(1_048_577, body)))).body.error).toBe(41301);
  });

  test('let a plant of 400 KB pass, and no byte more', async () => {
    const item = (filler: string) => `id\u0001\u0001name${filler}`;
    const name = (bytes: number) => 'x'.repeat(ofLength(bytes, item).length - item('').length);
    expect((await invoke(proxyEvent(JSON.stringify({ id: 41, name: name(409_600) })))).status).toBe(200);
    expect((await invoke(proxyEvent(JSON.stringify({ id: 42, name: name(409_601) })))).body.error).toBe(41301);
  });

  test('the everyday id pays no second parse', async () => {
    const parse = vi.spyOn(JSON, 'parse');
    const parses = async (body: string): Promise<number> => {
      const event = proxyEvent(body);
      parse.mockClear();
      await handler(event, lambdaContext);
      return parse.mock.calls.filter(([text]) => text === body).length;
    };
    expect(await parses('{"id":123456789012345,"name":"Moss"}')).toBe(1);
    expect(await parses('{"id":1234567890123456,"name":"Moss"}')).toBe(2);
    expect(await parses('{"id":1E1,"name":"Moss"}')).toBe(2);
  });
});

describe('a request that is refused', () => {
  const name = 'x'.repeat(400 * 1024);
  test.each([
    ['no body', undefined, 400, 40001],
    ['an empty body', '', 400, 40001],
    ['text', 'hello', 400, 40001],
    ['half an object', '{"id":20', 400, 40001],
    ['two values', '{"id":20,"name":"x"}{}', 400, 40001],
    ['a byte order mark', '\ufeff{"id":20,"name":"x"}', 400, 40001],
    ['a forbidden key', '{"id":20,"name":"x","__proto__":{}}', 400, 40001],
    ['a deep nesting', '['.repeat(100_000) + ']'.repeat(100_000), 400, 40001],
    ['null', 'null', 400, 40002],
    ['an array', '[]', 400, 40002],
    ['a string', '"x"', 400, 40002],
    ['no id', '{"name":"x"}', 400, 40002],
    ['no name', '{"id":20}', 400, 40002],
    ['an id in quotes', '{"id":"20","name":"x"}', 400, 40002],
    ['an id that is null', '{"id":null,"name":"x"}', 400, 40002],
    ['an id that is true', '{"id":true,"name":"x"}', 400, 40002],
    ['an id in an array', '{"id":[20],"name":"x"}', 400, 40002],
    ['half an id', '{"id":0.5,"name":"x"}', 400, 40002],
    ['an id of 2^63', '{"id":9223372036854775808,"name":"x"}', 400, 40002],
    ['an id of -2^63-1', '{"id":-9223372036854775809,"name":"x"}', 400, 40002],
    ['an id beyond doubles', '{"id":1e400,"name":"x"}', 400, 40002],
    ['an id that a double takes for 0', '{"id":1E-400,"name":"x"}', 400, 40002],
    ['an id that a double takes for 0, in small letters', '{"id":1e-400,"name":"x"}', 400, 40002],
    ['an id of a billion digits', '{"id":1e999999999,"name":"x"}', 400, 40002],
    ['an id that only rounding makes whole', '{"id":1.0000000000000000001,"name":"x"}', 400, 40002],
    ['a name that is a number', '{"id":20,"name":1}', 400, 40002],
    ['a tag that is null', '{"id":20,"name":"x","tag":null}', 400, 40002],
    ['a lone surrogate in the name', '{"id":20,"name":"\\ud800"}', 400, 40002],
    ['a lone surrogate in the tag', '{"id":20,"name":"x","tag":"a\\udc00b"}', 400, 40002],
    ['a plant over 400 KB', JSON.stringify({ id: 20, name }), 413, 41301],
    ['a body over 1 MiB', JSON.stringify({ id: 20, name: 'x', other: name + name + name }), 413, 41301],
  ])('for %s says so, stores nothing and logs the code alone', async (_, body, status, error) => {
    const answer = await invoke(proxyEvent(body));
    expect([answer.status, answer.body.error]).toEqual([status, error]);
    expect(await store.read('20')).toBeUndefined();
    expect(logged).toEqual([{ level: 'info', entry: { outcome: 'refused', error } }]);
  });

  test.each([
    undefined,
    '',
    'text/plain',
    'application/jsonp',
    'application/json, text/plain',
    'application/x-www-form-urlencoded',
  ])('for the content type %s says so', async (contentType) => {
    const event = proxyEvent('{"id":20,"name":"x"}', { headers: { 'content-type': contentType } });
    const { status, body } = await invoke(event);
    expect([status, body.error]).toEqual([415, 41501]);
  });

  test('for bytes that are not UTF-8 says so', async () => {
    const bytes = Buffer.concat([Buffer.from('{"id":20,"name":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    const { status, body } = await invoke(proxyEvent(bytes.toString('base64'), { isBase64Encoded: true }));
    expect([status, body.error]).toEqual([400, 40001]);
  });

  test('names every member at fault and its rule', async () => {
    const { body } = await invoke(proxyEvent('{"id":"1","tag":7}'));
    expect(body.message).toBe(
      'id must be an integer from -9223372036854775808 to 9223372036854775807; name is required; tag must be a string',
    );
    expect((await invoke(proxyEvent('[]'))).body.message).toBe('the request body must be an object');
  });
});

describe('a failure', () => {
  test('of ours is a 500 that tells the client nothing of its cause, and the log all of it', async () => {
    handler = await load({ ...credentials, TABLE_NAME: 'no-such-table', AWS_ENDPOINT_URL_DYNAMODB: store.endpoint });
    const { status, body } = await invoke(proxyEvent('{"id":30,"name":"secret"}'));
    expect([status, body]).toEqual([500, { error: 50001, message: 'the service failed; the fault is ours' }]);
    expect(logged).toMatchObject([
      {
        level: 'error',
        entry: {
          outcome: 'failed',
          error: 50001,
          cause: {
            name: 'ResourceNotFoundException',
            stack: expect.any(String),
            $metadata: { httpStatusCode: 400, requestId: expect.any(String) },
          },
        },
      },
    ]);
    expect(JSON.stringify(logged)).not.toContain('secret');
  });

  test('of the store is a 503 that asks to try again', async () => {
    handler = await load({ ...credentials, TABLE_NAME: 'plants', AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' });
    const { status, headers, body } = await invoke(proxyEvent('{"id":31,"name":"secret"}'));
    expect([status, headers?.['retry-after'], body.error]).toEqual([503, '1', 50301]);
    const cause = { name: 'StoreUnavailable', cause: { code: 'ECONNREFUSED' } };
    expect(logged).toMatchObject([{ level: 'warn', entry: { outcome: 'failed', error: 50301, cause } }]);
    expect(JSON.stringify(logged)).not.toContain('secret');
  });

  test.each([
    ['to answer at all', 2, () => {}],
    [
      'to end its answer',
      1,
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '1000' });
        const drip = setInterval(() => response.write(' '), 100);
        response.on('close', () => clearInterval(drip));
      },
    ],
  ])('of the store %s ends before Lambda would end the function, after %i calls at least', async (_, calls, behave) => {
    let called = 0;
    const server = createServer((_request, response) => {
      called += 1;
      behave(response);
    });
    const endpoint = `http://127.0.0.1:${await startServer(server)}`;
    handler = await load({ ...credentials, TABLE_NAME: 'plants', AWS_ENDPOINT_URL_DYNAMODB: endpoint });
    const late = Symbol('late');
    const answer = invoke(proxyEvent('{"id":32,"name":"x"}'));
    // The function's time-out in infra/.
    expect(await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 5_000, late))])).not.toBe(late);
    expect((await answer).status).toBe(503);
    expect(called).toBeGreaterThanOrEqual(calls);
    expect(called).toBeLessThanOrEqual(3);
  });

  test('of the configuration is no reason to ask again', async () => {
    handler = await load({ ...credentials, TABLE_NAME: 'plants', AWS_ENDPOINT_URL_DYNAMODB: 'nonsense' });
    expect((await invoke(proxyEvent('{"id":33,"name":"x"}'))).body.error).toBe(50001);
  });

  test('to name the table stops the function at its start, by name', async () => {
    await expect(load({ ...credentials, TABLE_NAME: '' })).rejects.toThrow('TABLE_NAME');
  });

  test.each([null, {}, { body: 7, headers: { 'content-type': 'application/json' } }, 'event'])(
    'of the caller to send an event of payload 2.0 still gets an answer: %j',
    async (event) => {
      const { status } = await invoke(event as unknown as APIGatewayProxyEventV2);
      expect(status).toBe(event === null ? 500 : event instanceof Object && 'body' in event ? 400 : 415);
    },
  );
});
