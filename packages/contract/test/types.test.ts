import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Contract, Schema } from '../document.ts';
import type { Operation } from '../operations.ts';
import { sourceHash } from '../source-hash.ts';
import { compileTypes } from '../types.ts';
import { head } from './kit/compiled-contract.ts';

const text = { type: 'string' };
const int64 = { type: 'integer', format: 'int64' };
const properties = { name: text, since: { type: 'integer', readOnly: true } };
const named = { $ref: '#/components/schemas/Named' };
const contractOf = (schemas: Record<string, Schema>): Contract => ({ ...head, paths: {}, components: { schemas } });
const contract = contractOf({ Id: int64, Named: { type: 'object', properties, required: ['name'] } });

/** Returns the generated source for a contract with one operation, which has the given `parts`. */
const typesOf = (parts: Partial<Operation>, of = contract): Promise<string> =>
  compileTypes(of, [{ id: 'tryIt', method: 'PUT', path: '/', scopes: [], parameters: [], responses: [], ...parts }]);

/** Returns what the generated constant `operations` says about the operation. */
const describeOperation = async (parts: Partial<Operation>): Promise<unknown> => {
  const [, json = ''] = /^export const operations = (\{.*\}) as const;$/ms.exec(await typesOf(parts)) ?? [];
  return JSON.parse(json).tryIt;
};

const response = (status: number, schema: Schema) => ({ status, headers: [], schema, errorCodes: [] });

test.each<[fields: object, body: Schema]>([
  [
    { a: 'int64', b: 'int64', c: 'int64[]' },
    { properties: { a: int64, b: { $ref: '#/components/schemas/Id' }, c: { type: 'array', items: int64 } } },
  ],
  [
    { a: 'string or null', b: 'any', c: 'int64 or null' },
    { properties: { a: { type: ['string', 'null'] }, b: {}, c: { ...int64, type: ['integer', 'null'] } } },
  ],
  [{ id: 'int64', name: 'string', since: 'integer' }, { allOf: [{ properties: { id: int64 } }, named] }],
  // If the generated contract lists no fields of a body, the client sends the body unchanged, so that no field is lost.
  [{}, { properties: { a: int64 }, additionalProperties: true }],
  [{}, { allOf: [named, { anyOf: [named, { properties: { a: int64 } }] }] }],
])('the generated contract for clients lists the fields %j for a body with the schema %j', async (fields, body) => {
  expect(await describeOperation({ body })).toHaveProperty('body', fields);
});

test('the generated contract for clients lists the parameters and the fields of a body that are required', async () => {
  const id = { name: 'id', in: 'path', required: true, schema: int64 } as const;
  expect(await describeOperation({ parameters: [id], body: { required: ['a'], allOf: [named] } })).toMatchObject({
    parameters: [{ name: 'id', in: 'path', type: 'int64', required: true }],
    requires: ['a', 'name'],
  });
});

test('in the generated types, an int64 may be a bigint even if the schema of the body is inline, without a name', async () => {
  const inline = { type: 'object', required: ['a'], properties: { a: int64 }, additionalProperties: false };
  const source = await typesOf({ body: inline, responses: [response(200, inline)] });
  for (const type of ['TryItEvent', 'TryItRequest', 'TryItResponses'])
    expect(source.replaceAll(/\s+/g, ' ')).toMatch(
      new RegExp(`interface ${type} { "?\\w+"?: { a: \\(number \\| bigint\\) }`),
    );
});

test.each<[schema: Schema, type: string]>([
  [{ type: 'array', items: { type: 'array', items: int64 } }, '(number | bigint)[][]'],
  [{ type: 'array', items: { ...int64, type: ['integer', 'null'] } }, '(number | bigint | null)[]'],
  [{ type: 'array', items: text, minItems: 1, maxItems: 3 }, 'string[]'],
  [
    { type: 'array', prefixItems: [text, int64, true], items: false, minItems: 3 },
    '[string, (number | bigint), unknown]',
  ],
  [{ type: ['array', 'null'], prefixItems: [text], items: false, minItems: 1 }, '([string] | null)'],
  [{ not: text, description: 'anything else' }, 'unknown'],
])('the schema %j has the generated type %s', async (list, type) => {
  expect(await typesOf({}, contractOf({ List: list }))).toContain(`export type List = ${type}\n`);
});

test.each(['thing', 'A-b', 'TryItEvent', 'Operations', 'ErrorBody'])('no schema may be called %s', async (name) => {
  await expect(typesOf({ body: {} }, contractOf({ Error: {}, [name]: {} }))).rejects.toThrow(
    `The schema ${name} needs another name, which must be like NewThing.`,
  );
});

test('a generated type has the name of its schema, even if the schema or a field has a title, and if a description stands beside a reference', async () => {
  const titled = { title: 'A green thing', type: 'object', properties: { pot: { title: 'Pot', type: 'string' } } };
  const described = { type: 'object', properties: { a: { $ref: '#/components/schemas/Pot', description: 'A pot.' } } };
  const schemas = { Titled: titled, Described: described, Pot: text };
  const source = (await typesOf({}, contractOf(schemas))).replaceAll(/\s+/g, ' ');
  expect(source).toContain('interface Titled { pot?: string }');
  expect(source).toContain('interface Described { /** * A pot. */ a?: Pot }');
  expect(source).toContain('export type Pot = string ');
});

test('the generated contract lists the fields that a response requires, and those that repeat the request, unless they are readOnly', async () => {
  const responses = [response(200, named), response(201, { type: 'array', items: named })];
  expect(await describeOperation({ body: named, responses })).toHaveProperty('responses', [
    { status: 200, types: ['object'], requires: ['name'], repeats: ['name'] },
    { status: 201, types: ['array'], requires: [], repeats: [] },
  ]);
});

test('the comment generated for an operation has its summary and its route, and no end of a comment inside it', async () => {
  expect(await typesOf({})).toContain('  /** tryIt: `PUT /` */\n  tryIt: {');
  expect(await typesOf({ summary: 'Try */ it' })).toContain('  /** Try *\\/ it: `PUT /` */\n');
});

test('the hash of the sources changes with the document, and only with it as long as the generator is the same', async () => {
  await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'contract-'));
  const document = path.join(folder.path, 'openapi.yaml');
  const hashes: string[] = [];
  for (const text of ['paths: {}', 'paths:', 'paths: {}']) {
    await writeFile(document, text);
    hashes.push(sourceHash(document));
  }
  expect(hashes[1]).not.toBe(hashes[0]);
  expect(hashes[2]).toBe(hashes[0]);
});
