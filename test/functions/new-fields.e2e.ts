/**
 * Adds fields to the contract's plant in a copy of the project, and tests that the compiler names each place that must
 * handle them.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { proxyEvent } from '../kit/gateway-events.ts';
import { lambdaEnvironment } from '../kit/in-process.ts';
import { run, temporaryFolder } from '../kit/local-service.ts';
import { startPlantsStore } from '../kit/plants-store.ts';

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

const handled: Edit[] = [
  ['functions/plants/plant.ts', '({ name, tag }: NewPlant)', '({ name, tag, evergreen, colours, light }: NewPlant)'],
  ['functions/plants/plant.ts', '=> ({ name, tag })', '=> ({ name, tag, evergreen, colours, light })'],
  ['functions/plants/plant-table.ts', '({ id, name, tag }:', '({ id, name, tag, evergreen, colours, light }:'],
  [
    'functions/plants/plant-table.ts',
    '  tag: tag === undefined ? undefined : { S: tag },\n',
    `  tag: tag === undefined ? undefined : { S: tag },
  evergreen: evergreen === undefined ? undefined : { BOOL: evergreen },
  colours: colours === undefined ? undefined : { L: colours.map((S) => ({ S })) },
  light: light === undefined ? undefined : { N: String(light) },
`,
  ],
  [
    'tools/cli/plant.ts',
    "  tag: new Option('--tag <text>', 'any text'),\n",
    `  tag: new Option('--tag <text>', 'any text'),
  evergreen: new Option('--evergreen'),
  colours: new Option('--colours <text...>'),
  light: new Option('--light <number>').argParser(Number),
`,
  ],
];

let copy: Awaited<ReturnType<typeof temporaryFolder>>;
let store: Awaited<ReturnType<typeof startPlantsStore>>;
beforeAll(async () => {
  [copy, store] = await Promise.all([temporaryFolder(), startPlantsStore('plants')]);
  const listed = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { encoding: 'utf8' });
  for (const file of listed.split('\0').filter((each) => each !== '' && existsSync(each)))
    await cp(file, path.join(copy.folder, file));
  await symlink(path.resolve('node_modules'), path.join(copy.folder, 'node_modules'));
  // Compile only the folders that handle plants: for the whole project, the compiler needs four times as long.
  const project = { extends: './tsconfig.json', include: ['functions', 'tools/cli'] };
  await writeFile(path.join(copy.folder, 'tsconfig.plants.json'), JSON.stringify(project));
});
afterAll(() => Promise.all([copy.remove(), store.close()]));

/** Runs Node.js with these arguments in the copy of the project. */
const node = (environment: Record<string, string>, ...args: string[]) =>
  run('sh', ['-c', 'cd "$0" && exec "$@"', copy.folder, process.execPath, ...args], environment).ended;

const apply = async ([file, before, after]: Edit) => {
  const target = path.join(copy.folder, file);
  const parts = (await readFile(target, 'utf8')).split(before);
  expect(parts.length, `${file} contains ${before} once`).toBe(2);
  await writeFile(target, parts.join(after));
};

/**
 * Returns the errors that the compiler reports after the new fields were added to the contract: for each, the file, and
 * which of these fields its message names.
 */
const namedByCompiler = async (): Promise<[file: string, fields: string[]][]> => {
  const compile = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.plants.json', '--pretty', 'false'];
  const { stdout } = await node({}, ...compile);
  const errors = stdout.split('\n').filter((line) => line.includes(': error '));
  return errors.map((error) => [error.replace(/\(.*/, ''), fields.filter((field) => error.includes(field))]);
};

/** Invokes createPlant in the copy of the project. @returns the status and the body of the response, as text */
const create = async (plant: object) => {
  const code = `
    const { handler } = await import('./functions/create-plant.lambda.ts');
    console.info = () => {};
    const context = { getRemainingTimeInMillis: () => 5_000 };
    const { statusCode, body } = await handler(JSON.parse(process.env.EVENT), context);
    console.log(statusCode, body);`;
  const EVENT = JSON.stringify(proxyEvent(JSON.stringify(plant)));
  const environment = { ...lambdaEnvironment(store.endpoint), EVENT };
  const { stdout, stderr } = await node(environment, '--input-type=module', '--eval', code);
  return stdout + stderr;
};

test('the compiler names each file that must handle new fields; once these files do, createPlant stores and returns the fields, and accepts the same plant again', async () => {
  await apply(contract);
  const generated = await node({}, 'packages/contract/main.ts', 'schemas/openapi.yaml', 'functions/generated');
  expect(generated).toMatchObject({ code: 0, stderr: '' });
  const places = ['tools/cli/plant.ts', 'functions/plants/plant-table.ts', 'functions/plants/plant.ts'];
  const named = await namedByCompiler();
  for (const place of places) expect(named).toContainEqual([place, fields]);

  for (const edit of handled) await apply(edit);
  // This test adds the new fields only to the code of createPlant and of the command line, so the code of other
  // operations may still have compiler errors; no other code may.
  expect(await namedByCompiler()).toHaveLength(named.length - places.length);
  const plant = { name: 'Moss', evergreen: false, colours: ['green', ''], light: 12.5 };
  expect(await create({ id: 1, ...plant })).toBe(`200 ${JSON.stringify(plant)}\n`);
  expect(await store.read('1')).toMatchObject({ evergreen: { BOOL: false }, light: { N: '12.5' } });
  expect(await create({ id: 1, ...plant }), 'the same plant again').toBe(`200 ${JSON.stringify(plant)}\n`);
  expect(await create({ id: 1, ...plant, colours: ['', 'green'] })).toContain('"error":40901');
  // DynamoDB refuses numbers so close to zero, which a schema cannot say.
  expect(await create({ id: 2, ...plant, light: 1e-200 })).toMatch(/^400 .*"error":40002,"message":"every number must/);
});
