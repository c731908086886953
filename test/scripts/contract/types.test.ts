import { expect, test } from 'vitest';
import type { Contract, Operation, Schema } from '../../../scripts/contract/operations.ts';
import { compileTypes } from '../../../scripts/contract/types.ts';

const text = { type: 'string' };
const int64 = { type: 'integer', format: 'int64' };
const schemas: Record<string, Schema> = {
  Id: int64,
  Named: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
const named = { $ref: '#/components/schemas/Named' };
const contract: Contract = { paths: {}, components: { schemas } };

/**
 * Returns the source of functions/generated/contract.ts for a contract with one operation, which has the given `parts`.
 */
const typesOf = (parts: Partial<Operation>, of = contract): Promise<string> =>
  compileTypes(of, [{ id: 'tryIt', method: 'PUT', path: '/', scopes: [], parameters: [], responses: [], ...parts }]);

/**
 * Returns the entry in the constant `operations` of functions/generated/contract.ts for an operation that has the given
 * `parts` in the contract, such as parameters.
 */
const describeOperation = async (parts: Partial<Operation>): Promise<unknown> => {
  const [, json = ''] = /^export const operations = (\{.*\}) as const;$/ms.exec(await typesOf(parts)) ?? [];
  return JSON.parse(json).tryIt;
};

test.each<[fields: object, body: Schema]>([
  [
    { a: 'int64', b: 'int64', c: 'int64' },
    { properties: { a: int64, b: { $ref: '#/components/schemas/Id' }, c: { type: 'array', items: int64 } } },
  ],
  [
    { a: 'string or null', b: 'integer', c: 'any' },
    { properties: { a: { type: ['string', 'null'] }, b: { type: 'integer' }, c: {} } },
  ],
  [
    { id: 'int64', name: 'string' },
    { allOf: [{ properties: { id: int64 } }, named], additionalProperties: false },
  ],
  // If the generated contract lists no fields of a body, the client sends the body unchanged, so that no field is lost.
  [{}, { properties: { a: int64 }, additionalProperties: true }],
  [{}, { allOf: [named, { anyOf: [named, { properties: { a: int64 } }] }] }],
  [{}, { type: 'array', items: named }],
])('the generated contract for clients lists the fields %j for a body with the schema %j', async (fields, body) => {
  expect(await describeOperation({ body })).toHaveProperty('body', fields);
});

test('the generated contract for clients lists no body fields for an operation without a request body', async () => {
  expect(await describeOperation({})).not.toHaveProperty('body');
});

test('in the generated types, an int64 may be a bigint even if the schema of the body is inline, without a name', async () => {
  const inline = { type: 'object', required: ['a'], properties: { a: int64 }, additionalProperties: false };
  const source = await typesOf({
    body: inline,
    responses: [{ status: 200, headers: [], schema: inline, errorCodes: [] }],
  });
  for (const type of ['TryItEvent', 'TryItRequest', 'TryItResponses'])
    expect(source.replaceAll(/\s+/g, ' ')).toMatch(
      new RegExp(`interface ${type} { "?\\w+"?: { a: \\(number \\| bigint\\) }`),
    );
});

test.each<[schema: Schema, type: string]>([
  [{ type: 'array', items: int64 }, '(number | bigint)[]'],
  [{ type: 'array', items: int64, minItems: 1 }, '(number | bigint)[]'],
  [{ type: 'array', items: { type: 'array', items: int64 } }, '(number | bigint)[][]'],
  [{ type: 'array', items: { ...int64, type: ['integer', 'null'] } }, '(number | bigint | null)[]'],
])('the schema %j has the generated type %s', async (list, type) => {
  expect(await typesOf({}, { ...contract, components: { schemas: { List: list } } })).toContain(
    `export type List = ${type}\n`,
  );
});

test('a list is an array in the generated types, even if the contract limits its length', async () => {
  const list = { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3 };
  const schemas = { List: list, Lists: { type: 'array', maxItems: 2 } };
  const source = await typesOf({}, { ...contract, components: { schemas } });
  expect(source).toContain('export type List = string[]\n');
  expect(source).toContain('export type Lists = unknown[]\n');
});

test.each(['plant', 'A-b', 'TryItEvent', 'TryItParameters', 'TryItRequest', 'Operations', 'Record', 'ErrorBody'])(
  'the contract is refused if a schema has the name %s',
  async (name) => {
    const names = ['Error', name];
    const wrong = { ...contract, components: { schemas: Object.fromEntries(names.map((each) => [each, {}])) } };
    await expect(typesOf({ body: {} }, wrong)).rejects.toThrow(
      `The schema ${name} in schemas/openapi.yaml needs another name, which must be like NewPlant.`,
    );
  },
);

test('a generated type has the name of its schema, even if the schema or a field has a title, and if a description stands beside a reference', async () => {
  const plant = { title: 'A green thing', type: 'object', properties: { pot: { title: 'Pot', type: 'string' } } };
  const twice = { type: 'object', properties: { a: { $ref: '#/components/schemas/Pot', description: 'A pot.' } } };
  const titled = { ...contract, components: { schemas: { Plant: plant, Twice: twice, Pot: text } } };
  const source = (await typesOf({}, titled)).replaceAll(/\s+/g, ' ');
  expect(source).toContain('interface Plant { pot?: string }');
  expect(source).toContain('interface Twice { /** * A pot. */ a?: Pot }');
  expect(source).toContain('export type Pot = string ');
});

test('for each response body, the generated contract for clients lists its types and required fields; if the request body has the same schema, it also lists the fields that must repeat those of the request: all but the readOnly ones', async () => {
  const schema = { $ref: '#/components/schemas/Known' };
  const properties = { name: { type: 'string' }, since: { type: 'integer', readOnly: true } };
  schemas['Known'] = { type: 'object', properties, required: ['name', 'since'] };
  const responses = [
    { status: 200, headers: [], schema, errorCodes: [] },
    { status: 201, headers: [], schema: { type: 'array', items: schema }, errorCodes: [] },
  ];
  expect(await describeOperation({ body: schema, responses })).toHaveProperty('responses', [
    { status: 200, types: ['object'], requires: ['name', 'since'], repeats: ['name'] },
    { status: 201, types: ['array'], requires: [], repeats: [] },
  ]);
});

test.each<[what: string, comment: string, parts: Partial<Operation>]>([
  ['only its route if the contract has no examples', 'tryIt: `PUT /`', { body: named }],
  [
    'its summary and a call with the first body that YAML has not rounded',
    'Try it: `PUT /` @example const result = await client.tryIt({"id":1});',
    { summary: 'Try it', body: named, examples: [{ id: 2 ** 53 }, { id: 1 }] },
  ],
  [
    'a call with the required parameters',
    'tryIt: `PUT /` @example const result = await client.tryIt({"a":"x"});',
    {
      parameters: [
        { name: 'a', in: 'query', required: true, schema: text, example: 'x' },
        { name: 'b', in: 'query', required: false, schema: text, example: 'y' },
      ],
    },
  ],
  [
    'only its route if the example of a parameter is rounded',
    'tryIt: `PUT /`',
    { parameters: [{ name: 'a', in: 'query', required: true, schema: int64, example: 2 ** 53 }] },
  ],
  ['no end of a comment inside it', 'Try *\\/ it: `PUT /`', { summary: 'Try */ it', body: named }],
])('the comment generated for an operation of the client contains %s', async (_, comment, parts) => {
  expect(await typesOf(parts)).toContain(`  /** ${comment} */\n  tryIt: {`);
});
