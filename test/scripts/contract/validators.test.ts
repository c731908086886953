import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { transform } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { readOperations, type Schema } from '../../../scripts/contract/operations.ts';
import { compileValidators } from '../../../scripts/contract/validators.ts';
import { compiled, contractWith, jsonBody } from '../../kit/compiled-contract.ts';
import { run, temporaryFolder } from '../../kit/local-service.ts';

const text = { type: 'string' };

/** The bytes that a schema of text may add to a bundle, with values that the schema accepts, and others. */
const cases: [rule: Schema, bytes: number, valid: string[], invalid: string[]][] = [
  [{ maxLength: 2 }, 700, ['', 'ab', '🌱🌱'], ['abc', '🌱🌱🌱']],
  [
    { format: 'date' },
    500,
    ['2026-11-23', '2026-04-30', '2026-02-28', '2024-02-29', '2000-02-29', '0000-12-31'],
    [
      '',
      '2026-11-31',
      '2026-02-29',
      '1900-02-29',
      '2026-13-01',
      '2026-00-10',
      '2026-1-01',
      '2026-11-23T',
      '２026-11-23',
    ],
  ],
  [
    { format: 'time' },
    500,
    ['23:59:59Z', '00:00:00.123z', '12:30:00+05:30', '12:30:00-23:59'],
    ['12:30:00', '24:00:00Z', '12:60:00Z', '23:59:60Z', '12:30:00+24:00', '12:30:00+01', '12:30Z', ' 12:30:00Z'],
  ],
  [
    { format: 'date-time' },
    500,
    ['2026-11-23T21:09:00Z', '2024-02-29t00:00:00.5+01:00'],
    ['2026-11-23', '2026-02-29T00:00:00Z', '2026-11-23 21:09:00Z', '2026-11-23T21:09:00', '2026-11-23T25:00:00Z'],
  ],
  // Ajv's message about an enum refers to the whole schema around it.
  [{ enum: ['a', 'b'], description: 'A sentence. '.repeat(20) }, 700, ['a', 'b'], ['c', '']],
  [{ format: 'byte' }, 500, ['', 'YQ==', 'YWI=', 'YWJj', '+/+/'], ['Y', 'YQ', 'YQ=', 'YQ==YQ==', 'YW-_', 'YWJj\n']],
  [{ format: 'email' }, 500, ['a.b@c.example'], ['a@', 'a b@c.example', 'a']],
  [{ format: 'uuid' }, 500, ['123e4567-e89b-12d3-a456-426614174000'], ['123e4567e89b12d3a456426614174000', '']],
  [
    { format: 'uri' },
    1_500,
    ['https://a.example/b?c=d#e', 'urn:isbn:0451450523', 'mailto:a@b.example', 'http://[::1]:80/', 'a:'],
    ['', '/a', '//a.example', 'a', 'https://a b', 'https://a/%zz', 'https://a/"', ':a', '1:a'],
  ],
];

const bodyOf = (rule: Schema) => contractWith(jsonBody({ type: 'object', properties: { text: { ...text, ...rule } } }));

test.each(cases)('a generated validator checks text with the rule %j', async (rule, _, valid, invalid) => {
  const { validate } = await compiled(bodyOf(rule));
  const accepts = (value: string): boolean => validate({ pathParameters: { id: 1n }, body: { text: value } });
  expect({ valid: valid.filter(accepts), invalid: invalid.filter(accepts) }).toEqual({ valid, invalid: [] });
});

const sizeOf = async (rule: Schema): Promise<number> => {
  const { putThing = '' } = await compileValidators(bodyOf(rule), readOperations(bodyOf(rule)));
  return (await transform(putThing, { minify: true })).code.length;
};

test.each(cases)('the rule %j adds at most %i bytes to a bundle', async (rule, bytes) => {
  expect((await sizeOf(rule)) - (await sizeOf({}))).toBeLessThanOrEqual(bytes);
});

test('a generated module is the same whatever folder the project is in, even if node_modules is a link, as npm run diff makes it', async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const copy = path.join(folder, 'another', 'folder');
  for (const each of ['scripts', 'local/printable.ts']) await cp(each, path.join(copy, each), { recursive: true });
  await mkdir(path.join(copy, 'schemas'));
  for (const file of ['package.json', 'node_modules']) await symlink(path.resolve(file), path.join(copy, file));
  const properties = Object.fromEntries(cases.map(([rule], index) => [`text${index}`, { ...text, ...rule }]));
  const contract = contractWith(
    jsonBody({ type: 'object', properties: { ...properties, fixed: { const: { a: 1 } } } }),
  );
  await writeFile(path.join(copy, 'schemas/openapi.yaml'), stringify(contract));
  const compile = 'cd "$0" && exec "$1" scripts/compile-contract.ts';
  expect(await run('sh', ['-c', compile, copy, process.execPath]).ended).toEqual({ code: 0, stdout: '', stderr: '' });
  const there = await readFile(path.join(copy, 'functions/generated/put-thing.js'), 'utf8');
  const { putThing = '' } = await compileValidators(contract, readOperations(contract));
  expect(there.replace(/^.*\n\n/, '')).toBe(putThing);
});
