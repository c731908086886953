import { describe, expect, test } from 'vitest';
import { breaksOf, withScopes } from '../../../scripts/contract/compatibility.ts';
import type { Contract, Schema } from '../../../scripts/contract/operations.ts';

const text = { type: 'string' };
const number = { type: 'integer', format: 'int64' };

const thing: Schema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', maxLength: 10 },
    size: { type: 'integer', minimum: 1, maximum: 9 },
    color: { enum: ['red', 'green'] },
    owner: { type: 'object', required: ['id'], properties: { id: { type: 'integer' }, since: text } },
    parts: { type: 'array', maxItems: 3, items: { $ref: '#/components/schemas/Part' } },
  },
};

const part: Schema = {
  type: 'object',
  properties: { code: text, parts: { type: 'array', items: { $ref: '#/components/schemas/Part' } } },
};

const answer: Schema = {
  type: 'object',
  required: ['name'],
  properties: { name: text, color: { enum: ['red', 'green'] }, count: { type: 'integer' } },
};

const problem: Schema = { type: 'object', required: ['error'], properties: { error: number, message: text } };

const json = (schema: Schema, values: unknown[] = []) => ({
  'application/json': { schema, examples: Object.fromEntries(values.map((value, index) => [index, { value }])) },
});

/**
 * Returns the parts that make up the released contract. Each test case changes some of them to make the new contract.
 */
const released = () => ({
  id: 'putThing',
  path: '/things/{id}',
  scopes: ['things/put', 'things/write'],
  parameters: [
    { name: 'id', in: 'path', required: true, schema: number as Schema },
    {
      name: 'unit',
      in: 'query',
      required: false,
      schema: { type: 'string', enum: ['cm', 'in'], default: 'cm' } as Schema,
    },
  ],
  body: structuredClone(thing),
  part: structuredClone(part),
  answer: structuredClone(answer),
  problem: structuredClone(problem),
  statuses: [200, 404, 409],
  numbers: [40401, 40402],
  headers: { 'Retry-After': { required: true, schema: { type: 'integer' } } },
  scheme: { type: 'http', scheme: 'bearer', description: 'a token' } as Schema,
});

type Parts = ReturnType<typeof released>;

const contractOf = ({
  id,
  path,
  scopes,
  parameters,
  statuses,
  numbers,
  headers,
  scheme,
  ...schemas
}: Parts): Contract => {
  const body = (status: number) => (status === 200 ? json({ $ref: '#/components/schemas/Answer' }) : errors);
  const errors = json({ $ref: '#/components/schemas/Problem' }, [...numbers.map((error) => ({ error }))]);
  const operation = {
    operationId: id,
    security: [{ bearerAuth: scopes }],
    parameters,
    requestBody: { required: true, content: json({ $ref: '#/components/schemas/Thing' }) },
    responses: Object.fromEntries(statuses.map((status) => [status, { headers, content: body(status) }])),
  };
  const { body: Thing, part: Part, answer: Answer, problem: Problem } = schemas;
  const components = { schemas: { Thing, Part, Answer, Problem }, securitySchemes: { bearerAuth: scheme } };
  return { paths: { [path]: { put: operation } }, components };
};

const breaksOfChange = (change: (parts: Parts) => void): string[] => {
  const parts = released();
  change(parts);
  return breaksOf(contractOf(released()), contractOf(parts));
};

/** Returns the schema of one field, given the schema of an object and the field's name. */
const field = (schema: Schema, name: string): Schema => (schema['properties'] as Record<string, Schema>)[name] ?? {};
const remove = (schema: Schema, name: string): void => {
  delete (schema['properties'] as Record<string, Schema>)[name];
};
const add = (schema: Schema, name: string, value: Schema): void => {
  Object.assign(schema['properties'] as object, { [name]: value });
};

describe('a new contract breaks clients built for the released contract', () => {
  const refuses = 'may refuse a body that it accepted:';
  const answers = 'may answer 200 with what the release rules out:';
  test.each<[what: string, says: string, change: (parts: Parts) => void]>([
    ['an operation moves', '/things/{id} is gone', (all) => (all.path = '/v2/things/{id}')],
    ['an operation is renamed', 'is called setThing instead of putThing', (all) => (all.id = 'setThing')],
    ['it requires another scope', 'requires the scope things/own', ({ scopes }) => scopes.push('things/own')],
    [
      'it requires a new parameter',
      'requires the query parameter q',
      ({ parameters }) => parameters.push({ name: 'q', in: 'query', required: true, schema: text }),
    ],
    ['a parameter goes', 'has lost the query parameter unit', ({ parameters }) => parameters.pop()],
    [
      'a parameter becomes required',
      'requires the query parameter unit, which was optional',
      ({ parameters }) => Object.assign(parameters[1] ?? {}, { required: true }),
    ],
    [
      'a parameter takes fewer values',
      'may refuse a value of the query parameter unit that it accepted: the value: enum ["cm"]',
      ({ parameters }) => Object.assign(parameters[1]?.schema ?? {}, { enum: ['cm'] }),
    ],
    [
      'the default of a parameter changes',
      'has another default for the query parameter unit',
      ({ parameters }) => Object.assign(parameters[1]?.schema ?? {}, { default: 'in' }),
    ],
    [
      'it requires a new field',
      `${refuses} size: required`,
      ({ body }) => Object.assign(body, { required: ['name', 'size'] }),
    ],
    [
      'it refuses unknown fields',
      `${refuses} the body: additionalProperties false`,
      ({ body }) => Object.assign(body, { additionalProperties: false }),
    ],
    ['a field goes', 'has lost the field size of its body', ({ body }) => remove(body, 'size')],
    [
      'an inner field goes',
      'has lost the field owner.since of its body',
      ({ body }) => remove(field(body, 'owner'), 'since'),
    ],
    [
      'a string must be shorter',
      `${refuses} name: maxLength 9`,
      ({ body }) => Object.assign(field(body, 'name'), { maxLength: 9 }),
    ],
    [
      'a string needs a least length',
      `${refuses} name: minLength 1`,
      ({ body }) => Object.assign(field(body, 'name'), { minLength: 1 }),
    ],
    [
      'a string needs a pattern',
      `${refuses} name: pattern "^a"`,
      ({ body }) => Object.assign(field(body, 'name'), { pattern: '^a' }),
    ],
    [
      'a number must be larger',
      `${refuses} size: minimum 2, maximum 9`,
      ({ body }) => Object.assign(field(body, 'size'), { minimum: 2 }),
    ],
    [
      'a limit becomes exclusive',
      `${refuses} size: minimum 1, exclusiveMaximum 9`,
      ({ body }) => add(body, 'size', { type: 'integer', minimum: 1, exclusiveMaximum: 9 }),
    ],
    [
      'a number changes its format',
      `${refuses} id: format int32`,
      ({ body }) => Object.assign(field(field(body, 'owner'), 'id'), { format: 'int32' }),
    ],
    [
      'a field changes its type',
      `${refuses} name: type "integer"`,
      ({ body }) => add(body, 'name', { type: 'integer' }),
    ],
    [
      'a choice goes',
      `${refuses} color: enum ["red"]`,
      ({ body }) => Object.assign(field(body, 'color'), { enum: ['red'] }),
    ],
    [
      'a list must be shorter',
      `${refuses} parts: maxItems 2`,
      ({ body }) => Object.assign(field(body, 'parts'), { maxItems: 2 }),
    ],
    [
      'the items of a list change',
      `${refuses} code: maxLength 1`,
      ({ part }) => Object.assign(field(part, 'code'), { maxLength: 1 }),
    ],
    [
      'a keyword appears that cannot be compared',
      `${refuses} the body: not {"required":["x"]}`,
      ({ body }) => Object.assign(body, { not: { required: ['x'] } }),
    ],
    ['a status goes', 'no longer answers 409', ({ statuses }) => statuses.pop()],
    [
      'it may succeed in another way',
      'may answer 202, which released clients do not expect',
      ({ statuses }) => statuses.push(202),
    ],
    ['an error number goes', 'no longer documents the error 40402', ({ numbers }) => numbers.pop()],
    [
      'a header goes',
      'has lost the header retry-after of its response 200',
      (all) => Object.assign(all, { headers: {} }),
    ],
    [
      'a header has other values',
      'may answer 200 with a header retry-after that the release rules out: the value: type "integer"',
      ({ headers }) => Object.assign(headers['Retry-After'].schema, { type: 'string' }),
    ],
    [
      'a header becomes optional',
      'may leave out the header retry-after of its response 200',
      ({ headers }) => Object.assign(headers['Retry-After'], { required: false }),
    ],
    [
      'clients must authenticate in another way',
      'The security scheme bearerAuth is another one.',
      (all) => (all.scheme = { type: 'apiKey', in: 'header', name: 'x-api-key' }),
    ],
    [
      'a field of a response goes',
      'has lost the field count of its response 200',
      ({ answer }) => remove(answer, 'count'),
    ],
    [
      'a field of a response becomes optional',
      `${answers} name: required`,
      ({ answer }) => Object.assign(answer, { required: [] }),
    ],
    [
      'a field of a response changes its type',
      `${answers} count: type "integer"`,
      ({ answer }) => add(answer, 'count', text),
    ],
    [
      'a field of a response may be null',
      `${answers} name: type "string"`,
      ({ answer }) => add(answer, 'name', { type: ['string', 'null'] }),
    ],
    [
      'an integer of a response may be larger',
      `${answers} count: no format`,
      ({ answer }) => Object.assign(field(answer, 'count'), { format: 'int64' }),
    ],
    [
      'a field of a response has a new choice',
      `${answers} color: enum ["red","green"]`,
      ({ answer }) => Object.assign(field(answer, 'color'), { enum: ['red', 'green', 'blue'] }),
    ],
    [
      'an error changes its type',
      'may answer 404 with what the release rules out: error:',
      ({ problem }) => add(problem, 'error', text),
    ],
  ])('if %s', (_, says, change) => {
    expect(breaksOfChange(change).join('\n')).toContain(says);
  });
});

describe('a new contract does not break clients built for the released contract', () => {
  test.each<[what: string, change: (parts: Parts) => void]>([
    ['nothing changes', () => {}],
    ['a scope is no longer required', ({ scopes }) => scopes.pop()],
    [
      'a parameter is new and optional',
      ({ parameters }) => parameters.push({ name: 'q', in: 'query', required: false, schema: text }),
    ],
    ['a field of the body is new and optional', ({ body }) => add(body, 'weight', number)],
    ['a field of the body becomes optional', ({ body }) => Object.assign(body, { required: [] })],
    ['a string may be longer', ({ body }) => Object.assign(field(body, 'name'), { maxLength: 11 })],
    ['a string may have any length', ({ body }) => add(body, 'name', text)],
    [
      'a number may be smaller and larger',
      ({ body }) => Object.assign(field(body, 'size'), { minimum: 0, maximum: 10 }),
    ],
    [
      'a number gets a wider format',
      ({ body }) => Object.assign(field(field(body, 'owner'), 'id'), { format: 'int64' }),
    ],
    ['an integer becomes any number', ({ body }) => add(body, 'size', { type: 'number' })],
    ['a choice is new', ({ body }) => Object.assign(field(body, 'color'), { enum: ['blue', 'red', 'green'] })],
    ['a field may also be null', ({ body }) => add(body, 'name', { type: ['string', 'null'] })],
    ['a field may also be something else', ({ body }) => add(body, 'name', { anyOf: [{ type: 'integer' }, text] })],
    [
      'a schema is split into two parts',
      ({ body }) => {
        const { required, ...others } = structuredClone(body);
        delete body['required'];
        Object.assign(body, { allOf: [{ type: 'object', required }, others] });
        delete body['properties'];
      },
    ],
    ['a string gets a least length of 0', ({ body }) => Object.assign(field(body, 'name'), { minLength: 0 })],
    ['words change', ({ body }) => Object.assign(body, { description: 'a thing', title: 'Thing' })],
    ['an error number is new', ({ numbers }) => numbers.push(40403)],
    ['an error status is new', ({ statuses }) => statuses.push(503)],
    ['a field of a response is new', ({ answer }) => add(answer, 'weight', number)],
    ['a field of a response becomes required', ({ answer }) => Object.assign(answer, { required: ['name', 'count'] })],
    [
      'a field of a response has fewer choices',
      ({ answer }) => Object.assign(field(answer, 'color'), { enum: ['red'] }),
    ],
    ['a security scheme is described in other words', ({ scheme }) => Object.assign(scheme, { description: 'a JWT' })],
    ['a header is new', ({ headers }) => Object.assign(headers, { ETag: { schema: text } })],
  ])('if %s', (_, change) => {
    expect(breaksOfChange(change)).toEqual([]);
  });

  test("if an error response may also be the gateway's, but not if it can no longer be the service's", () => {
    const schemaOf = (...names: string[]): Schema => {
      const anyOf = names.map((name) => ({ $ref: `#/components/schemas/${name}` }));
      return anyOf.length > 1 ? { anyOf } : { ...anyOf[0] };
    };
    const responding = (status: number, ...names: string[]): Contract => {
      const contract = contractOf(released());
      for (const { put } of Object.values(contract.paths))
        Object.assign((put as { responses: object }).responses, { [status]: { content: json(schemaOf(...names)) } });
      Object.assign(contract.components['schemas'] ?? {}, {
        GatewayError: { type: 'object', required: ['message'], properties: { message: text } },
      });
      return contract;
    };
    const before = responding(404, 'Problem');
    expect(breaksOf(before, responding(404, 'Problem', 'GatewayError'))).toEqual([]);
    expect(breaksOf(before, responding(404, 'GatewayError'))).not.toEqual([]);
    expect(breaksOf(before, responding(404, 'Problem', 'Answer', 'GatewayError'))).not.toEqual([]);
    expect(breaksOf(responding(200, 'Answer'), responding(200, 'Answer', 'GatewayError'))).not.toEqual([]);
  });

  test('if it has a new operation', () => {
    const today = contractOf(released());
    const get = { operationId: 'listThings', security: [{ bearerAuth: ['things/read'] }], responses: { 200: {} } };
    const paths = { ...today.paths, '/things': { get } };
    expect(breaksOf(contractOf(released()), { ...today, paths })).toEqual([]);
  });

  test("if it lists an operation's scopes, and the released contract (for example, that of release 1.0.0) listed no scopes at all", () => {
    const old = contractOf(released());
    for (const { put } of Object.values(old.paths)) delete (put as { security?: unknown }).security;
    expect(breaksOf(withScopes(old), contractOf(released()))).toEqual([]);
  });
});

test("removing an operation's request body, or adding one, breaks clients", () => {
  const withBody = contractOf(released());
  const without = contractOf(released());
  for (const { put } of Object.values(without.paths)) delete (put as { requestBody?: unknown }).requestBody;
  expect(breaksOf(withBody, without)).toEqual(['PUT /things/{id} has lost its body.']);
  expect(breaksOf(without, withBody)).toEqual(['PUT /things/{id} requires a body, which it did not have.']);
});
