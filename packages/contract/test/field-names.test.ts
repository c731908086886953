/** Tests that a field may have the name of a keyword: nothing may take the fields of a schema for its keywords. */
import { execFileSync } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { breaksOf } from '../compatibility.ts';
import type { Schema } from '../document.ts';
import { readOperations } from '../operations.ts';
import { compileTypes } from '../types.ts';
import { compiled, contractWith, jsonBody } from './kit/compiled-contract.ts';

const names = [
  ...Object.keys(new Ajv2020().RULES.keywords),
  // Keywords of older drafts, of OpenAPI, of json-schema-to-typescript, and our own.
  ...['definitions', 'extends', 'tsType', 'tsEnumNames', 'name', 'nullable', 'example', 'xml', 'externalDocs'],
  ...['components', 'range', 'wellFormed', 'prototype', 'length'],
];

/** Names of schemas that are also global types or values. */
const globals = ['Error', 'Date', 'Array', 'Object', 'Promise', 'Partial', 'Awaited', 'Schema', 'Thing_part'];

const text = { type: 'string' };

const objectOf = (properties: Record<string, Schema>, required: string[]): Schema => ({
  type: 'object',
  required,
  properties,
  additionalProperties: false,
});

/** A schema for each name. Its field of that name is required, and another is optional, in the object `nested`. */
const schemas = Object.fromEntries([
  ...names.map((name, index): [string, Schema] => {
    const data = { const: { [name]: { [name]: {} } }, example: { [name]: {} } };
    const nested = { ...objectOf({ [name]: text, data }, []), if: objectOf({ [name]: text }, []), else: {} };
    return [`Field${index}`, objectOf({ [name]: text, nested }, [name, 'nested'])];
  }),
  ...globals.map((name): [string, Schema] => [name, objectOf({ own: text }, ['own'])]),
]);
const whole = objectOf(
  Object.fromEntries(Object.keys(schemas).map((name) => [name, { $ref: `#/components/schemas/${name}` }])),
  [],
);
const response = { description: 'done', content: { 'application/json': { schema: whole } } };
const contract = contractWith({ ...jsonBody(whole), responses: { 200: response } }, schemas);

/** TypeScript that compiles only if the type `of` has exactly the fields of a schema with a field `name`. */
const uses = (of: string, name: string): string => {
  const field = JSON.stringify(name);
  return `
    export const _ = {
      full: { ${field}: '', nested: { ${field}: '' } } satisfies ${of},
      // @ts-expect-error ${field} is required.
      missing: { nested: {} } satisfies ${of},
      // @ts-expect-error ${field} is text.
      other: { ${field}: 1, nested: {} } satisfies ${of},
      fields: { ${field}: 1, nested: 1 } satisfies Record<keyof ${of}, 1>,
      nested: { ${field}: 1, data: 1 } satisfies Record<keyof ${of}['nested'], 1>,
    };`;
};

test('in the generated types of a body and of a response, a field with the name of a keyword has its own type', async () => {
  await using temporary = await mkdtempDisposable(path.join(os.tmpdir(), 'contract-'));
  const folder = temporary.path;
  const [operation] = readOperations(contract);
  const types = await compileTypes(contract, operation ? [{ ...operation, id: 'put2things' }] : []);
  await writeFile(path.join(folder, 'contract.ts'), types);
  const sources = ['body', 'response'].flatMap((part) => {
    const of = (schema: string) => `NonNullable<Operations['put2things']['${part}']['${schema}']>`;
    const values = globals.map((name) => `export const ${part}${name}: ${of(name)} = { own: '' };`);
    const fields = names.map((name, index) => uses(of(`Field${index}`), name).replace('_', `${part}${index}`));
    return [...values, ...fields];
  });
  const importing = "import type { Operations } from './contract.ts';\n";
  const file = path.join(folder, 'uses.ts');
  await writeFile(file, importing + sources.join('\n'));
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--exactOptionalPropertyTypes', '--types', '', '--pretty'];
  const args = [...options, 'false', '--allowImportingTsExtensions', '--module', 'nodenext', '--target', 'es2024'];
  // If a line does not compile, this throws.
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...args, file], { stdio: 'inherit' });
});

test('the generated validator checks a field with the name of a keyword', async () => {
  const { validate } = await compiled(contract);
  const verdicts = names.map((name, index) => {
    const accepts = (value: string) => {
      const body = JSON.parse(`{"Field${index}":${value.replaceAll('"?"', JSON.stringify(name))}}`);
      return validate({ pathParameters: { id: 1n }, body });
    };
    const bodies = ['{"?":"","nested":{"?":""}}', '{"nested":{}}', '{"?":1,"nested":{}}', '{"?":"","nested":{"?":1}}'];
    return [name, ...bodies.map(accepts)];
  });
  expect(verdicts).toEqual(names.map((name) => [name, true, false, false, false]));
});

test('the comparison of contracts finds no change in an unchanged contract with these fields', () => {
  expect(breaksOf(contract, structuredClone(contract))).toEqual([]);
});
