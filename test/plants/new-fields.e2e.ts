/**
 * Delete this folder when the data is no longer plants.
 * Adds fields to the contract's plant in a copy of the project, and tests that the compiler names each place that must
 * handle them.
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type ProjectCopy, startIn } from '../../tools/release/project-copy.ts';
import { copyProject } from '../kit/copy-project.ts';
import { temporaryFolder } from '../kit/local-service.ts';

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

const never = new AbortController().signal;
let copy: ProjectCopy;
beforeAll(async () => {
  const { folder, remove } = await temporaryFolder();
  copy = await copyProject(folder, never);
  // Compile only the folders that handle plants, because the tests would take the compiler much longer.
  const project = { extends: './tsconfig.json', include: ['functions', 'infra', 'tools/cli'] };
  await writeFile(path.join(copy.folder, 'tsconfig.plants.json'), JSON.stringify(project));
  return remove;
});

/** Runs Node.js with these arguments in the copy of the project. */
const node = async (...args: string[]) => {
  const { ended, output } = startIn(copy, [process.execPath, ...args], never);
  return { code: await ended, output: output() };
};

const apply = async ([file, before, after]: Edit) => {
  const target = path.join(copy.folder, file);
  const parts = (await readFile(target, 'utf8')).split(before);
  expect(parts.length, `${file} contains ${before} once`).toBe(2);
  await writeFile(target, parts.join(after));
};

const compilerErrors = async (): Promise<string[]> => {
  const compile = [
    'node_modules/typescript/bin/tsc',
    '-p',
    'tsconfig.plants.json',
    '--pretty',
    'false',
    '--singleThreaded',
  ];
  return (await node(...compile)).output.split('\n').filter((line) => line.includes(': error '));
};

test('the compiler names each place that must handle new fields, and the table until its key fits the contract', async () => {
  await apply(contract);
  const key = '              type: integer\n              format: int64\n';
  await apply(['schemas/openapi.yaml', key, '              type: string\n']);
  const generated = await node('packages/contract/main.ts', 'schemas/openapi.yaml', 'functions/generated');
  expect(generated).toEqual({ code: 0, output: '' });
  const before = await compilerErrors();
  const named = before.filter((error) => fields.every((field) => error.includes(field)));
  const place = expect.stringMatching(/^functions\/plants\/plant-table\.ts\(/);
  expect(named).toEqual([place, place]);
  const ofTable = expect.stringContaining('infra/plants-table.ts');
  expect(before).toContainEqual(ofTable);
  await apply(['infra/plants-table.ts', '= AttributeType.NUMBER;', '= AttributeType.STRING;']);
  expect(await compilerErrors()).not.toContainEqual(ofTable);
});
