/** Tests the client with invented operations, because it must support any operation that a contract may have. */
import { describe, expect, expectTypeOf, test } from 'vitest';
import { type Call, callOf } from '../call.ts';
import { type Operation, requestOf } from '../request.ts';
import { answer, startScriptedService } from './kit/scripted-service.ts';

type Plant = { name: string; isToxic?: boolean; heights?: number[]; origin?: object; serial?: number | bigint };

const base = { parameters: [], responses: [{ status: 200, requires: [] }], errorCodes: [40002, 40401, 50001] };

/** One invented operation of each kind, as packages/contract/main.ts would generate it from a contract. */
const operations = {
  listPlants: {
    ...base,
    method: 'GET',
    path: '/plants',
    parameters: [
      { name: 'limit', in: 'query', type: 'integer' },
      { name: 'tag', in: 'query', type: 'string' },
      { name: 'isToxic', in: 'query', type: 'boolean' },
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
    body: { name: 'string', isToxic: 'boolean', heights: 'number[]', origin: 'object', serial: 'int64' },
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
    parameters: { limit?: number; tag?: string[]; isToxic?: boolean; 'if-match'?: string };
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

type Id = keyof typeof operations;

/** Starts a service that sends these responses. @returns a client for that service, and the requests it received */
const start = async (...script: Parameters<typeof startScriptedService>) => {
  const { baseUrl, received, requests } = await startScriptedService(...script);
  const calls = Object.entries(operations).map(([id, operation]) => [id, callOf(operation, baseUrl, 'a.b.c')]);
  const client: Client = Object.fromEntries(calls);
  return { client, received, requests };
};

const ann = { name: 'Ann' };

describe('the request of an operation', () => {
  const requestTo = (id: Id, parameters: object, body?: unknown) => requestOf(operations[id], '', parameters, body);

  test.each<[url: string, id: Id, parameters: object]>([
    ['/plants', 'listPlants', { tag: [], limit: undefined, colour: 'green' }],
    ['/plants?limit=10&isToxic=false', 'listPlants', { isToxic: false, limit: 10 }],
    ['/plants?tag=a&tag=', 'listPlants', { tag: ['a', ''] }],
    ['/plants?tag=a%26b%3Dc%2B%20%C3%A9%2Cd', 'listPlants', { tag: ['a&b=c+ é,d'] }],
    ['/shops/a/plants/-9223372036854775808', 'getPlant', { id: -9223372036854775808n, shop: 'a' }],
    ['/shops/a%2F..%2Fb%3Fc%23d%20%25/plants/0', 'getPlant', { id: -0, shop: 'a/../b?c#d %' }],
  ])('has the URL %s for %s with %o', (url, id, parameters) => {
    expect(requestTo(id, parameters)).toEqual({ url, headers: {} });
  });

  test('has the header parameters, and a content type only with a body', () => {
    expect(requestTo('listPlants', { 'if-match': '"7"' })).toEqual({ url: '/plants', headers: { 'if-match': '"7"' } });
    const headers = { 'content-type': 'application/json' };
    const request = { url: '/plants/7?dry-run=true', headers, body: '{"name":"Ann"}' };
    expect(requestTo('updatePlant', { 'dry-run': true, id: 7n }, ann)).toEqual(request);
  });

  test.each<[json: string, id: Id, body: unknown]>([
    ['{"name":"Ann"}', 'changePlant', { colour: 'green', name: 'Ann', isToxic: undefined, toJSON: () => '}' }],
    ['{"name":"Ann","heights":[1e+21]}', 'updatePlant', { name: 'Ann', heights: [1e21] }],
    ['{"name":"\\ufffd","isToxic":{}}', 'changePlant', { name: '\ufffd', isToxic: {} }],
    ['[{"id":9223372036854775807},true]', 'labelPlants', [{ id: 9223372036854775807n, tags: undefined }, true]],
    ['[null,null]', 'labelPlants', [Number.NaN, ...Array(1)]],
  ])('has only the fields that the contract lists, if it lists them: %s', (json, id, body) => {
    expect(requestTo(id, { id: 1 }, body)).toMatchObject({ body: json });
  });

  test.each<[what: string, id: Id, parameters: object, body?: unknown]>([
    ['a number beyond 2^53 as an int64', 'getPlant', { id: 2 ** 53, shop: 'a' }],
    ['a fraction as an int64 in a body', 'updatePlant', { id: 1 }, { name: 'Ann', serial: 0.5 }],
    ['a number beyond 2^53 in a field', 'updatePlant', { id: 1 }, { name: 'Ann', origin: { ids: [{ id: 2 ** 53 }] } }],
    ['an empty path parameter', 'getPlant', { id: 1, shop: '' }],
    ['a path parameter of two dots', 'getPlant', { id: 1, shop: '..' }],
    ['an unpaired surrogate in a path', 'getPlant', { id: 1, shop: '\udc00' }],
    ['a line break in a header', 'listPlants', { 'if-match': 'a\nb' }],
    ['a space at the end of a header', 'listPlants', { 'if-match': 'a ' }],
  ])('cannot have %s', (_, ...request) => {
    expect(() => requestTo(...request)).toThrow(RangeError);
  });
});

describe('a call of the client', () => {
  test('sends the arguments as they were at the start, even if the caller changes them while the token is fetched', async () => {
    const { baseUrl, requests, received } = await startScriptedService(answer(200, { name: 'Ann', heights: [1] }));
    const token = Promise.withResolvers<string>();
    const [parameters, plant] = [{ id: 7 }, { name: 'Ann', heights: [1] }];
    const result = callOf(operations.updatePlant, baseUrl, () => token.promise)(parameters, plant);
    parameters.id = 8;
    plant.heights.push(2);
    token.resolve('a.b.c');
    expect(await result).toMatchObject({ ok: true });
    expect(requests).toMatchObject([{ method: 'PUT', url: '/plants/7', headers: { authorization: 'Bearer a.b.c' } }]);
    expect(received).toMatchObject([{ body: '{"name":"Ann","heights":[1]}' }]);
  });

  test('takes its options after its other arguments, whichever those are', async () => {
    const { client, received } = await start(answer(200, ann));
    const options = { signal: AbortSignal.abort('enough') };
    const calls = [client.health(options), client.listPlants({}, options), client.updatePlant({ id: 1 }, ann, options)];
    for (const call of calls) await expect(call).rejects.toBe('enough');
    expect(received).toEqual([]);
  });

  test('throws and sends nothing if a parameter is invalid', async () => {
    const { client, received } = await start(answer(200, ann));
    await expect(client.getPlant({ id: 0.5, shop: 'a' })).rejects.toThrow(/^id is the number 0.5/);
    expect(received).toEqual([]);
  });

  const flat = { name: 'Ann', isToxic: false, heights: [1, 0.5], origin: { country: 'NZ', found: { year: 1900 } } };
  const responseTo = async (id: Id, sent: object, status: number, text: string) => {
    const { client } = await start((response) => response.writeHead(status).end(text));
    const body = operations[id].method === 'PATCH' ? [sent] : [{ id: 1, shop: 'a' }, sent];
    return Reflect.apply(client[id], undefined, body);
  };

  test.each<[what: string, id: Id, sent: object, status: number, text: string]>([
    ['has no body, and the contract declares none', 'deletePlant', {}, 204, ''],
    ['has another success status that the contract lists', 'updatePlant', ann, 201, '{"name":"Ann"}'],
    [
      'repeats all fields in another order',
      'updatePlant',
      flat,
      200,
      '{"origin":{"found":{"year":1900},"country":"NZ"},"heights":[1,0.5],"isToxic":false,"name":"Ann"}',
    ],
    ['to a PATCH also has fields not sent', 'changePlant', { isToxic: false }, 200, '{"name":"Ann","isToxic":false}'],
  ])('succeeds if the response %s', async (_, id, sent, status, text) => {
    expect(await responseTo(id, sent, status, text)).toMatchObject({ ok: true, status });
  });

  const foreign = { ok: false, error: 'gateway', message: 'the response is not from this service' };

  test.each<[what: string, id: Id, sent: object, status: number, text: string]>([
    ['has another boolean', 'updatePlant', { name: 'Ann', isToxic: false }, 200, '{"name":"Ann","isToxic":true}'],
    ['has another object', 'updatePlant', { name: 'Ann', origin: { a: 1 } }, 200, '{"name":"Ann","origin":{"a":2}}'],
    ['has a field that was not sent', 'updatePlant', ann, 200, '{"name":"Ann","heights":[]}'],
    [
      'has another integer that rounds to the same double',
      'updatePlant',
      { name: 'Ann', serial: 9007199254740992n },
      200,
      '{"name":"Ann","serial":9007199254740993}',
    ],
    ['has a body where the contract has none', 'deletePlant', {}, 202, '<html>'],
    ['lacks a required field', 'getPlant', {}, 200, '{"welcome":"to our wireless network"}'],
    ['is not JSON', 'listPlants', {}, 200, '<html>'],
  ])('fails if the response %s', async (_, id, sent, status, text) => {
    expect(await responseTo(id, sent, status, text)).toEqual({ ...foreign, status });
  });

  test.each<[types: string[], right: unknown, wrong: unknown[]]>([
    [['array'], [], [{}, null, 'Ann']],
    [['object'], {}, [[], null, 'Ann']],
    [['integer', 'null'], null, ['7', {}, true]],
  ])('fails if the JSON of the response has a type that is not allowed (allowed: %j)', async (types, right, wrong) => {
    const health = { ...operations.health, responses: [{ status: 200, types, requires: [] }] };
    for (const body of [right, ...wrong]) {
      const { baseUrl } = await startScriptedService(answer(200, body));
      expect(await callOf(health, baseUrl, 'a.b.c')(), JSON.stringify(body)).toMatchObject({ ok: body === right });
    }
  });

  test('returns integers beyond 2^53 as bigints, and other numbers as numbers', async () => {
    const json = '[{"id":9007199254740993,"near":9007199254740991,"large":1e300,"ids":[-9223372036854775808]}]';
    const { client } = await start((response) => response.end(json));
    const [id, ids] = [9007199254740993n, [-9223372036854775808n]];
    expect(await client.health()).toMatchObject({ body: [{ id, near: Number.MAX_SAFE_INTEGER, large: 1e300, ids }] });
  });

  test.each<[what: string, status: number, body: unknown, result: object]>([
    ['an error that the operation does not have', 409, { error: 40901, message: 'no' }, { error: 'gateway' }],
    ['an error number of another status', 418, { error: 40401, message: 'no' }, { error: 'gateway' }],
    ['a 403 that is not about the token', 403, { error: 40301, message: 'no' }, { error: 'gateway' }],
    ['a 403 that is not JSON', 403, '<html>', { error: 'gateway' }],
  ])('fails if the response has %s', async (_, status, body, result) => {
    const { client } = await start(answer(status, body));
    expect(await client.deletePlant({ id: 1 })).toMatchObject({ ok: false, status, ...result });
  });
});

test('TypeScript checks the arguments of each call of the client, and knows which body or which errors the result may have', async () => {
  const { client } = await start(answer(200, [ann]));
  const check = async (): Promise<void> => {
    // @ts-expect-error The required parameters of getPlant are missing.
    await client.getPlant();
    // @ts-expect-error An id must be a number or a bigint, not a string.
    await client.getPlant({ id: '1', shop: 'a' });
    // @ts-expect-error The body, which updatePlant needs, is missing.
    await client.updatePlant({ id: 1 });
    // @ts-expect-error listPlants has no parameter with the name colour.
    await client.listPlants({ colour: 'green' });
    // @ts-expect-error The required parameter shop must not be undefined.
    await client.getPlant({ id: 1, shop: undefined });
    await client.updatePlant({ id: 1, 'dry-run': undefined }, ann);
    // @ts-expect-error health has no parameters.
    await client.health({ id: 1 });
    // @ts-expect-error The options must be the second argument, after the parameters.
    await client.getPlant({ signal: new AbortController().signal });
  };
  expect(check).toBeTypeOf('function');
  const listed = await client.listPlants();
  if (listed.ok) expectTypeOf(listed.body).toEqualTypeOf<Plant[]>();
  else expectTypeOf(listed.error).toEqualTypeOf<40002 | 'token refused' | 'gateway' | 'no answer'>();
  const updated = await client.updatePlant({ id: 1 }, ann);
  if (!updated.ok)
    expectTypeOf(updated.error).toEqualTypeOf<40401 | 50001 | 'token refused' | 'gateway' | 'no answer'>();
  const deleted = await client.deletePlant({ id: 1 });
  if (deleted.ok) expectTypeOf(deleted.body).toEqualTypeOf<undefined>();
});
