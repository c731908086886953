import { execFileSync } from 'node:child_process';
import { cp, mkdtempDisposable, readFile, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { transform } from 'esbuild';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Schema } from '../document.ts';
import { readOperations } from '../operations.ts';
import { compileValidators } from '../validators.ts';
import { compiled, contractWith, jsonBody } from './kit/compiled-contract.ts';

const text = { type: 'string' };
const int64 = { type: 'integer', format: 'int64' };

/** The bytes that a schema of one value may add to a bundle, with values that the schema accepts, and others. */
const cases: [rule: Schema, bytes: number, valid: unknown[], invalid: unknown[]][] = [
  [
    int64,
    700,
    [0, Number.MAX_SAFE_INTEGER, 2n ** 63n - 1n, -(2n ** 63n)],
    // From 2^53 on, JavaScript may round a number, so that it differs from the integer in the request.
    [2n ** 63n, -(2n ** 63n) - 1n, Number.MAX_SAFE_INTEGER + 1, 0.5, Number.NaN, '1', null],
  ],
  [{ ...text, maxLength: 2 }, 700, ['', 'ab', '🌱🌱'], ['abc', '🌱🌱🌱', '\ud800']],
  [
    { ...text, format: 'date' },
    500,
    ['2026-11-23', '2026-04-30', '2026-02-28', '2024-02-29', '2000-02-29'],
    ['', '2026-11-31', '2026-02-29', '1900-02-29', '2026-13-01', '2026-00-10', '2026-1-01', '２026-11-23'],
  ],
  [
    { ...text, format: 'date-time' },
    500,
    ['2026-11-23T21:09:00Z', '2024-02-29t00:00:00.5+01:00', '2026-11-23T21:09:00.123456789-09:30'],
    ['2026-11-23', '2026-02-29T00:00:00Z', '2026-11-23 21:09:00Z', '2026-11-23T24:00:00Z', '2026-11-23T23:59:60Z'],
  ],
  [{ ...text, format: 'time' }, 500, ['21:09:00Z', '21:09:00.5z'], ['21:09:00', '21:09:00Z\n', 't21:09:00Z']],
  [{ type: ['number', 'null'], exclusiveMinimum: 0, exclusiveMaximum: 1 }, 700, [null, 0.5], [0, 1, 1n, '0.5']],
  [{ type: 'integer', const: 7 }, 700, [7, 7n], [8, '7']],
  // Ajv's message about an enum refers to the whole schema around it.
  [{ ...text, enum: ['a', 'b'], description: 'A sentence. '.repeat(20) }, 700, ['a', 'b'], ['c', '']],
  [{ ...text, format: 'byte' }, 500, ['', 'YQ==', 'YWI=', '+/+/'], ['Y', 'YQ=', 'YQ==YQ==', 'YW-_', 'YWJj\n']],
  [{ ...text, format: 'email' }, 500, ['a.b@c.example'], ['a@', 'a b@c.example', 'a']],
  [
    { ...text, format: 'uri' },
    1_500,
    ['https://a.example/b?c=d#e', 'urn:isbn:0451450523', 'http://[::1]:80/', 'a:'],
    ['', '//a.example', 'a', 'https://a b', 'https://a/%zz', 'https://a/"', ':a', '1:a'],
  ],
];

const bodyOf = (properties: Record<string, Schema>) => contractWith(jsonBody({ type: 'object', properties }));
const compile = async (properties: Record<string, Schema>): Promise<string> => {
  const contract = bodyOf(properties);
  return (await compileValidators(contract, readOperations(contract)))['putThing'] ?? '';
};

test.each(cases)('a generated validator checks a value with the rule %j', async (rule, _, valid, invalid) => {
  const { validate } = await compiled(bodyOf({ value: rule }));
  const accepts = (value: unknown): boolean => validate({ pathParameters: { id: 1n }, body: { value } });
  expect({ valid: valid.filter(accepts), invalid: invalid.filter(accepts) }).toEqual({ valid, invalid: [] });
});

const sizeOf = async (rule: Schema): Promise<number> =>
  (await transform(await compile({ value: rule }), { minify: true })).code.length;
const sizeOfText = await sizeOf(text);

test.each(cases)('the rule %j adds at most %i bytes to a bundle', async (rule, bytes) => {
  expect((await sizeOf(rule)) - sizeOfText).toBeLessThanOrEqual(bytes);
});

test('a generated module is the same whatever folder the project is in, even if node_modules is a link, as the command diff makes it', async () => {
  await using temporary = await mkdtempDisposable(path.join(os.tmpdir(), 'contract-'));
  const folder = temporary.path;
  await cp('packages/contract', path.join(folder, 'packages/contract'), { recursive: true });
  for (const file of ['package.json', 'node_modules']) await symlink(path.resolve(file), path.join(folder, file));
  const properties = {
    ...Object.fromEntries(cases.map(([rule], index) => [`value${index}`, rule])),
    fixed: { const: { a: 1 } },
  };
  await writeFile(path.join(folder, 'api.yaml'), stringify(bodyOf(properties)));
  execFileSync(process.execPath, ['packages/contract/main.ts', 'api.yaml', 'out'], { cwd: folder });
  const there = await readFile(path.join(folder, 'out/put-thing.js'), 'utf8');
  expect(there.replace(/^.*\n\n/, '')).toBe(await compile(properties));
});
