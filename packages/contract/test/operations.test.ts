import { expect, test } from 'vitest';
import type { Schema } from '../document.ts';
import { readOperations } from '../operations.ts';
import { compileTypes } from '../types.ts';
import { compileValidators } from '../validators.ts';
import { compiled, contractWith, head, jsonBody } from './kit/compiled-contract.ts';

const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
const query = { name: 'q', in: 'query', schema: { type: 'string' } };
const int64 = { type: 'integer', format: 'int64' };
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const oneItem = 'needs exactly one item in security, such as "- bearerAuth: [things/create]".';

test.each<[change: object, message: string]>([
  [{ operationId: 'put-thing' }, 'needs an operationId such as createThing.'],
  [{ operationId: 'contract' }, 'cannot have the operationId contract, because another file has that name.'],
  [{ callbacks: {} }, 'has callbacks, which is not supported.'],
  [{ security: undefined }, oneItem],
  [{ security: [{ bearerAuth: ['a'], apiKey: [] }] }, oneItem],
  [{ security: [{ bearerAuth: ['a'] }, {}] }, oneItem],
  [{ security: [{ bearerAuth: [] }] }, 'needs at least one scope in security.'],
  [{ security: [{ bearerAuth: ['two words'] }] }, 'requires "two words", which is not one OAuth 2.0 scope.'],
  [{ parameters: [] }, 'has the path parameters id, but declares none.'],
  [{ parameters: [id, { ...query, name: 'id' }] }, 'has two parameters with the name id.'],
  [{ parameters: [id, { ...query, in: 'cookie' }] }, 'has the parameter q in cookie, which is not supported.'],
  [{ parameters: [id, { ...query, style: 'form' }] }, 'has the parameter q with style, which is not supported.'],
  [{ parameters: [{ ...id, schema: undefined }] }, 'has the parameter id without a schema.'],
  ...['Accept', 'AUTHORIZATION', 'content-type'].map((name): [object, string] => [
    { parameters: [id, { ...query, in: 'header', name }] },
    `has the parameter ${name} in header, which OpenAPI ignores: remove it, as security, the body and the responses say what is sent.`,
  ]),
  ...['Cookie', 'transfer-encoding'].map((name): [object, string] => [
    { parameters: [id, { ...query, in: 'header', name }] },
    `has the parameter ${name} in header, which no event of API Gateway has: remove it.`,
  ]),
  ...['a b', 'Authorization ', 'a:b', 'é', 'a\n'].map((name): [object, string] => [
    { parameters: [id, { ...query, in: 'header', name }] },
    `has the parameter ${name} in header, which cannot be the name of a header: rename it.`,
  ]),
  [{ parameters: [{ ...id, name: 'toString' }] }, 'has the parameter toString, whose name is not supported.'],
  [{ requestBody: { content: {} } }, 'has a body that is not required, which is not supported.'],
  [
    { requestBody: { required: true, content: { 'text/plain': { schema: {} } } } },
    'has a request body that is not application/json with a schema.',
  ],
  [{ responses: { default: {} } }, 'has the response default, which is not supported.'],
])('the contract is refused with a clear message if the operation has %j', (change, message) => {
  expect(() => readOperations(contractWith(change))).toThrow(`PUT /things/{id} ${message}`);
});

const form =
  'cannot be a route of an HTTP API: write segments such as /things or /{id}, in ASCII, without %, ?, #, spaces and a / at the end.';

test.each<[paths: string[], message: string]>([
  ...['', 'a', '//a', '/a/', '/{id}/', '/{id}.json', '/v{id}', '/{id}{no}', '/a?b', '/a#b', '/a b', '/a%20b'].map(
    (path): [string[], string] => [[path], `The path ${path} ${form}`],
  ),
  ...['/ü', '/a/../b', '/.', '/{}', '/{proxy+}', '/{a b}', '/{id', '/id}', '/{{id}}', '/a\\b', 'https://a/b'].map(
    (path): [string[], string] => [[path], `The path ${path} ${form}`],
  ),
  [['/{id}/{id}'], 'The path /{id}/{id} has the parameter id twice: rename one.'],
  [['/a/{b}', '/a/{c}'], 'The path /a/{c} matches the same requests as /a/{b}: make them one path.'],
])('the contract is refused if it has the paths %j, which no HTTP API can have', (paths, message) => {
  const contract = { ...contractWith({}), paths: Object.fromEntries(paths.map((path) => [path, {}])) };
  expect(() => readOperations(contract)).toThrow(message);
});

test('a path may have text beside a variable of the same place, and the characters that need no escape', () => {
  const paths = ['/', '/a/b', '/a/{b}', '/{a}/b', '/.well-known/a:b', '/a/{b}/{c-d}', "/~a_b-c.d!$&'()*+,;=@e"];
  const contract = { ...contractWith({}), paths: Object.fromEntries(paths.map((path) => [path, {}])) };
  expect(readOperations(contract)).toEqual([]);
});

test('the contract is refused if it has another method, an operationId twice, or a reference that leads nowhere', () => {
  const [item = {}] = Object.values(contractWith({}).paths);
  const read = (paths: Record<string, Schema>) => () => readOperations({ ...head, paths, components: { schemas: {} } });
  expect(read({ '/x': { trace: {} } })).toThrow('/x has trace, which is not supported.');
  expect(read({ '/things/{id}': item, '/other/{id}': item })).toThrow(
    'Two operations have the operationId putThing: rename one.',
  );
  const gone = contractWith({ responses: { 200: { $ref: '#/components/responses/Gone' } } });
  expect(() => readOperations(gone)).toThrow('leads to #/components/responses/Gone, which does not exist: ');
});

const anywhere = 'The type number inside anyOf, oneOf, not, if, contains or the like';

test.each<[schema: Schema, what: string]>([
  [{ type: 'integer', multipleOf: 5 }, 'multipleOf of a number'],
  [{ type: ['integer', 'string'] }, 'The type integer or string'],
  [{ ...ref('Big'), maximum: 5 }, 'maximum beside a $ref to #/components/schemas/Big'],
  [{ type: 'string', nullable: true }, 'nullable'],
  [{ $id: 'a' }, '$id'],
  [{ type: 'array', prefixItems: [{}], items: false }, 'prefixItems without items: false and minItems: 1'],
  [{ type: 'array', prefixItems: [{}], minItems: 1 }, 'prefixItems without items: false and minItems: 1'],
  [
    { type: 'array', prefixItems: [{}, {}], items: {}, minItems: 2 },
    'prefixItems without items: false and minItems: 2',
  ],
  [{ properties: { n: { anyOf: [{ type: 'number' }, ref('Big')] } } }, anywhere],
  [{ contains: { properties: { n: { type: 'number' } } } }, anywhere],
  [
    { allOf: [{ properties: { n: ref('Big') } }], properties: { n: { type: 'number' } } },
    'The value n with both type number and format int64',
  ],
  [
    { allOf: [{ properties: { n: int64 } }, { additionalProperties: { type: 'number' } }] },
    'The value * with both type number and format int64',
  ],
  [{ type: 'integer', format: 'uint8' }, 'The format uint8 of type integer'],
  [{ properties: { n: { type: 'integer', multipleOf: 2 } } }, 'multipleOf of a number'],
  [{ properties: { n: { items: { type: 'string', default: '' } } } }, 'The default of n/*'],
  [{ ...int64, enum: [1] }, 'enum of an int64'],
  [{ type: 'number', minimum: '1' }, 'minimum: 1'],
  [{ ...int64, maximum: 2 ** 53 }, 'maximum with an integer beyond 2^53 - 1'],
  [{ const: { deep: [2 ** 53] } }, 'const with an integer beyond 2^53 - 1'],
  [{ items: { properties: JSON.parse('{"__proto__":{}}') } }, 'A field with the name __proto__'],
  [{ required: ['constructor'] }, 'A field with the name constructor'],
  [{ dependentRequired: { a: ['toString'] } }, 'A field with the name toString'],
])('the contract is refused if a body, which could not be checked in full, has the schema %j', async (schema, what) => {
  await expect(compiled(contractWith(jsonBody(schema), { Big: int64 }))).rejects.toThrow(`${what} is not supported.`);
});

test.each<[schemas: Record<string, Schema>]>([
  [{ A: { allOf: [ref('B')] }, B: ref('A') }],
  [{ A: { type: 'array', items: ref('A') } }],
  [{ A: { type: 'array', prefixItems: [ref('A')], items: false, minItems: 1 } }],
])('the contract is refused if a schema refers to itself, but not through a field of an object: %j', (schemas) => {
  expect(() => readOperations(contractWith({}, schemas))).toThrow('refers to itself.');
});

test('the schema of an object may refer to itself in a field, as in a tree', async () => {
  const children = { type: 'array', items: ref('Tree') };
  const contract = contractWith(jsonBody(ref('Tree')), { Tree: { type: 'object', properties: { children } } });
  expect(await compileTypes(contract, readOperations(contract))).toMatch(/interface Tree \{\s*children\?: Tree\[\]/);
  const { validate } = await compiled(contract);
  const event = (leaf: unknown) => ({ pathParameters: { id: 1n }, body: { children: [{ children: [leaf] }] } });
  expect([{}, 7].map((leaf) => validate(event(leaf)))).toEqual([true, false]);
});

const annotations = {
  ...{ 'x-note': null, xml: { name: 'a' }, externalDocs: { url: 'https://a.example' }, $comment: 'a' },
  ...{ discriminator: { propertyName: 'a' }, title: 'A', example: 1 },
};

test('words about a schema, a parameter, a path, an operation or a group of these change no type and no validator, wherever they stand', async () => {
  const sources = async (words: Schema) => {
    const number = { type: 'integer', ...words };
    const a = {
      anyOf: [
        { type: 'string', ...words },
        { ...ref('Word'), ...words },
      ],
      ...words,
    };
    const list = { type: 'array', items: number, ...words };
    const schema = { type: 'object', properties: { a, number, list }, additionalProperties: false, ...words };
    const q = { ...query, schema: { type: 'string', default: 'a', ...words } };
    const contract = contractWith(jsonBody(schema), { Word: { type: 'string', ...words }, Thing: schema });
    const extension = 'x-note' in words && { 'x-note': null };
    const item = contract.paths['/things/{id}'] ?? {};
    Object.assign(item, extension, { parameters: [{ ...id, ...extension }, q] });
    const responses = { ...extension, 200: { description: 'done' } };
    Object.assign(Object(item['put']), { ...extension, parameters: undefined, responses });
    for (const part of [contract.paths, contract.components]) Object.assign(part, extension);
    const operations = readOperations(contract);
    return [await compileTypes(contract, operations), await compileValidators(contract, operations)];
  };
  expect(await sources(annotations)).toEqual(await sources({}));
});

test('a number may be readOnly or writeOnly', async () => {
  const { validate } = await compiled(contractWith(jsonBody({ type: 'integer', readOnly: true, writeOnly: true })));
  expect([1, 'a'].map((body) => validate({ pathParameters: { id: 1n }, body }))).toEqual([true, false]);
});

const type = 'The parameter q has a type that is not supported.';
const standard = 'The default of the parameter q is not supported.';
const mismatch = "The default of the parameter q does not match the parameter's schema.";

test.each<[message: string, schema: Schema, place?: string]>([
  [type, { type: 'object' }],
  [type, { type: 'array', items: { type: 'string' } }, 'header'],
  [type, { type: 'array', items: { type: 'object' } }],
  [type, { type: 'array', prefixItems: [{ type: 'string' }], items: false, minItems: 1 }],
  [standard, { ...int64, default: 1 }],
  [standard, { type: 'array', items: { type: 'string' }, default: [] }],
  [standard, { ...ref('Word'), default: 'a' }],
  [mismatch, { type: 'integer', maximum: 5, default: 6 }],
])('the compiler says "%s" if that has the schema %j', async (message, schema, place = 'query') => {
  const contract = contractWith({ parameters: [id, { ...query, in: place, schema }] }, { Word: { type: 'string' } });
  await expect(compiled(contract)).rejects.toThrow(message);
});

test("readOperations follows references to responses and examples, for an operation's error numbers and headers", async () => {
  const json = { schema: {}, examples: { gone: { $ref: '#/components/examples/Gone' } } };
  const headers = { ETag: {}, 'Request-Id': {} };
  const responses = { 200: { headers }, 410: { $ref: '#/components/responses/Gone' } };
  const contract = contractWith({ responses });
  const Gone = { headers: { 'request-id': {}, 'Retry-After': {} }, content: { 'application/json': json } };
  Object.assign(contract.components, { responses: { Gone }, examples: { Gone: { value: { error: 41001 } } } });
  const operations = readOperations(contract);
  expect(operations[0]?.responses[1]).toMatchObject({ status: 410, errorCodes: [41001] });
  expect(await compileTypes(contract, operations)).toContain('= ["etag","request-id","retry-after"];\n');
});

test("a parameter of an operation overrides the path's parameter that has the same name and the same `in`", () => {
  const contract = contractWith({ parameters: [{ ...id, schema: { type: 'integer' } }] });
  Object.assign(contract.paths['/things/{id}'] ?? {}, { parameters: [id, query] });
  expect(readOperations(contract)[0]?.parameters.map(({ name, schema }) => [name, schema])).toEqual([
    ['id', { type: 'integer' }],
    ['q', { type: 'string' }],
  ]);
});
