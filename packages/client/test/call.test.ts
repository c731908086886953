/** Tests the client with invented operations, because it must support any operation that a contract may have. */

import { answer, startScriptedService } from '@lambda-service/testing/servers';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { type Call, callOf } from '../call.ts';
import { type Operation, requestOf } from '../request.ts';

type Book = { name: string; isRare?: boolean; heights?: number[]; origin?: object; serial?: number | bigint };

const base = { parameters: [], responses: [{ status: 200, requires: [] }], errorCodes: [40002, 40401, 50001] };

/** One invented operation of each kind, as packages/contract/main.ts would generate it from a contract. */
const operations = {
  listBooks: {
    ...base,
    method: 'GET',
    path: '/books',
    parameters: [
      { name: 'limit', in: 'query', type: 'integer' },
      { name: 'tag', in: 'query', type: 'string' },
      { name: 'isRare', in: 'query', type: 'boolean' },
      { name: 'if-match', in: 'header', type: 'string' },
    ],
  },
  getBook: {
    ...base,
    method: 'GET',
    path: '/shops/{shop}/books/{id}',
    parameters: [
      { name: 'id', in: 'path', type: 'int64' },
      { name: 'shop', in: 'path', type: 'string' },
    ],
    responses: [{ status: 200, requires: ['name'], repeats: [] }],
  },
  updateBook: {
    ...base,
    method: 'PUT',
    path: '/books/{id}',
    parameters: [
      { name: 'id', in: 'path', type: 'int64' },
      { name: 'dry-run', in: 'query', type: 'boolean' },
    ],
    body: { name: 'string', isRare: 'boolean', heights: 'number[]', origin: 'object', serial: 'int64' },
    responses: [
      { status: 200, requires: ['name'], repeats: ['name', 'isRare', 'heights', 'origin', 'serial'] },
      { status: 201, requires: ['name'], repeats: ['name'] },
    ],
  },
  deleteBook: {
    ...base,
    method: 'DELETE',
    path: '/books/{id}',
    parameters: [{ name: 'id', in: 'path', type: 'int64' }],
    responses: [{ status: 204 }, { status: 202 }],
  },
  changeBook: {
    ...base,
    method: 'PATCH',
    path: '/books',
    body: { name: 'string', isRare: 'boolean' },
    responses: [{ status: 200, requires: ['name'], repeats: ['name', 'isRare'] }],
  },
  labelBooks: { ...base, method: 'PATCH', path: '/labels', body: {} },
  health: { ...base, method: 'GET', path: '/health' },
} satisfies Record<string, Operation>;

type Operations = {
  listBooks: {
    parameters: { limit?: number; tag?: string[]; isRare?: boolean; 'if-match'?: string };
    body: undefined;
    response: Book[];
    errorCode: 40002;
  };
  getBook: { parameters: { id: number | bigint; shop: string }; body: undefined; response: Book; errorCode: 40401 };
  updateBook: {
    parameters: { id: number | bigint; 'dry-run'?: boolean };
    body: Book;
    response: Book;
    errorCode: 40401 | 50001;
  };
  deleteBook: { parameters: { id: number | bigint }; body: undefined; response: undefined; errorCode: 40401 };
  changeBook: { parameters: object; body: Partial<Book>; response: Book; errorCode: never };
  labelBooks: { parameters: object; body: unknown; response: unknown; errorCode: never };
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
    ['/books', 'listBooks', { tag: [], limit: undefined, colour: 'green' }],
    ['/books?limit=10&isRare=false', 'listBooks', { isRare: false, limit: 10 }],
    ['/books?tag=a&tag=', 'listBooks', { tag: ['a', ''] }],
    ['/books?tag=a%26b%3Dc%2B%20%C3%A9%2Cd', 'listBooks', { tag: ['a&b=c+ é,d'] }],
    ['/shops/a/books/-9223372036854775808', 'getBook', { id: -9223372036854775808n, shop: 'a' }],
    ['/shops/a%2F..%2Fb%3Fc%23d%20%25/books/0', 'getBook', { id: -0, shop: 'a/../b?c#d %' }],
  ])('has the URL %s for %s with %o', (url, id, parameters) => {
    expect(requestTo(id, parameters)).toEqual({ url, headers: {} });
  });

  test('has the header parameters, and a content type only with a body', () => {
    expect(requestTo('listBooks', { 'if-match': '"7"' })).toEqual({ url: '/books', headers: { 'if-match': '"7"' } });
    const headers = { 'content-type': 'application/json' };
    const request = { url: '/books/7?dry-run=true', headers, body: '{"name":"Ann"}' };
    expect(requestTo('updateBook', { 'dry-run': true, id: 7n }, ann)).toEqual(request);
  });

  test.each<[json: string, id: Id, body: unknown]>([
    ['{"name":"Ann"}', 'changeBook', { colour: 'green', name: 'Ann', isRare: undefined, toJSON: () => '}' }],
    ['{"name":"Ann","heights":[1e+21]}', 'updateBook', { name: 'Ann', heights: [1e21] }],
    ['{"name":"\\ufffd","isRare":{}}', 'changeBook', { name: '\ufffd', isRare: {} }],
    ['[{"id":9223372036854775807},true]', 'labelBooks', [{ id: 9223372036854775807n, tags: undefined }, true]],
    ['[null,null,"1970-01-01T00:00:00.000Z"]', 'labelBooks', [Number.NaN, ...Array(1), new Date(0)]],
  ])('has only the fields that the contract lists, if it lists them: %s', (json, id, body) => {
    expect(requestTo(id, { id: 1 }, body)).toMatchObject({ body: json });
  });

  test.each<[what: string, id: Id, parameters: object, body?: unknown]>([
    ['a number beyond 2^53 as an int64', 'getBook', { id: 2 ** 53, shop: 'a' }],
    ['a fraction as an int64 in a body', 'updateBook', { id: 1 }, { name: 'Ann', serial: 0.5 }],
    ['a number beyond 2^53 in a field', 'updateBook', { id: 1 }, { name: 'Ann', origin: { ids: [{ id: 2 ** 53 }] } }],
    ['an empty path parameter', 'getBook', { id: 1, shop: '' }],
    ['a path parameter of two dots', 'getBook', { id: 1, shop: '..' }],
    ['an unpaired surrogate in a path', 'getBook', { id: 1, shop: '\udc00' }],
    ['a line break in a header', 'listBooks', { 'if-match': 'a\nb' }],
    ['a space at the end of a header', 'listBooks', { 'if-match': 'a ' }],
  ])('cannot have %s', (_, ...request) => {
    expect(() => requestTo(...request)).toThrow(RangeError);
  });
});

describe('a call of the client', () => {
  test('sends the arguments as they were at the start, even if the caller changes them while the token is fetched', async () => {
    const { baseUrl, requests, received } = await startScriptedService(answer(200, { name: 'Ann', heights: [1] }));
    const token = Promise.withResolvers<string>();
    const [parameters, book] = [{ id: 7 }, { name: 'Ann', heights: [1] }];
    const result = callOf(operations.updateBook, baseUrl, () => token.promise)(parameters, book);
    parameters.id = 8;
    book.heights.push(2);
    token.resolve('a.b.c');
    expect(await result).toMatchObject({ ok: true });
    expect(requests).toMatchObject([{ method: 'PUT', url: '/books/7', headers: { authorization: 'Bearer a.b.c' } }]);
    expect(received).toMatchObject([{ body: '{"name":"Ann","heights":[1]}' }]);
  });

  test('takes its options after its other arguments, whichever those are', async () => {
    const { client, received } = await start(answer(200, ann));
    const options = { signal: AbortSignal.abort('enough') };
    const calls = [client.health(options), client.listBooks({}, options), client.updateBook({ id: 1 }, ann, options)];
    for (const call of calls) await expect(call).rejects.toBe('enough');
    expect(received).toEqual([]);
  });

  test('throws and sends nothing if a parameter is invalid', async () => {
    const { client, received } = await start(answer(200, ann));
    await expect(client.getBook({ id: 0.5, shop: 'a' })).rejects.toThrow(/^id is the number 0.5/);
    expect(received).toEqual([]);
  });

  const flat = { name: 'Ann', isRare: false, heights: [1, 0.5], origin: { country: 'NZ', found: { year: 1900 } } };
  const responseTo = async (id: Id, sent: object, status: number, text: string) => {
    const { client } = await start((response) => response.writeHead(status).end(text));
    const body = operations[id].method === 'PATCH' ? [sent] : [{ id: 1, shop: 'a' }, sent];
    return Reflect.apply(client[id], undefined, body);
  };

  test.each<[what: string, id: Id, sent: object, status: number, text: string]>([
    ['has no body, and the contract declares none', 'deleteBook', {}, 204, ''],
    ['has another success status that the contract lists', 'updateBook', ann, 201, '{"name":"Ann"}'],
    [
      'repeats all fields in another order',
      'updateBook',
      flat,
      200,
      '{"origin":{"found":{"year":1900},"country":"NZ"},"heights":[1,0.5],"isRare":false,"name":"Ann"}',
    ],
    ['to a PATCH also has fields not sent', 'changeBook', { isRare: false }, 200, '{"name":"Ann","isRare":false}'],
  ])('succeeds if the response %s', async (_, id, sent, status, text) => {
    expect(await responseTo(id, sent, status, text)).toMatchObject({ ok: true, status });
  });

  const foreign = { ok: false, error: 'gateway', message: 'the response is not from this service' };

  test.each<[what: string, id: Id, sent: object, status: number, text: string]>([
    ['has another boolean', 'updateBook', { name: 'Ann', isRare: false }, 200, '{"name":"Ann","isRare":true}'],
    ['has another object', 'updateBook', { name: 'Ann', origin: { a: 1 } }, 200, '{"name":"Ann","origin":{"a":2}}'],
    ['has a shorter list', 'updateBook', { name: 'Ann', heights: [1, 2] }, 200, '{"name":"Ann","heights":[1]}'],
    ['has an object for a list', 'updateBook', { name: 'Ann', heights: [1] }, 200, '{"name":"Ann","heights":{"0":1}}'],
    ['has a field that was not sent', 'updateBook', ann, 200, '{"name":"Ann","origin":{}}'],
    [
      'has another integer that rounds to the same double',
      'updateBook',
      { name: 'Ann', serial: 9007199254740992n },
      200,
      '{"name":"Ann","serial":9007199254740993}',
    ],
    ['has a body where the contract has none', 'deleteBook', {}, 202, '<html>'],
    ['lacks a required field', 'getBook', {}, 200, '{"welcome":"to our wireless network"}'],
    ['is not JSON', 'listBooks', {}, 200, '<html>'],
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
    expect(await client.deleteBook({ id: 1 })).toMatchObject({ ok: false, status, ...result });
  });
});

test('TypeScript checks the arguments of each call of the client, and knows which body or which errors the result may have', async () => {
  const { client } = await start(answer(200, [ann]));
  const check = async (): Promise<void> => {
    // @ts-expect-error The required parameters of getBook are missing.
    await client.getBook();
    // @ts-expect-error An id must be a number or a bigint, not a string.
    await client.getBook({ id: '1', shop: 'a' });
    // @ts-expect-error The body, which updateBook needs, is missing.
    await client.updateBook({ id: 1 });
    // @ts-expect-error listBooks has no parameter with the name colour.
    await client.listBooks({ colour: 'green' });
    // @ts-expect-error The required parameter shop must not be undefined.
    await client.getBook({ id: 1, shop: undefined });
    await client.updateBook({ id: 1, 'dry-run': undefined }, ann);
    // @ts-expect-error health has no parameters.
    await client.health({ id: 1 });
    // @ts-expect-error The options must be the second argument, after the parameters.
    await client.getBook({ signal: new AbortController().signal });
  };
  expect(check).toBeTypeOf('function');
  const listed = await client.listBooks();
  if (listed.ok) expectTypeOf(listed.body).toEqualTypeOf<Book[]>();
  else expectTypeOf(listed.error).toEqualTypeOf<40002 | 'token refused' | 'gateway' | 'no answer'>();
  const updated = await client.updateBook({ id: 1 }, ann);
  if (!updated.ok)
    expectTypeOf(updated.error).toEqualTypeOf<40401 | 50001 | 'token refused' | 'gateway' | 'no answer'>();
  const deleted = await client.deleteBook({ id: 1 });
  if (deleted.ok) expectTypeOf(deleted.body).toEqualTypeOf<undefined>();
});
