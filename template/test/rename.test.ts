/**
 * Tests `npm run rename` on short texts and a small repository. .ci/run also renames a copy of this project, and checks
 * that copy.
 */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { commitAll, git, run, testFolder } from '@lambda-service/testing/programs';
import { beforeEach, describe, expect, test } from 'vitest';
import { refuseCollisions } from '../rename/collisions.ts';
import { renamedPath, renamedSource } from '../rename/files.ts';
import { readNoun } from '../rename/noun.ts';

const customerOrder = readNoun('customer-order');
const inCode = (source: string) => renamedSource({ file: 'x.ts', source }, customerOrder);
const inDocument = (source: string) => renamedSource({ file: 'x.md', source }, customerOrder);
const inYaml = (source: string) => renamedSource({ file: 'x.yaml', source }, customerOrder);

test.each([
  ['order', 'orders'],
  ['category', 'categories'],
  ['customer-wish', 'customer-wishes'],
])('the plural of %s is %s, unless npm run rename gets another one', (singular, plural) => {
  expect(readNoun(singular)).toEqual({ singular, plural });
  expect(renamedPath('shop/plants/plant.ts', readNoun(singular, 'people'))).toBe(`shop/people/${singular}.ts`);
});

test.each([
  ['const plant = plants[0];', 'const customerOrder = customerOrders[0];'],
  ['const MAX_PLANTS = 1;', 'const MAX_CUSTOMER_ORDERS = 1;'],
  ["import x from '../plants/plant-table.ts';", "import x from '../customer-orders/customer-order-table.ts';"],
  ["const title = 'Plant Store';", "const title = 'Customer Order Store';"],
  ["throw Error('the plant is at most 400 KB');", "throw Error('the customer order is at most 400 KB');"],
  ["const scope = 'create:plants plants/create';", "const scope = 'create:customer-orders customer-orders/create';"],
  ["get(`/plants/` + plant.id, 'plant');", "get(`/customer-orders/` + customerOrder.id, 'customer-order');"],
  ['const folder = /^functions\\/(http|plants)\\//;', 'const folder = /^functions\\/(http|customer-orders)\\//;'],
  [
    '/** Plants at a time. @see plant.e2e.ts and createPlant(plant), Plant, `plant` */',
    '/** Customer orders at a time. @see customer-order.e2e.ts and createCustomerOrder(customerOrder), CustomerOrder, `customerOrder` */',
  ],
])('in code, a noun of two words turns %s into %s', (before, after) => {
  expect(inCode(before)).toBe(after);
});

test('a noun of two words has the same spelling in the contract as in the generated code', () => {
  expect(inYaml('paths:\n  /plants:\n    operationId: createPlant\n    plant:\n      $ref: "#/Plant"\n')).toBe(
    'paths:\n  /customer-orders:\n    operationId: createCustomerOrder\n    customerOrder:\n      $ref: "#/CustomerOrder"\n',
  );
});

test.each([
  [
    'order',
    "// Adds a plant. A Plant, a `plant`, a\n// plant and a NewPlant.\nconst s = 'a plant';",
    "// Adds an order. An Order, an `order`, an\n// order and a NewOrder.\nconst s = 'an order';",
  ],
  ['user', '// a plant', '// a user'],
])('the article before the new noun becomes "an" if necessary: %s', (name, before, after) => {
  expect(renamedSource({ file: 'x.ts', source: before }, readNoun(name))).toBe(after);
});

test('in a document, a rename changes text, names, code and links, but not the species of an example', () => {
  expect(inDocument('# Plant Store\n\nA plant is stored by createPlant, see [a plant](plant.md#a-plant).')).toBe(
    '# Customer Order Store\n\nA customer order is stored by createCustomerOrder, see [a customer order](customer-order.md#a-customer-order).',
  );
  expect(inDocument('It adds a\nplant. Call `add(plant, "a plant")`: Swiss cheese plants.')).toBe(
    'It adds a\ncustomer order. Call `add(customerOrder, "a customer order")`: Swiss cheese plants.',
  );
  expect(inDocument("```ts plants/a.ts\nconst plant = f('a plant'); // Plants here\n```\n")).toBe(
    "```ts customer-orders/a.ts\nconst customerOrder = f('a customer order'); // Customer orders here\n```\n",
  );
  expect(inDocument("```diff plants/a.ts\n-f('a plant', plant)\n```\n")).toBe(
    "```diff customer-orders/a.ts\n-f('a customer order', customerOrder)\n```\n",
  );
});

test.each<[what: string, nouns: string[], says: string]>([
  ['missing', [], 'Give a noun'],
  ['in capitals', ['Order'], 'Order is not a noun in lower case'],
  ['a plural alone', ['orders'], 'orders looks like a plural'],
  ['a plural like the singular', ['sheep', 'sheep'], 'a plural that differs'],
  ['a name with the old one in it', ['power-plant'], 'must not contain "plant"'],
  ['forbidden in a Cognito domain', ['law'], 'must not contain "aws"'],
  ['too long in the plural', ['a'.repeat(26)], 'at most 26'],
])('npm run rename refuses a new noun that is %s', (_, nouns, says) => {
  expect(() => readNoun(...nouns)).toThrow(says);
});

test('the longest noun makes no file name and no Cognito domain that is too long', async () => {
  const noun = readNoun('a'.repeat(25));
  const { stdout } = await run('git', ['ls-files']).ended;
  const names = stdout.split(/[\n/]/).map((name) => renamedPath(name, noun).length);
  expect(Math.max(...names)).toBeLessThanOrEqual(255);
  const file = 'packages/cdk/token-issuer.ts';
  const renamed = renamedSource({ file, source: await readFile(file, 'utf8') }, noun);
  const [, prefix = ''] = /domainPrefix: `([^`$]+)\$\{stackUuid\}`/.exec(renamed) ?? [];
  expect(`${prefix}${randomUUID()}`.length).toBeLessThanOrEqual(63);
});

test("the code of this project has no name in the way of README's noun", async () => {
  const { stdout } = await run('git', ['ls-files', '*.ts', '*.json']).ended;
  const files = stdout.trim().split('\n');
  const read = async (file: string) => ({ file, source: await readFile(file, 'utf8') });
  const sources = await Promise.all(files.filter((file) => !/^(?:packages|template)\//.test(file)).map(read));
  expect(await readFile('README.md', 'utf8')).toContain('npm run rename -- order');
  expect(() => refuseCollisions(sources, readNoun('order'))).not.toThrow();
});

test('nothing outside this folder imports it, because a renamed project does not have it', () => {
  // architecture.test.ts tests the imports in packages/, where the emulator has a folder of the same name.
  const search = ['grep', '-nE', "'(\\.\\./)+template/", '--', ':!template', ':!packages'];
  expect(spawnSync('git', search, { encoding: 'utf8' })).toMatchObject({ status: 1, stdout: '' });
});

describe('npm run rename', () => {
  let folder: string;
  const commit = async (file: string, text: string) => {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), text);
    commitAll(folder);
  };
  const script = path.resolve('template/rename.ts');
  const rename = (noun: string) =>
    run('sh', ['-c', 'cd "$0" && exec "$@"', folder, process.execPath, script, noun], {
      // Without this limit, git would search for a repository in the parents of the folder, too.
      GIT_CEILING_DIRECTORIES: path.dirname(folder),
    }).ended;
  const text = (file: string) => readFile(path.join(folder, file), 'utf8');
  const refusal = (says: string) => ({ code: 1, stdout: '', stderr: expect.stringContaining(says) });

  beforeEach(async () => {
    folder = await testFolder();
    git(folder, 'init', '--quiet');
    await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
    await writeFile(path.join(folder, '.git/info/exclude'), 'node_modules\n');
    await commit('tool/plant.ts', 'export const toItem = (plant: Plant) => ({ item: plant });\n');
    await commit('package.json', '{ "scripts": { "plant": "node tool/plant.ts", "bench": "" } }\n');
  });

  test('moves and rewrites files, and stages them, so that git can undo everything', async () => {
    expect(await rename('order')).toMatchObject({ code: 0, stderr: '' });
    expect(await text('tool/order.ts')).toContain('(order: Order)');
    expect(await text('package.json')).toContain('"order": "node tool/order.ts"');
    const staged = 'M  package.json\nA  tool/order.ts\nD  tool/plant.ts';
    expect(git(folder, 'status', '--porcelain', '--no-renames')).toBe(staged);
    git(folder, 'reset', '--quiet', '--hard');
    expect(await readdir(path.join(folder, 'tool'))).toEqual(['plant.ts']);
  });

  test('does not change the packages, pictures, the license or binary files', async () => {
    const files = ['packages/emulator/README.md', 'docs/images/start.svg', 'LICENSE', 'plant.png'];
    for (const file of files) await commit(file, file.endsWith('png') ? 'plant\0' : '`plant`');
    expect(await rename('order')).toMatchObject({ code: 0 });
    for (const file of files) expect(await text(file), file).toContain('plant');
  });

  test('removes the folder of the template, the scripts that run it, and what else refers to it', async () => {
    const scripts = { plant: 'node tool/plant.ts', rename: 'node template/rename.ts' };
    await commit('package.json', JSON.stringify({ scripts }));
    await commit('template/rename.ts', '');
    await commit('.ci/run', 'first\nif [ -e template ]; then step template/run > log 2>&1 & fi\nlast\n');
    for (const file of ['README.md', 'AGENTS.md'])
      await commit(file, '# A\n\n<!-- template -->\n## B\n\n[B](template)\n<!-- /template -->\n\n## C\n');
    expect(await rename('order')).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(await text('package.json'))).toEqual({ scripts: { order: 'node tool/order.ts' } });
    expect(await text('.ci/run')).toBe('first\nlast\n');
    expect(await text('README.md')).toBe('# A\n\n## C\n');
    expect(await text('AGENTS.md')).toBe('# A\n\n## C\n');
    expect(await readdir(folder)).not.toContain('template');
    expect(git(folder, 'status', '--porcelain')).not.toMatch(/^.[^ ]/m);
  });

  test("leaves the project at version 0.1.0 with none of the template's releases, ready for npm version", async () => {
    const files = ['package.json', 'package-lock.json', 'client/package.json', 'schemas/openapi.yaml'];
    for (const file of [...files, 'CHANGELOG.md', 'packages/tools/release/version.ts'])
      await commit(file, await readFile(file, 'utf8'));
    await commit('schemas/released/1.0.0.yaml', '');
    await commit('packages/contract/package.json', '{ "version": "1.0.0" }\n');
    expect(await rename('order')).toMatchObject({ code: 0, stderr: '' });
    const [root, { packages, ...lock }, client] = await Promise.all(
      files.slice(0, 3).map(async (file) => JSON.parse(await text(file))),
    );
    const versions = [root, client, lock, packages[''], packages['client']].map(({ version }) => version);
    expect(new Set(versions)).toEqual(new Set(['0.1.0']));
    expect(packages['packages/contract'].version).toBe('1.0.0');
    expect(await text('schemas/openapi.yaml')).toMatch(/^ {2}version: 0\.1\.0$/m);
    expect(await readdir(path.join(folder, 'schemas'))).toEqual(['openapi.yaml']);

    expect(await text('CHANGELOG.md')).toMatch(/\n## Unreleased\n$/);
    await commit('CHANGELOG.md', `${await text('CHANGELOG.md')}\n### Added\n\n- Orders.\n`);
    const release = path.join(folder, 'packages/tools/release/version.ts');
    expect(await run(process.execPath, [release], { npm_package_version: '1.0.0' }).ended).toMatchObject({ code: 0 });
    expect(await readdir(path.join(folder, 'schemas/released'))).toEqual(['1.0.0.yaml']);
  });

  test('lists, by file, what still speaks of plants, most first', async () => {
    await commit('README.md', 'Swiss cheese plant\n');
    await commit('docs/images/start.svg', 'Moss\nplants\n');
    const { stdout } = await rename('order');
    expect(stdout).toContain('by file:\n   2 docs/images/start.svg\n   1 README.md\n\n');
  });

  test.each<[what: string, noun: string, says: string]>([
    ['a reserved word', 'class', 'class is a reserved word'],
    ['the name of a property', 'item', 'the code uses item for something else'],
    ['the name of a global', 'map', 'the code uses Map'],
    ['the name of an npm script', 'bench', 'the code uses bench'],
    ['the name of a file', 'pot', 'the code uses tool/pot.ts'],
  ])('refuses %s as the new noun, and changes nothing', async (_, noun, says) => {
    await commit('tool/pot.ts', '');
    expect(await rename(noun)).toEqual(refusal(says));
    expect(git(folder, 'status', '--porcelain')).toBe('');
  });

  test('refuses to run with uncommitted changes, after an earlier rename, or in a folder without git', async () => {
    await writeFile(path.join(folder, 'new.txt'), '');
    expect(await rename('order')).toEqual(refusal('git status lists changes'));
    await commit('tool/plant.ts', 'export const order = 1;\n');
    expect(await rename('order')).toEqual(refusal('was it renamed before?'));
    await rm(path.join(folder, '.git'), { recursive: true });
    expect(await rename('order')).toEqual(refusal('not a git repository'));
  });
});
