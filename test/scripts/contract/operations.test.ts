import { expect, test } from 'vitest';
import { readOperations, type Schema } from '../../../scripts/contract/operations.ts';
import { compileTypes } from '../../../scripts/contract/types.ts';
import { compiled, contractWith, jsonBody } from '../../kit/compiled-contract.ts';

const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
const int64 = { type: 'integer', format: 'int64' };
const operation = 'PUT /things/{id} in schemas/openapi.yaml';

test.each<[change: object, message: string]>([
  [{ operationId: undefined }, `${operation} needs an operationId such as createPlant.`],
  [{ operationId: 'put-thing' }, `${operation} needs an operationId such as createPlant.`],
  [
    { operationId: 'authorizer' },
    `${operation} cannot have the operationId authorizer, because another file has that name.`,
  ],
  [
    { operationId: 'contract' },
    `${operation} cannot have the operationId contract, because another file has that name.`,
  ],
  [{ callbacks: {} }, `${operation} has callbacks, which is not supported.`],
  [{ servers: [] }, `${operation} has servers, which is not supported.`],
  ...[undefined, [], [{}], [{ apiKey: [] }], [{ bearerAuth: null }], [{ bearerAuth: ['a'] }, {}]].map(
    (security): [object, string] => [
      { security },
      `${operation} needs exactly one entry in security, such as "- bearerAuth: [plants/create]".`,
    ],
  ),
  [{ security: [{ bearerAuth: [] }] }, `${operation} needs at least one scope in security.`],
  [
    { security: [{ bearerAuth: ['two words'] }] },
    `${operation} requires "two words", which is not one OAuth 2.0 scope.`,
  ],
  [{ parameters: [] }, `${operation} has the path parameters id, but declares none.`],
  [{ parameters: [id, { ...id, name: 'x' }] }, `${operation} has the path parameters id, but declares id, x.`],
  [{ parameters: [id, { ...id, in: 'query' }] }, `${operation} has two parameters with the name id.`],
  [
    { parameters: [id, { ...id, name: 'c', in: 'cookie' }] },
    `${operation} has the parameter c in cookie, which is not supported.`,
  ],
  [
    { parameters: [id, { ...id, name: 'q', in: 'query', style: 'pipeDelimited' }] },
    `${operation} has the parameter q with style, which is not supported.`,
  ],
  [{ parameters: [{ name: 'id', in: 'path', required: true }] }, `${operation} has the parameter id without a schema.`],
  [
    { parameters: [id, { ...id, name: 'toString', in: 'query' }] },
    `${operation} has the parameter toString, whose name is not supported.`,
  ],
  [
    { requestBody: { content: { 'application/json': { schema: {} } } } },
    `${operation} has a body that is not required, which is not supported.`,
  ],
  [
    { requestBody: { required: true, content: { 'text/plain': { schema: {} } } } },
    `${operation} has a request body that is not application/json with a schema.`,
  ],
  [{ responses: { default: { description: 'x' } } }, `${operation} has the response default, which is not supported.`],
  [
    { responses: { 200: { $ref: '#/components/responses/Gone' } } },
    'schemas/openapi.yaml refers to #/components/responses/Gone, which does not exist.',
  ],
])('the contract is refused with a clear message if the operation has %j', (change, message) => {
  expect(() => readOperations(contractWith(change))).toThrow(message);
});

test('the contract is refused if a path has a method that API Gateway does not support', () => {
  expect(() => readOperations({ paths: { '/x': { trace: {} } }, components: { schemas: {} } })).toThrow(
    '/x in schemas/openapi.yaml has trace, which is not supported.',
  );
});

test('the contract is refused if two operations have the same operationId', () => {
  const [[path = '', item = {}] = []] = Object.entries(contractWith({}).paths);
  const twice = { ...contractWith({}), paths: { [path]: item, '/other/{id}': item } };
  expect(() => readOperations(twice)).toThrow('Two operations in schemas/openapi.yaml have the operationId putThing.');
});

test.each<[schema: Schema, what: string]>([
  [{ type: 'integer', multipleOf: 5 }, 'multipleOf of a number'],
  [{ type: ['integer', 'string'] }, 'The type integer or string'],
  [{ $ref: '#/components/schemas/Big', maximum: 5 }, 'maximum beside a $ref to #/components/schemas/Big'],
  [{ type: 'string', nullable: true }, 'nullable'],
  ...['anyOf', 'oneOf'].map((keyword): [Schema, string] => [
    { properties: { n: { [keyword]: [{ type: 'number' }, { $ref: '#/components/schemas/Big' }] } } },
    'The type number inside anyOf, oneOf, not, if, contains or the like',
  ]),
  [
    { contains: { properties: { n: { type: 'number' } } } },
    'The type number inside anyOf, oneOf, not, if, contains or the like',
  ],
  [
    { allOf: [{ properties: { n: { $ref: '#/components/schemas/Big' } } }], properties: { n: { type: 'number' } } },
    'The value n with both type number and format int64',
  ],
  [
    { allOf: [{ properties: { n: int64 } }, { additionalProperties: { type: 'number' } }] },
    'The value * with both type number and format int64',
  ],
  [{ type: 'integer', format: 'uint8' }, 'The format uint8 of type integer'],
  [{ type: 'number', format: 'int64' }, 'The format int64 of type number'],
  [{ ...int64, enum: [1] }, 'enum of an int64'],
  [{ ...int64, const: 1 }, 'const of an int64'],
  [{ type: 'number', minimum: '1' }, 'minimum: 1'],
  [{ ...int64, exclusiveMaximum: 2 ** 63 }, 'exclusiveMaximum with an integer beyond 2^53 - 1'],
  [{ ...int64, maximum: 2 ** 53 }, 'maximum with an integer beyond 2^53 - 1'],
  [{ items: { type: 'integer', enum: [2 ** 53] } }, 'enum with an integer beyond 2^53 - 1'],
  [{ const: { deep: [2 ** 53] } }, 'const with an integer beyond 2^53 - 1'],
  ...['constructor', 'hasOwnProperty', '__proto__'].map((name): [Schema, string] => [
    { items: { properties: Object.fromEntries([[name, {}]]) } },
    `A field with the name ${name}`,
  ]),
  [{ required: ['constructor'] }, 'A field with the name constructor'],
  [{ dependentRequired: { a: ['toString'] } }, 'A field with the name toString'],
])(
  'the contract is refused if a body has the schema %j, against which a body cannot be checked in full',
  async (schema, what) => {
    await expect(compiled(contractWith(jsonBody(schema), { Big: int64 }))).rejects.toThrow(
      `${what} in schemas/openapi.yaml is not supported.`,
    );
  },
);

test.each<[schemas: Record<string, Schema>]>([
  [{ A: { $ref: '#/components/schemas/A' } }],
  [{ A: { allOf: [{ $ref: '#/components/schemas/B' }] }, B: { $ref: '#/components/schemas/A' } }],
  [{ A: { type: 'array', items: { $ref: '#/components/schemas/A' } } }],
])(
  'the contract is refused if a schema refers to itself in any way but through a field of an object: %j',
  (schemas) => {
    expect(() => readOperations(contractWith({}, schemas))).toThrow('in schemas/openapi.yaml refers to itself.');
  },
);

test('the schema of an object may refer to itself in a field, as in a tree', async () => {
  const children = { type: 'array', items: { $ref: '#/components/schemas/Tree' } };
  const contract = contractWith(jsonBody({ $ref: '#/components/schemas/Tree' }), {
    Tree: { type: 'object', properties: { children } },
  });
  expect(await compileTypes(contract, readOperations(contract))).toMatch(/interface Tree \{\s*children\?: Tree\[\]/);
  const { validate } = await compiled(contract);
  const event = (leaf: unknown) => ({ pathParameters: { id: 1n }, body: { children: [{ children: [leaf] }] } });
  expect([{}, 7].map((leaf) => validate(event(leaf)))).toEqual([true, false]);
});

test.each([{ type: 'object' }, { type: ['string', 'null'] }, { type: 'array', items: { type: 'object' } }])(
  'the contract is refused if a parameter has the schema %j, whose type is not supported for parameters',
  async (schema) => {
    const contract = contractWith({ parameters: [id, { name: 'q', in: 'query', schema }] });
    await expect(compiled(contract)).rejects.toThrow(
      'The parameter q in schemas/openapi.yaml has a type that is not supported.',
    );
  },
);

test("readOperations finds an operation's error numbers, such as 41001, even in examples that operations share through a $ref", () => {
  const json = { schema: {}, examples: { gone: { $ref: '#/components/examples/Gone' } } };
  const contract = contractWith({ responses: { 410: { content: { 'application/json': json } } } });
  Object.assign(contract.components, { examples: { Gone: { value: { error: 41001 } } } });
  expect(readOperations(contract)[0]?.responses).toMatchObject([{ errorCodes: [41001] }]);
});

test('the generated list of response headers has each header name once, in lower case', async () => {
  const responses = {
    200: { headers: { ETag: {}, 'Apigw-Requestid': {} } },
    503: { $ref: '#/components/responses/Unavailable' },
  };
  const contract = contractWith({ responses });
  const shared = { Unavailable: { headers: { 'apigw-requestid': {}, 'Retry-After': {} } } };
  Object.assign(contract.components, { responses: shared });
  const source = await compileTypes(contract, readOperations(contract));
  const [, json = ''] = /^export const responseHeaders: .* = (\[.*\]);$/m.exec(source) ?? [];
  expect(JSON.parse(json)).toEqual(['etag', 'apigw-requestid', 'retry-after']);
});

test.each<[schema: Schema, problem: string]>([
  [{ ...int64, default: 1 }, 'is not supported'],
  [{ type: 'array', items: { type: 'string' }, default: [] }, 'is not supported'],
  [{ $ref: '#/components/schemas/Word', default: 'a' }, 'is not supported'],
  [{ type: 'integer', default: 'abc' }, "does not match the parameter's schema"],
  [{ type: 'integer', maximum: 5, default: 6 }, "does not match the parameter's schema"],
])('the contract is refused if a parameter has the schema %j, because its default %s', async (schema, problem) => {
  const contract = contractWith({ parameters: [id, { name: 'q', in: 'query', schema }] }, { Word: { type: 'string' } });
  await expect(compiled(contract)).rejects.toThrow(
    `The default of the parameter q in schemas/openapi.yaml ${problem}.`,
  );
});

test("a parameter of an operation overrides the path's parameter that has the same name and the same `in`", () => {
  const contract = contractWith({ parameters: [{ ...id, schema: { type: 'integer' } }] });
  Object.assign(contract.paths['/things/{id}'] ?? {}, {
    parameters: [id, { name: 'q', in: 'query', schema: { type: 'boolean' } }],
  });
  expect(readOperations(contract)[0]?.parameters.map(({ name, schema }) => [name, schema])).toEqual([
    ['id', { type: 'integer' }],
    ['q', { type: 'boolean' }],
  ]);
});
