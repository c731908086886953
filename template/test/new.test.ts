/** Tests `npm run new` on short texts, and what it refuses. template/run also makes a service, and checks that. */
import { spawnSync } from 'node:child_process';
import { hash, randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { commitAll, git, run, testFolder } from '@lambda-service/testing/programs';
import { expect, test } from 'vitest';
import { refuseCollisions } from '../new/collisions.ts';
import { renamedPath, renamedSource } from '../new/files.ts';
import { lockFor, manifestsFor } from '../new/manifest.ts';
import { readNoun } from '../new/noun.ts';
import { forService } from '../new/platform.ts';
import { readFiles, starterFor } from '../new/sources.ts';
import { listFiles } from '../project.ts';

const customerOrder = readNoun('customer-order');
const inCode = (source: string) => renamedSource({ file: 'x.ts', source }, customerOrder);
const inDocument = (source: string) => renamedSource({ file: 'x.md', source }, customerOrder);
const inYaml = (source: string) => renamedSource({ file: 'x.yaml', source }, customerOrder);

test.each([
  ['order', 'orders'],
  ['category', 'categories'],
  ['customer-wish', 'customer-wishes'],
])('the plural of %s is %s, unless npm run new gets another one', (singular, plural) => {
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

test('in a document, the new noun changes text, names, code and links, but not the species of an example', () => {
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
])('npm run new refuses a new noun that is %s', (_, nouns, says) => {
  expect(() => readNoun(...nouns)).toThrow(says);
});

test('the longest noun makes no file name and no Cognito domain that is too long', async () => {
  const noun = readNoun('a'.repeat(25));
  const names = listFiles().flatMap((file) => file.split('/').map((name) => renamedPath(name, noun).length));
  expect(Math.max(...names)).toBeLessThanOrEqual(255);
  const file = 'packages/cdk/token-issuer.ts';
  const renamed = renamedSource({ file, source: await readFile(file, 'utf8') }, noun);
  const [, prefix = ''] = /domainPrefix: `([^`$]+)\$\{stackUuid\}`/.exec(renamed) ?? [];
  expect(`${prefix}${randomUUID()}`.length).toBeLessThanOrEqual(63);
});

test("the code of this project has no name in the way of README's noun", async () => {
  const files = listFiles('*.ts', '*.json');
  const read = async (file: string) => ({ file, source: await readFile(file, 'utf8') });
  const sources = await Promise.all(files.filter((file) => !/^(?:packages|template)\//.test(file)).map(read));
  expect(await readFile('README.md', 'utf8')).toContain('npm run new -- ../orders order');
  expect(() => refuseCollisions(sources, readNoun('order'))).not.toThrow();
});

test('a new service names the files of the packages where npm installs them', () => {
  const there = (source: string) => forService('x/a.ts', source, new Set());
  expect(there('in `packages/cdk/settings.ts`')).toBe('in `node_modules/@lambda-service/cdk/src/settings.ts`');
  expect(there('npx node packages/cdk/edge.ts')).toBe('npx node node_modules/@lambda-service/cdk/dist/edge.js');
  expect(there('(packages/emulator/differences.md)')).toBe('(node_modules/http-api-emulator/differences.md)');
  expect(there('`packages/runtime/dynamodb/`')).toBe('`node_modules/@lambda-service/runtime/src/dynamodb/`');
  expect(there('[`packages/runtime/`]')).toBe('[`node_modules/@lambda-service/runtime/`]');
});

test('a document of a new service links only to files that it has, and has no pictures of ours', () => {
  const there = (source: string) => forService('texts/a.md', source, new Set(['texts/b.md', 'tests/c.ts']));
  const kept = '[b](b.md#x), [c](../tests), [d](../packages/cdk/README.md), [e](https://e.example)';
  expect(there(kept)).toBe(kept.replace('packages/', 'node_modules/@lambda-service/'));
  expect(there('[what was proved](prove.md#here) ![a picture](images/a.png)')).toBe('what was proved a picture');
  const external = '[e](https://e.example) at first.\n\n[f](https://f.example/a#b), see [here](#x)';
  expect(there(external)).toBe(external);
});

test('a file of ours that a new service has otherwise must be as expected', () => {
  expect(() => forService('tsconfig.json', '{}', new Set())).toThrow('tsconfig.json does not have /"packages", /');
});

test('a clone has the line ends of the commit even if core.autocrlf is set, and so has one of a new service or of an older one', async () => {
  const folder = await testFolder();
  const { '.gitattributes': attributes = '' } = starterFor().files;
  expect(readFiles()).toContainEqual({ file: '.gitattributes', source: await readFile('.gitattributes', 'utf8') });
  git(folder, 'init', '--quiet');
  for (const [file, text] of Object.entries({ '.gitattributes': attributes, 'a.sh': '#!/bin/sh\n', 'a.tgz': 'a\n' }))
    await writeFile(path.join(folder, file), text);
  commitAll(folder);
  git(folder, '-c', 'core.autocrlf=true', 'clone', '--quiet', '.', 'clone');
  expect(await readFile(path.join(folder, 'clone/a.sh'), 'utf8')).toBe('#!/bin/sh\n');
  expect(await readFile(path.join(folder, 'clone/a.tgz'), 'utf8')).toBe('a\n');
});

test('the contract of a new service has the version before a first release', () => {
  expect(forService('schemas/openapi.yaml', 'info:\n  version: 1.2.3\n', new Set())).toContain('  version: 0.1.0\n');
});

const packed = [
  { tarball: 'cdk.tgz', manifest: { name: '@lambda-service/cdk', version: '1.0.0-1.h2', exports: '.' } },
].map((each) => ({ ...each, manifest: { ...each.manifest, peerDependencies: { 'aws-cdk-lib': '^2.0.0' } } }));

test('the manifest of a new service names each package in vendor/, pins what the packages ask for, and has none of our scripts', () => {
  const { 'package.json': text = '' } = manifestsFor('.', packed);
  const { devDependencies, scripts, version } = JSON.parse(text);
  expect(devDependencies).toMatchObject({
    '@lambda-service/cdk': 'file:vendor/cdk.tgz',
    'aws-cdk-lib': expect.stringMatching(/^\d+\.\d+\.\d+$/),
  });
  expect(version).toBe('0.1.0');
  expect(text).not.toMatch(/template\/|packages\//);
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['prepare', 'start', 'test', 'lint', 'typecheck']));
});

test('the lock file of a new service has the packages that are installed here, and of ours the tarballs, with their hashes', async () => {
  const vendor = await testFolder();
  await writeFile(path.join(vendor, 'cdk.tgz'), 'packed');
  const packages = JSON.parse(lockFor('.', manifestsFor('.', packed), packed, vendor)).packages;
  const { version } = JSON.parse(await readFile('package-lock.json', 'utf8')).packages['node_modules/aws-cdk-lib'];
  expect(packages['node_modules/aws-cdk-lib'].version).toBe(version);
  expect(packages['node_modules/@lambda-service/cdk']).toMatchObject({
    version: '1.0.0-1.h2',
    resolved: 'file:vendor/cdk.tgz',
    integrity: `sha512-${hash('sha512', 'packed', 'base64')}`,
  });
  const folders = Object.keys(packages).filter((each) => !each.startsWith('node_modules/'));
  expect(folders).toEqual(['', 'client']);
  const links = Object.entries<{ link?: boolean }>(packages).filter(([, { link }]) => link === true);
  expect(links.map(([location]) => location)).toEqual(['node_modules/plant-store-client']);
});

test('nothing outside this folder imports it, because a new service does not have it', () => {
  // architecture.test.ts tests the imports in packages/, where the emulator has a folder of the same name.
  const search = ['grep', '-nE', "'(\\.\\./)+template/", '--', ':!template', ':!packages'];
  expect(spawnSync('git', search, { encoding: 'utf8' })).toMatchObject({ status: 1, stdout: '' });
});

test.each<[what: string, args: string[], says: string]>([
  ['a reserved word', ['../x', 'class'], 'class is a reserved word'],
  ['the name of a global', ['../x', 'map'], 'the code uses Map'],
  ['the name of a property', ['../x', 'item'], 'item for something else'],
  ['no noun', ['../x'], "missing required argument 'singular'"],
  ['a folder in this repository', ['orders', 'order'], 'is inside this repository'],
  ['the path of a file', ['package.json', 'order'], 'exists, and is not an empty folder'],
  ['a folder with something in it', ['..', 'order'], 'exists, and is not an empty folder'],
])('npm run new refuses %s', async (_, args, says) => {
  const before = git('.', 'status', '--porcelain');
  expect(await run(process.execPath, ['template/new.ts', ...args]).ended).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(says),
  });
  expect(git('.', 'status', '--porcelain')).toBe(before);
});
