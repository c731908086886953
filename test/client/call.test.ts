/** Tests the client with invented operations, because it must support any operation that a contract may have. */
import { describe, expect, expectTypeOf, test } from 'vitest';
import { type Call, callOf } from '../../client/call.ts';
import type { PlantStoreClient, Result } from '../../client/plant-store-client.ts';
import type { Operation } from '../../client/request.ts';
import { answer, startScriptedService } from '../kit/scripted-service.ts';

type Plant = { name: string; isToxic?: boolean; heights?: number[]; origin?: object; serial?: number | bigint };

const base = { parameters: [], responses: [{ status: 200, requires: [] }], errorCodes: [40002, 40401, 50001] };

/** One invented operation of each kind, as scripts/compile-contract.ts would generate it from a contract. */
const operations = {
  listPlants: {
    ...base,
    method: 'GET',
    path: '/plants',
    parameters: [
      { name: 'limit', in: 'query', type: 'integer' },
      { name: 'tag', in: 'query', type: 'string' },
      { name: 'isToxic', in: 'query', type: 'boolean' },
      { name: 'above', in: 'query', type: 'number' },
      { name: 'if-match', in: 'header', type: 'string' },
    ],
  },
  getPlant: {
    ...base,
    method: 'GET',
    path: '/shops/{shop}/plants/{id}',
    parameters: [
      { name: 'id', in: 'path', type: 'int64' },
      { name: 'shop', in: 'path', type: 'string' },
    ],
    responses: [{ status: 200, requires: ['name'], repeats: [] }],
  },
  updatePlant: {
    ...base,
    method: 'PUT',
    path: '/plants/{id}',
    parameters: [
      { name: 'id', in: 'path', type: 'int64' },
      { name: 'dry-run', in: 'query', type: 'boolean' },
    ],
    body: { name: 'string', isToxic: 'boolean', heights: 'number', origin: 'object', serial: 'int64' },
    responses: [
      { status: 200, requires: ['name'], repeats: ['name', 'isToxic', 'heights', 'origin', 'serial'] },
      { status: 201, requires: ['name'], repeats: ['name'] },
    ],
  },
  deletePlant: {
    ...base,
    method: 'DELETE',
    path: '/plants/{id}',
    parameters: [{ name: 'id', in: 'path', type: 'int64' }],
    responses: [{ status: 204 }, { status: 202 }],
  },
  changePlant: {
    ...base,
    method: 'PATCH',
    path: '/plants',
    body: { name: 'string', isToxic: 'boolean' },
    responses: [{ status: 200, requires: ['name'], repeats: ['name', 'isToxic'] }],
  },
  labelPlants: { ...base, method: 'PATCH', path: '/labels', body: {} },
  health: { ...base, method: 'GET', path: '/health' },
} satisfies Record<string, Operation>;

type Operations = {
  listPlants: {
    parameters: { limit?: number; tag?: string[]; isToxic?: boolean; above?: number; 'if-match'?: string };
    body: undefined;
    response: Plant[];
    errorCode: 40002;
  };
  getPlant: { parameters: { id: number | bigint; shop: string }; body: undefined; response: Plant; errorCode: 40401 };
  updatePlant: {
    parameters: { id: number | bigint; 'dry-run'?: boolean };
    body: Plant;
    response: Plant;
    errorCode: 40401 | 50001;
  };
  deletePlant: { parameters: { id: number | bigint }; body: undefined; response: undefined; errorCode: 40401 };
  changePlant: { parameters: object; body: Partial<Plant>; response: Plant; errorCode: never };
  labelPlants: { parameters: object; body: unknown; response: unknown; errorCode: never };
  health: { parameters: object; body: undefined; response: unknown; errorCode: 50001 };
};

type Client = { [Id in keyof Operations]: Call<Operations[Id]> };

/**
 * Starts a service that sends the responses of `script`. @returns a client for that service, and the requests that the
 * service receives
 */
const start = async (...script: Parameters<typeof startScriptedService>) => {
  const { baseUrl, received, requests } = await startScriptedService(...script);
  const calls = Object.entries(operations).map(([id, operation]) => [id, callOf(operation, baseUrl, 'a.b.c')]);
  const client: Client = Object.fromEntries(calls);
  return { client, received, requests };
};

const moss = { name: 'Moss' };

describe('a call of the client sends', () => {
  test.each<[what: string, url: string, parameters: Operations['listPlants']['parameters']]>([
    ['no query if there are no parameters', '/plants', {}],
    [
      'the query parameters in the order of the contract',
      '/plants?limit=10&isToxic=false',
      { isToxic: false, limit: 10 },
    ],
    ['each item of a list', '/plants?tag=a&tag=b', { tag: ['a', 'b'] }],
    ['nothing for an empty list', '/plants', { tag: [] }],
    ['special characters encoded', '/plants?tag=a%26b%3Dc%2B%20%C3%A9%2Cd', { tag: ['a&b=c+ é,d'] }],
    ['a number of any size, except for an int64', '/plants?above=1e%2B300', { above: 1e300 }],
  ])('%s', async (_, url, parameters) => {
    const { client, requests } = await start(answer(200, [moss]));
    expect(await client.listPlants(parameters)).toMatchObject({ ok: true, status: 200, body: [moss] });
    expect(requests.map((request) => `${request.method} ${request.url}`)).toEqual([`GET ${url}`]);
  });

  test('only those parameters that are in the contract and have a value, headers included', async () => {
    const { client, requests } = await start(answer(200, []));
    const parameters = { limit: undefined, 'if-match': '"7"', colour: 'green' };
    await Reflect.apply(client.listPlants, undefined, [parameters]);
    expect(requests).toMatchObject([{ url: '/plants', headers: { 'if-match': '"7"' } }]);
  });

  test.each<[path: string, parameters: Operations['getPlant']['parameters']]>([
    ['/shops/a/plants/-9223372036854775808', { id: -9223372036854775808n, shop: 'a' }],
    ['/shops/a/plants/9007199254740991', { id: Number.MAX_SAFE_INTEGER, shop: 'a' }],
    ['/shops/a%2F..%2Fb%3Fc%23d%20%25/plants/0', { id: -0, shop: 'a/../b?c#d %' }],
    ['/shops/.../plants/1', { id: 1, shop: '...' }],
  ])('the path parameters in the path, percent-encoded: %s', async (path, parameters) => {
    const { client, requests } = await start(answer(200, moss));
    expect(await client.getPlant(parameters)).toMatchObject({ ok: true, status: 200, body: moss });
    expect(requests.map(({ url }) => url)).toEqual([path]);
  });

  test('path parameters, query parameters and a body in one request, with the token', async () => {
    const { client, requests, received } = await start(answer(200, moss));
    expect(await client.updatePlant({ 'dry-run': true, id: 7n }, moss)).toMatchObject({ ok: true });
    const headers = { 'content-type': 'application/json', authorization: 'Bearer a.b.c' };
    expect(requests).toMatchObject([{ method: 'PUT', url: '/plants/7?dry-run=true', headers }]);
    expect(requests[0]?.headers).not.toHaveProperty('dry-run');
    expect(received).toMatchObject([{ body: '{"name":"Moss"}' }]);
  });

  test('neither a body nor a content type if the operation has no body', async () => {
    const { client, requests, received } = await start(answer(200, moss));
    await client.deletePlant({ id: 1 });
    expect(received).toMatchObject([{ body: '' }]);
    expect(requests[0]?.headers).not.toHaveProperty('content-type');
  });

  test.each<[json: string, body: object]>([
    ['{"name":"Moss"}', { colour: 'green', name: 'Moss', isToxic: undefined, toJSON: () => '}' }],
    ['{"name":"\\ufffd","isToxic":{}}', { name: '\ufffd', isToxic: {} }],
    ['{"name":null,"isToxic":7}', { name: null, isToxic: { toJSON: () => 7n } }],
    ['{}', {}],
  ])('only the fields that the contract lists, even if their values have wrong types: %s', async (json, body) => {
    const { client, received } = await start(answer(200, null));
    await Reflect.apply(client.changePlant, undefined, [body]);
    expect(received).toMatchObject([{ body: json }]);
  });

  test.each<[json: string, body: unknown]>([
    [
      '[{"id":9223372036854775807,"tags":["a",null]},true]',
      [{ id: 9223372036854775807n, tags: ['a', undefined] }, true],
    ],
    ['{"a\\"b":"2027-01-01T00:00:00.000Z"}', { 'a"b': new Date('2027-01-01T00:00:00Z'), c: undefined }],
    ['[null,null]', [Number.NaN, ...Array(1)]],
    ['"\\ud800"', '\ud800'],
  ])("any body as JSON if the contract does not list the body's fields: %s", async (json, body) => {
    const { client, received } = await start(answer(200, null));
    expect(await client.labelPlants(body)).toMatchObject({ ok: true, status: 200, body: null });
    expect(received).toMatchObject([{ body: json }]);
  });

  test('the arguments as they were at the start, even if the caller changes them while the token is fetched', async () => {
    const { baseUrl, requests, received } = await startScriptedService(answer(200, { name: 'Moss', heights: [1] }));
    const token = Promise.withResolvers<string>();
    const [parameters, plant] = [{ id: 7 }, { name: 'Moss', heights: [1] }];
    const result = callOf(operations.updatePlant, baseUrl, () => token.promise)(parameters, plant);
    parameters.id = 8;
    plant.heights.push(2);
    token.resolve('a.b.c');
    expect(await result).toMatchObject({ ok: true });
    expect([requests[0]?.url, received[0]?.body]).toEqual(['/plants/7', '{"name":"Moss","heights":[1]}']);
  });
});

describe('a call of the client throws and sends nothing if', () => {
  test.each([2 ** 53, 0.5, Number.NaN])('an int64 is the number %s, which is not a safe integer', async (inexact) => {
    const { client, received } = await start(answer(200, moss));
    await expect(client.getPlant({ id: inexact, shop: 'a' })).rejects.toThrow(/^id is the number/);
    await expect(client.updatePlant({ id: 1 }, { name: 'Moss', serial: inexact })).rejects.toThrow(RangeError);
    expect(received).toEqual([]);
  });

  test.each(['', '..', undefined])('a path parameter is %j, which would change the path', async (shop) => {
    const { client, received } = await start(answer(200, moss));
    await expect(Reflect.apply(client.getPlant, undefined, [{ id: 1, shop }])).rejects.toThrow(RangeError);
    expect(received).toEqual([]);
  });

  test('an integer nested in a body is so large that JavaScript may have rounded it', async () => {
    const { client, received } = await start(answer(200, moss));
    const nested = { ids: [1, { id: 2 ** 53 }] };
    await expect(client.updatePlant({ id: 1 }, { name: 'Moss', origin: nested })).rejects.toThrow(RangeError);
    await expect(client.labelPlants([nested])).rejects.toThrow(RangeError);
    expect(received).toEqual([]);
  });

  test.each(['a\nb', '\u0100', ' a', 'a '])('a header parameter is invalid: %j', async (value) => {
    const { client, received } = await start(answer(200, []));
    await expect(client.listPlants({ 'if-match': value })).rejects.toThrow(RangeError);
    expect(received).toEqual([]);
  });

  test('a query parameter or a path parameter contains an unpaired surrogate', async () => {
    const { client, received } = await start(answer(200, []));
    await expect(client.listPlants({ tag: ['a', '\ud800'] })).rejects.toThrow(RangeError);
    await expect(client.getPlant({ id: 1, shop: '\udc00' })).rejects.toThrow(RangeError);
    expect(received).toEqual([]);
  });

  test('its abort signal is already aborted, whatever its other arguments are', async () => {
    const { client, received } = await start(answer(200, moss));
    const options = { signal: AbortSignal.abort(new Error('enough')) };
    const calls = [
      client.health(options),
      client.listPlants({}, options),
      client.updatePlant({ id: 1 }, moss, options),
    ];
    for (const result of await Promise.allSettled(calls))
      expect(result).toMatchObject({ reason: options.signal.reason });
    expect(received).toEqual([]);
  });
});

describe('a call of the client succeeds', () => {
  test('with every success status that the contract lists, with or without a body', async () => {
    const created = await start(answer(201, moss));
    expect(await created.client.updatePlant({ id: 1 }, moss)).toMatchObject({ ok: true, status: 201, body: moss });
    const deleted = await start((response) => response.writeHead(204).end());
    expect(await deleted.client.deletePlant({ id: 1 })).toMatchObject({ ok: true, status: 204, body: undefined });
  });

  test.each<Plant>([
    { name: 'Moss', isToxic: false, heights: [1, 0.5], origin: { country: 'NZ', found: { year: 1900 } } },
    { name: 'Moss', heights: [], origin: {}, serial: 7n },
  ])('if the response repeats all fields that were sent, in any order: %o', async (plant) => {
    // Make the fake service return the fields in the reverse order of the request.
    const { client } = await start((response, _) => {
      const fields = Object.entries(plant).toReversed();
      const json = fields.map(
        ([name, value]) => `"${name}":${typeof value === 'bigint' ? value : JSON.stringify(value)}`,
      );
      response.end(`{${json.join()}}`);
    });
    expect(await client.updatePlant({ id: 1 }, plant)).toMatchObject({ ok: true });
  });

  test('if the response to a PATCH repeats all fields of the request, even if the response also has others', async () => {
    const { client } = await start(answer(200, { name: 'Moss', isToxic: false }));
    expect(await client.changePlant({ isToxic: false })).toMatchObject({ ok: true });
    expect(await client.changePlant({ isToxic: true })).toMatchObject({ ok: false });
  });

  test('and returns integers beyond 2^53 as bigints, and other numbers as numbers', async () => {
    const json =
      '[{"id":9007199254740993,"near":9007199254740991,"large":1e300,"text":"9007199254740993","ids":[-9223372036854775808]}]';
    const { client } = await start((response) => response.end(json));
    const [id, ids] = [9007199254740993n, [-9223372036854775808n]];
    const near = Number.MAX_SAFE_INTEGER;
    expect(await client.health()).toMatchObject({ body: [{ id, near, large: 1e300, text: '9007199254740993', ids }] });
  });
});

describe('a call of the client fails if the response', () => {
  const foreign = { ok: false, error: 'gateway', message: 'the response is not from the Plant Store' };

  test.each<[what: string, sent: Plant, body: object]>([
    ['another boolean', { name: 'Moss', isToxic: false }, { name: 'Moss', isToxic: true }],
    ['no boolean', { name: 'Moss', isToxic: false }, { name: 'Moss' }],
    ['a longer list', { name: 'Moss', heights: [1] }, { name: 'Moss', heights: [1, 2] }],
    ['an object in place of a list', { name: 'Moss', heights: [1] }, { name: 'Moss', heights: { 0: 1 } }],
    ['another object', { name: 'Moss', origin: { a: { b: 1 } } }, { name: 'Moss', origin: { a: { b: 2 } } }],
    ['null in place of an object', { name: 'Moss', origin: {} }, { name: 'Moss', origin: null }],
    ['a field that was not sent', { name: 'Moss' }, { name: 'Moss', heights: [] }],
  ])('has %s', async (_, sent, body) => {
    const { client } = await start(answer(200, body));
    expect(await client.updatePlant({ id: 1 }, sent)).toEqual({ ...foreign, status: 200 });
  });

  test('has an integer that differs from the one that was sent, even if both round to the same double', async () => {
    const { client } = await start((response) => response.end('{"name":"Moss","serial":9007199254740993}'));
    expect(await client.updatePlant({ id: 1 }, { name: 'Moss', serial: 9007199254740992n })).toMatchObject({
      ok: false,
    });
  });

  test.each<[what: string, status: number, text: string]>([
    ['a body where the contract has none', 202, '<html>'],
    ['the status of another operation', 200, '{"name":"Moss"}'],
    ['a 2xx that the contract does not have', 205, ''],
  ])('has %s', async (_, status, text) => {
    const { client } = await start((response) => response.writeHead(status).end(text));
    expect(await client.deletePlant({ id: 1 })).toEqual({ ...foreign, status });
  });

  test.each([{ welcome: 'to our wireless network' }, null])(
    'lacks a field that the contract requires: %j',
    async (body) => {
      const { client } = await start(answer(200, body));
      expect(await client.getPlant({ id: 1, shop: 'a' })).toEqual({ ...foreign, status: 200 });
    },
  );

  test.each<[types: string[], right: unknown, wrong: unknown[]]>([
    [['array'], [], [{}, null, 'Moss']],
    [['object'], {}, [[], null, 'Moss']],
    [['string', 'null'], null, [{}, [], 7, true]],
    [['integer'], 7, ['7', null]],
  ])('is JSON of a type that the contract does not allow (allowed: %j)', async (types, right, wrong) => {
    const health = { ...operations.health, responses: [{ status: 200, types, requires: [] }] };
    for (const body of [right, ...wrong]) {
      const { baseUrl } = await startScriptedService(answer(200, body));
      expect(await callOf(health, baseUrl, 'a.b.c')(), JSON.stringify(body)).toMatchObject({ ok: body === right });
    }
  });

  test.each(['<html>', ''])('is not JSON: %j', async (text) => {
    const { client } = await start((response) => response.end(text));
    expect(await client.listPlants()).toEqual({ ...foreign, status: 200 });
  });

  test.each<[what: string, status: number, body: unknown, result: object]>([
    ['an error of the operation', 404, { error: 40401, message: 'no' }, { error: 40401, message: 'no' }],
    ['an error that the operation does not have', 409, { error: 40901, message: 'no' }, { error: 'gateway' }],
    ['an error number of another status', 418, { error: 40401, message: 'no' }, { error: 'gateway' }],
    ['an error number without a message', 404, { error: 40401 }, foreign],
    ['a body that is null', 404, null, foreign],
  ])('has %s', async (_, status, body, result) => {
    const { client } = await start(answer(status, body));
    expect(await client.deletePlant({ id: 1 })).toMatchObject({ ok: false, status, ...result });
  });
});

test('TypeScript checks the arguments of each call of the client, and knows which body or which errors the result may have', async () => {
  const { client } = await start(answer(200, [moss]));
  const check = async (): Promise<void> => {
    // @ts-expect-error The required parameters of getPlant are missing.
    await client.getPlant();
    // @ts-expect-error The required parameter shop is missing.
    await client.getPlant({ id: 1 });
    // @ts-expect-error An id must be a number or a bigint, not a string.
    await client.getPlant({ id: '1', shop: 'a' });
    // @ts-expect-error The body, which updatePlant needs, is missing.
    await client.updatePlant({ id: 1 });
    // @ts-expect-error The required field name is missing.
    await client.updatePlant({ id: 1 }, {});
    // @ts-expect-error listPlants has no parameter with the name colour.
    await client.listPlants({ colour: 'green' });
    // @ts-expect-error The required parameter shop must not be undefined.
    await client.getPlant({ id: 1, shop: undefined });
    await client.updatePlant({ id: 1, 'dry-run': undefined }, moss);
    // @ts-expect-error health has no parameters.
    await client.health({ id: 1 });
    // @ts-expect-error The options must be the second argument, after the parameters.
    await client.getPlant({ signal: new AbortController().signal });
  };
  expect(check).toBeTypeOf('function');
  const listed = await client.listPlants();
  if (listed.ok) expectTypeOf(listed.body).toEqualTypeOf<Plant[]>();
  else expectTypeOf(listed.error).toEqualTypeOf<40002 | 'gateway' | 'no answer'>();
  const updated = await client.updatePlant({ id: 1 }, moss);
  if (!updated.ok) expectTypeOf(updated.error).toEqualTypeOf<40401 | 50001 | 'gateway' | 'no answer'>();
  const deleted = await client.deletePlant({ id: 1 });
  if (deleted.ok) expectTypeOf(deleted.body).toEqualTypeOf<undefined>();
  type Created = Awaited<ReturnType<PlantStoreClient['createPlant']>>;
  expectTypeOf<Created>().toEqualTypeOf<Result<'createPlant'>>();
});
