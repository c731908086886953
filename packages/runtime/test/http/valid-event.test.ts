import { lambdaContext } from '@lambda-service/testing/events';
import middy from '@middy/core';
import { readOperations } from 'openapi-contract';
import type { Schema } from 'openapi-contract/document';
import { compileValidators } from 'openapi-contract/validators';
import { describe, expect, test } from 'vitest';
import { CatalogueError, errors } from '../../http/errors.ts';
import { type Validator, validEvent } from '../../http/valid-event.ts';

const int64 = { type: 'integer', format: 'int64' };

const fields: Record<string, Schema> = {
  array: { type: 'array', items: { type: 'string', maxLength: 3 }, maxItems: 2, uniqueItems: true },
  boolean: { type: 'boolean' },
  data: { const: { type: 'string' } },
  int32: { type: 'integer', format: 'int32' },
  int64: { ...int64, minimum: 1 },
  integer: { type: 'integer' },
  choice: { anyOf: [{ type: 'integer' }, int64] },
  fixed: { type: 'integer', const: 1 },
  number: { type: 'number' },
  object: { type: 'object', required: ['deep'], properties: { deep: int64 }, additionalProperties: false },
  labels: { type: 'object', additionalProperties: { type: 'string', maxLength: 3 } },
  range: { type: 'number', minimum: 0, exclusiveMaximum: 100 },
  stringOrNull: { type: ['string', 'null'] },
  word: { enum: ['big', 'small'] },
  words: { type: 'array', items: { type: 'string', maxLength: 3 } },
};

const query = (name: string, schema: Schema, required = false) => ({ name, in: 'query', required, schema });
const operation = (operationId: string, parameters: object[], body?: Schema) => ({
  operationId,
  security: [{ bearerAuth: ['orders/all'] }],
  parameters: [{ name: 'id', in: 'path', required: true, schema: { $ref: '#/components/schemas/Id' } }, ...parameters],
  ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
  responses: { 200: { description: 'done' } },
});

const contract = {
  openapi: '3.1.0',
  info: { title: 'Orders', version: '1.0.0' },
  paths: {
    '/orders/{id}': {
      put: operation('putOrder', [], { $ref: '#/components/schemas/Every' }),
      get: operation('readOrder', [
        query('limit', { type: 'integer', minimum: 1, maximum: 100, default: 20 }),
        query('name', { type: 'string' }),
        query('tag', { type: 'array', items: { type: 'string' } }),
        query('after', int64),
        query('near', { type: 'number' }),
        query('all', { type: 'boolean' }, true),
        { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
      ]),
    },
  },
  components: { schemas: { Id: int64, Every: { type: 'object', required: ['boolean'], properties: fields } } },
};
const modules = await compileValidators(contract, readOperations(contract));

type Change = { id?: string; query?: string; headers?: Record<string, string>; body?: unknown };

/**
 * Runs validEvent on an event of an operation. @returns the event with its values parsed, or the `message` of the error
 * for the client, and its `reason` for the log
 */
const check = async (operationId: string, { id = '1', query, headers, body }: Change) => {
  const rules = await import(`data:text/javascript,${encodeURIComponent(modules[operationId] ?? '')}`);
  const event = {
    pathParameters: { id },
    rawQueryString: query ?? '',
    ...(query !== undefined && { queryStringParameters: {} }),
    headers: { host: 'a.example', ...headers },
    body,
  };
  const handler = middy<object, unknown>()
    .use(validEvent(rules))
    .handler((valid) => valid);
  return handler(event, lambdaContext).catch((error: CatalogueError) => {
    expect(error).toBeInstanceOf(CatalogueError);
    expect(error.response).toBe(errors.notValid);
    const { message, reason } = error;
    return { message, reason };
  });
};

test('validEvent rethrows an error of the validator that is not about an invalid event', async () => {
  const validate = (() => {
    throw new TypeError('oops');
  }) as unknown as Validator<object>;
  const handler = middy<object, unknown>()
    .use(validEvent({ validate, parameters: [], names: [] }))
    .handler(() => 'let in');
  await expect(handler({}, lambdaContext)).rejects.toThrow(TypeError);
});

describe('if an operation has a body, validEvent', () => {
  test.each<[field: string, value: unknown, message: string, reason?: string]>([
    ['array', 'x', 'array must be an array'],
    ['array', ['abcd'], 'array/0 must not have more than 3 characters', 'array/* must not have more than 3 characters'],
    ['int32', 2 ** 31, 'int32 must be an integer from -2147483648 to 2147483647'],
    ['int64', 2n ** 63n, 'int64 must be an integer from 1 to 9223372036854775807'],
    ['integer', 2n ** 53n, 'integer must be an integer from -9007199254740991 to 9007199254740991'],
    [
      'labels',
      { secret: 'secret' },
      'labels/secret must not have more than 3 characters',
      'labels/* must not have more than 3 characters',
    ],
    ['number', Number.NaN, 'number must be a number'],
    ['object', {}, 'object/deep is required'],
    ['object', { deep: 1, secret: 2 }, 'object/secret is not allowed', 'object/* is not allowed'],
    ['object', { deep: null }, 'object/deep must be an integer from -9223372036854775808 to 9223372036854775807'],
    ['range', 100, 'range must be a number of at least 0 and below 100'],
    ['stringOrNull', 7, 'stringOrNull must be a string or null'],
    ['word', 'secret', 'word must be equal to one of the allowed values: ["big","small"]'],
  ])(
    'says which rule the field %s breaks with the value %o, and logs it without names from the client',
    async (field, value, message, reason = message) => {
      expect(await check('putOrder', { body: { boolean: true, [field]: value } })).toEqual({ message, reason });
    },
  );

  test('asks for an object if the body is a list, and for the missing field if the body is an empty object', async () => {
    const message = 'the request body must be an object';
    expect(await check('putOrder', { body: [] })).toMatchObject({ message });
    expect(await check('putOrder', { body: {} })).toMatchObject({ message: 'boolean is required' });
  });

  test('names the first ten violations and counts all others, but logs only the first ten', async () => {
    const named = Array.from({ length: 10 }, (_, index) => `words/${index} must be a string`);
    const checkWords = (words: unknown[]) => check('putOrder', { body: { boolean: true, words } });
    const message = [...named, 'and 49990 more'].join('; ');
    expect(await checkWords(Array(50_000).fill(1))).toMatchObject({ message });
    const reason = 'words/* must be a string';
    expect(await checkWords([...Array(10).fill(1), 'abcd'])).toMatchObject({ reason });
  });

  test('shortens the name of an unknown field in the message if the name is long', async () => {
    const body = { boolean: true, object: { deep: 1, ['x'.repeat(1_000_000)]: 1 } };
    const message = `object/${'x'.repeat(193)}… is not allowed`;
    expect(await check('putOrder', { body })).toMatchObject({ message });
  });

  test('accepts every value that the contract allows, and turns a bigint into a number unless the field is an int64', async () => {
    const body = {
      array: ['a', 'abc'],
      boolean: false,
      int64: 2n ** 63n - 1n,
      choice: 9007199254740993n,
      data: { type: 'string' },
      object: { deep: 7n },
      stringOrNull: null,
      word: 'big',
      unknown: 1n,
    };
    const bigints = { int32: 5n, fixed: 1n, integer: 9007199254740991n, number: 10n ** 18n };
    const valid = await check('putOrder', { body: structuredClone({ ...body, ...bigints }) });
    const numbers = { int32: 5, fixed: 1, integer: 9007199254740991, number: 1e18 };
    expect(valid).toMatchObject({ body: { ...body, ...numbers } });
  });
});

describe('if an operation has parameters, validEvent', () => {
  const parsed = async (change: Change) => {
    const { pathParameters, queryStringParameters, headers } = Object(await check('readOrder', change));
    return { pathParameters, queryStringParameters, headers };
  };

  test('replaces the text of each parameter with the parsed value, without rounding numbers or refusing U+FFFD, and fills in defaults', async () => {
    expect(await parsed({ id: '9223372036854775807', query: 'all=true', headers: { 'x-trace': '7' } })).toEqual({
      pathParameters: { id: 9223372036854775807n },
      queryStringParameters: { all: true, limit: 20 },
      headers: { host: 'a.example', 'x-trace': '7' },
    });
    const all = 'all=false&limit=5&name=a%2Cb+c%ef%bf%BD&tag=x%2Cy&tag=&after=-1&near=1.5e3';
    expect((await parsed({ query: all })).queryStringParameters).toEqual({
      all: false,
      limit: 5,
      name: 'a,b c\ufffd',
      tag: ['x,y', ''],
      after: -1n,
      near: 1_500,
    });
  });

  const idRange = 'the path parameter id must be an integer from -9223372036854775808 to 9223372036854775807';
  test.each<[change: Change, message: string]>([
    ...['', '1.0', '007', '-0', '9223372036854775808'].map((id): [Change, string] => [
      { id, query: 'all=true' },
      idRange,
    ]),
    [{ query: 'all=true&name=a%FF' }, 'the query string must be UTF-8'],
    [{ query: 'all=true&name=%EF%BF%BD%FF' }, 'the query string must be UTF-8'],
    [{ query: '' }, 'the query parameter all is required'],
    [{ query: 'all=yes' }, 'the query parameter all must be true or false'],
    [{ query: 'all=true&limit=0' }, 'the query parameter limit must be an integer from 1 to 100'],
    [{ query: 'all=true&name=a&name=b' }, 'the query parameter name must be a string'],
    [{ query: 'all=true&after=9007199254740993.0' }, idRange.replace('path parameter id', 'query parameter after')],
  ])('refuses %j with a message that names the parameter', async (change, message) => {
    expect(await check('readOrder', change)).toEqual({ message, reason: message });
  });
});
