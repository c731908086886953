/**
 * Delete this folder when the data is no longer plants.
 * Adds fields to the contract's plant in a copy of the project, and tests that the compiler names each place that must
 * handle them.
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { copyProject } from '@lambda-service/testing/copy-project';
import { fileFolder } from '@lambda-service/testing/programs';
import { startIn } from '@lambda-service/tools/checkouts';
import { expect, test } from 'vitest';

const fields = ['evergreen', 'colours', 'light'];

type Edit = [file: string, before: string, after: string];

const contract: Edit = [
  'schemas/openapi.yaml',
  '          description: The rules for `name` apply to `tag`, too.\n',
  `          description: The rules for \`name\` apply to \`tag\`, too.
        evergreen: { type: boolean }
        colours: { type: array, items: { type: string } }
        light: { type: number, minimum: 0, maximum: 100 }
`,
];

/** A copy of infra/plants-table.ts, whose key fits the changed contract. */
const fitting = 'fitting-table.ts';

const never = new AbortController().signal;
const copy = await copyProject(await fileFolder());
// Compile only the folders that handle plants, because the tests would take the compiler much longer.
const project = { extends: './tsconfig.json', include: ['functions', 'infra', 'packages/tools/cli'] };
await writeFile(path.join(copy.folder, 'tsconfig.plants.json'), JSON.stringify(project));

/** Runs Node.js with these arguments in the copy of the project. */
const node = async (...args: string[]) => {
  const { ended, output } = startIn(copy, [process.execPath, ...args], never);
  return { code: await ended, output: output() };
};

/** Writes a file of the copy, changed by an edit, to `target`. */
const apply = async ([file, before, after]: Edit, target = file) => {
  const parts = (await readFile(path.join(copy.folder, file), 'utf8')).split(before);
  expect(parts.length, `${file} contains ${before} once`).toBe(2);
  await writeFile(path.join(copy.folder, target), parts.join(after));
};

test('the compiler names each place that must handle new fields, and the table unless its key fits the contract', async () => {
  await apply(contract);
  const key = '              type: integer\n              format: int64\n';
  await apply(['schemas/openapi.yaml', key, '              type: string\n']);
  await apply(['infra/plants-table.ts', '= AttributeType.NUMBER;', '= AttributeType.STRING;'], `infra/${fitting}`);
  const generated = await node('packages/contract/main.ts', 'schemas/openapi.yaml', 'functions/generated');
  expect(generated).toEqual({ code: 0, output: '' });
  const compiler = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.plants.json', '--pretty', 'false'];
  const { output } = await node(...compiler, '--singleThreaded');
  const errors = output.split('\n').filter((line) => line.includes(': error '));
  const named = errors.filter((error) => fields.every((field) => error.includes(field)));
  const place = expect.stringMatching(/^functions\/plant-table\.ts\(/);
  expect(named).toEqual([place, place]);
  expect(errors).toContainEqual(expect.stringContaining('infra/plants-table.ts'));
  expect(errors).not.toContainEqual(expect.stringContaining(fitting));
});
