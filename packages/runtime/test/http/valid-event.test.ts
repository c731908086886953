import { lambdaContext } from '@lambda-service/testing/events';
import middy from '@middy/core';
import type { Schema } from 'openapi-contract/document';
import { describe, expect, test } from 'vitest';
import { compiled, contractWith, jsonBody } from '../../../contract/test/kit/compiled-contract.ts';
import { CatalogueError, errors } from '../../http/errors.ts';
import { type Validator, validEvent } from '../../http/valid-event.ts';

type Change = { id?: string; query?: string; headers?: Record<string, string>; body?: unknown };

/**
 * Runs validEvent on an event of `PUT /things/{id}`. @returns the event with its values parsed, or the error message
 * for the client, or the `reason` for the log
 */
const check = async (
  operation: Awaited<ReturnType<typeof compiled>>,
  { id = '1', query, headers, body }: Change,
  text: 'message' | 'reason' = 'message',
) => {
  const event = {
    pathParameters: { id },
    rawQueryString: query ?? '',
    ...(query !== undefined && { queryStringParameters: {} }),
    headers: { host: 'a.example', ...headers },
    body,
  };
  const handler = middy<object, unknown>()
    .use(validEvent(operation))
    .handler((valid) => valid);
  return handler(event, lambdaContext).catch((error: CatalogueError) => {
    expect(error).toBeInstanceOf(CatalogueError);
    expect(error.response).toBe(errors.notValid);
    return error[text];
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

describe('if an operation has a body, validEvent', async () => {
  const fields: Record<string, Schema> = {
    array: { type: 'array', items: { type: 'string', maxLength: 3 }, maxItems: 2, uniqueItems: true },
    boolean: { type: 'boolean' },
    data: { const: { type: 'string' } },
    int32: { type: 'integer', format: 'int32' },
    int64: { type: 'integer', format: 'int64', minimum: 1 },
    integer: { type: 'integer' },
    choice: { anyOf: [{ type: 'integer' }, { type: 'integer', format: 'int64' }] },
    fixed: { type: 'integer', const: 1 },
    number: { type: 'number' },
    object: {
      type: 'object',
      required: ['deep'],
      properties: { deep: { type: 'integer', format: 'int64' } },
      additionalProperties: false,
    },
    labels: { type: 'object', additionalProperties: { type: 'string', maxLength: 3 } },
    range: { type: 'number', minimum: 0, exclusiveMaximum: 100 },
    string: { type: 'string', pattern: '^[a-z]*$' },
    stringOrNull: { type: ['string', 'null'] },
    word: { enum: ['big', 'small'] },
  };
  const schemas = { Every: { type: 'object', required: ['boolean'], properties: fields } };
  const operation = await compiled(contractWith(jsonBody({ $ref: '#/components/schemas/Every' }), schemas));

  test.each<[field: string, value: unknown, message: string]>([
    ['array', 'x', 'array must be an array'],
    ['array', ['abcd'], 'array/0 must not have more than 3 characters'],
    ['int32', 2 ** 31, 'int32 must be an integer from -2147483648 to 2147483647'],
    ['int64', 2n ** 63n, 'int64 must be an integer from 1 to 9223372036854775807'],
    ['integer', 2n ** 53n, 'integer must be an integer from -9007199254740991 to 9007199254740991'],
    ['number', Number.NaN, 'number must be a number'],
    ['object', { deep: 1, other: 2 }, 'object/other is not allowed'],
    ['object', { deep: null }, 'object/deep must be an integer from -9223372036854775808 to 9223372036854775807'],
    ['range', 100, 'range must be a number of at least 0 and below 100'],
    ['stringOrNull', 7, 'stringOrNull must be a string or null'],
    ['word', 'tall', 'word must be equal to one of the allowed values: ["big","small"]'],
  ])('says which rule the field %s breaks with the value %o', async (field, value, message) => {
    const said = await check(operation, { body: { boolean: true, [field]: value } });
    expect(String(said).split('; ')).toContain(message);
    expect(said).not.toMatch(/undefined|NOT/);
  });

  test('asks for an object if the body is a list, and for the missing field if the body is an empty object', async () => {
    expect(await check(operation, { body: [] })).toBe('the request body must be an object');
    expect(await check(operation, { body: {} })).toBe('boolean is required');
  });

  test('names the first ten violations and counts all others, but logs only the first ten', async () => {
    const items = { type: 'string', maxLength: 3 };
    const list = await compiled(contractWith(jsonBody({ type: 'array', items })));
    const named = Array.from({ length: 10 }, (_, index) => `${index} must be a string`);
    expect(await check(list, { body: Array(50_000).fill(1) })).toBe([...named, 'and 49990 more'].join('; '));
    expect(await check(list, { body: [...Array(10).fill(1), 'abcd'] }, 'reason')).toBe('* must be a string');
  });

  test('shortens the name of an unknown field in the message if the name is long', async () => {
    const body = { boolean: true, object: { deep: 1, ['x'.repeat(1_000_000)]: 1 } };
    expect(await check(operation, { body })).toBe(`object/${'x'.repeat(193)}… is not allowed`);
  });

  test.each<[field: string, value: unknown, reason: string]>([
    ['word', 'secret', 'word must be equal to one of the allowed values: ["big","small"]'],
    ['array', [1], 'array/* must be a string'],
    ['labels', { secret: 'secret' }, 'labels/* must not have more than 3 characters'],
    ['object', { deep: 1, secret: 1 }, 'object/* is not allowed'],
    ['object', {}, 'object/deep is required'],
  ])('logs which rule %s breaks with the value %j, but no name from the client', async (field, value, reason) => {
    expect(await check(operation, { body: { boolean: true, [field]: value } }, 'reason')).toBe(reason);
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
    const valid = await check(operation, { body: structuredClone({ ...body, ...bigints }) });
    const numbers = { int32: 5, fixed: 1, integer: 9007199254740991, number: 1e18 };
    expect(valid).toMatchObject({ body: { ...body, ...numbers } });
  });
});

describe('if an operation has parameters, validEvent', async () => {
  const query = (name: string, schema: Schema, required = false) => ({ name, in: 'query', required, schema });
  const parameters = [
    { name: 'id', in: 'path', required: true, schema: { $ref: '#/components/schemas/Id' } },
    query('limit', { type: 'integer', minimum: 1, maximum: 100, default: 20 }),
    query('name', { type: 'string' }),
    query('tag', { type: 'array', items: { type: 'string' } }),
    query('after', { type: 'integer', format: 'int64' }),
    query('near', { type: 'number' }),
    query('all', { type: 'boolean' }, true),
    { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
  ];
  const operation = await compiled(contractWith({ parameters }, { Id: { type: 'integer', format: 'int64' } }));
  const parsed = async (change: Change) => {
    const { pathParameters, queryStringParameters, headers } = Object(await check(operation, change));
    return { pathParameters, queryStringParameters, headers };
  };

  test('replaces the text of each parameter with the parsed value, without rounding numbers, and fills in defaults', async () => {
    expect(await parsed({ id: '9223372036854775807', query: 'all=true', headers: { 'x-trace': '7' } })).toEqual({
      pathParameters: { id: 9223372036854775807n },
      queryStringParameters: { all: true, limit: 20 },
      headers: { host: 'a.example', 'x-trace': '7' },
    });
    const all = 'all=false&limit=5&name=a%2Cb+c&tag=x%2Cy&tag=&after=-1&near=1.5e3';
    expect((await parsed({ query: all })).queryStringParameters).toEqual({
      all: false,
      limit: 5,
      name: 'a,b c',
      tag: ['x,y', ''],
      after: -1n,
      near: 1_500,
    });
  });

  test('refuses a query parameter that is not UTF-8, but not U+FFFD that the client sent', async () => {
    for (const name of ['a%FF', '%EF%BF%BD%FF'])
      for (const text of ['message', 'reason'] as const)
        expect(await check(operation, { query: `all=true&name=${name}` }, text)).toBe('the query string must be UTF-8');
    const { queryStringParameters } = await parsed({ query: 'all=true&name=%ef%bf%BD' });
    expect(queryStringParameters).toMatchObject({ name: '\ufffd' });
  });

  const idRange = 'the path parameter id must be an integer from -9223372036854775808 to 9223372036854775807';
  test.each<[change: Change, message: string]>([
    ...['', '1.0', '007', '-0', '9223372036854775808'].map((id): [Change, string] => [
      { id, query: 'all=true' },
      idRange,
    ]),
    [{ query: '' }, 'the query parameter all is required'],
    [{ query: 'all=yes' }, 'the query parameter all must be true or false'],
    [{ query: 'all=true&limit=0' }, 'the query parameter limit must be an integer from 1 to 100'],
    [{ query: 'all=true&name=a&name=b' }, 'the query parameter name must be a string'],
    [{ query: 'all=true&after=9007199254740993.0' }, idRange.replace('path parameter id', 'query parameter after')],
  ])('refuses %j with a message that names the parameter', async (change, message) => {
    expect(await check(operation, change)).toBe(message);
  });
});
