/**
 * Tests `npm run rename` on short texts and a small repository. .ci/run also renames a copy of this project, and checks
 * that copy.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { renamedPath, renamedSource } from '../../scripts/rename/files.ts';
import { readNoun } from '../../scripts/rename/noun.ts';
import { run, temporaryFolder } from '../kit/local-service.ts';

const customerOrder = readNoun('customer-order');
const inCode = (source: string) => renamedSource({ file: 'x.ts', source }, customerOrder);
const inDocument = (source: string) => renamedSource({ file: 'x.md', source }, customerOrder);
const inYaml = (source: string) => renamedSource({ file: 'x.yaml', source }, customerOrder);

describe('the plural', () => {
  test.each([
    ['order', 'orders'],
    ['category', 'categories'],
    ['key', 'keys'],
    ['address', 'addresses'],
    ['box', 'boxes'],
    ['batch', 'batches'],
    ['customer-wish', 'customer-wishes'],
  ])('of %s is %s', (singular, plural) => {
    expect(readNoun(singular)).toEqual({ singular, plural });
  });

  test('of a noun is the second argument of npm run rename, if given', () => {
    expect(renamedPath('shop/plants/plant.ts', readNoun('person', 'people'))).toBe('shop/people/person.ts');
  });
});

describe('in code, renaming to a noun of two words', () => {
  test.each([
    ['const plant = plants[0];', 'const customerOrder = customerOrders[0];'],
    ['class PlantsStore {}', 'class CustomerOrdersStore {}'],
    [
      'const plantWith = (newPlant: NewPlant) => toPlant(newPlant);',
      'const customerOrderWith = (newCustomerOrder: NewCustomerOrder) => toCustomerOrder(newCustomerOrder);',
    ],
    ['const MAX_PLANTS = 1;', 'const MAX_CUSTOMER_ORDERS = 1;'],
    ["import { x } from './plants/plant-table.ts';", "import { x } from './customer-orders/customer-order-table.ts';"],
    ["const title = 'Plant Store';", "const title = 'Customer Order Store';"],
    [
      "const message = 'the plant must be at most 400 KB';",
      "const message = 'the customer order must be at most 400 KB';",
    ],
    ["const scope = 'create:plants plants/create';", "const scope = 'create:customer-orders customer-orders/create';"],
    ["get(`/plants/` + plant.id, 'plant');", "get(`/customer-orders/` + customerOrder.id, 'customer-order');"],
    ['const folder = /^functions\\/(http|plants)\\//;', 'const folder = /^functions\\/(http|customer-orders)\\//;'],
    [
      '/** Plants at a time. @see plant.e2e.ts and createPlant(plant), Plant, `npm run plant -- add` */',
      '/** Customer orders at a time. @see customer-order.e2e.ts and createCustomerOrder(customerOrder), CustomerOrder, `npm run customer-order -- add` */',
    ],
  ])('turns %s into %s', (before, after) => {
    expect(inCode(before)).toBe(after);
  });
});

test('after renaming to a noun of two words, the contract spells names such as createCustomerOrder in the same way as the generated code', () => {
  expect(
    inYaml(
      '  /plants:\n    operationId: createPlant\n    description: The plant.\n    plant:\n      $ref: "#/Plant"\n',
    ),
  ).toBe(
    '  /customer-orders:\n    operationId: createCustomerOrder\n    description: The customer order.\n    customerOrder:\n      $ref: "#/CustomerOrder"\n',
  );
});

test.each([
  [
    'order',
    "// Adds a plant. A Plant, a `plant`, a\n// plant and a NewPlant.\nconst s = 'a plant';",
    "// Adds an order. An Order, an `order`, an\n// order and a NewOrder.\nconst s = 'an order';",
  ],
  ['user', '// a plant', '// a user'],
  ['hourly-rate', '// a plant', '// an hourly rate'],
  ['category', '// a plant', '// a category'],
])('the article before the new noun becomes "an" if necessary: %s', (name, before, after) => {
  expect(renamedSource({ file: 'x.ts', source: before }, readNoun(name))).toBe(after);
});

describe('renaming the noun plant to customer-order in a document', () => {
  test('keeps the old noun in prose, and puts the new noun only into names and code', () => {
    expect(inDocument('A plant is stored by createPlant. `plants/` has plants, see [a plant](plant.md#a-plant).')).toBe(
      'A plant is stored by createCustomerOrder. `customer-orders/` has plants, see [a customer order](customer-order.md#a-customer-order).',
    );
  });

  test('replaces the old noun in code blocks and headings, but not in running text', () => {
    const before = '## Add a plant\n\nA plant.\n\n```ts\nconst plant = { name: "a plant" };\n```\n\nA plant.\n';
    expect(inDocument(before)).toBe(
      '## Add a customer order\n\nA plant.\n\n```ts\nconst customerOrder = { name: "a customer order" };\n```\n\nA plant.\n',
    );
  });
});

test.each<[what: string, nouns: string[], says: string]>([
  ['missing', [], 'Give a noun'],
  ['in capitals', ['Order'], 'Order is not a noun in lower case'],
  ['a path', ['../order'], '../order is not a noun in lower case'],
  ['a plural alone', ['orders'], 'orders looks like a plural'],
  ['a plural like the singular', ['sheep', 'sheep'], 'a plural that differs'],
  ['a name with the old one in it', ['power-plant'], 'must not contain "plant"'],
  ['forbidden in a Cognito domain', ['law'], 'must not contain "aws"'],
  ['too long', ['a'.repeat(27), 'many'], 'at most 26'],
  ['too long in the plural', ['a'.repeat(26)], 'at most 26'],
])('npm run rename refuses a new noun that is %s', (_, nouns, says) => {
  expect(() => readNoun(...nouns)).toThrow(says);
});

test('the longest noun makes no file name and no Cognito domain that is too long', async () => {
  const noun = readNoun('a'.repeat(25));
  const { stdout } = await run('git', ['ls-files']).ended;
  const names = stdout.split(/[\n/]/).map((name) => renamedPath(name, noun).length);
  expect(Math.max(...names)).toBeLessThanOrEqual(255);
  const file = 'infra/token-issuer.ts';
  const renamed = renamedSource({ file, source: await readFile(file, 'utf8') }, noun);
  const [, prefix = ''] = /domainPrefix: `([^`$]+)\$\{stackUuid\}`/.exec(renamed) ?? [];
  expect(`${prefix}${randomUUID()}`.length).toBeLessThanOrEqual(63);
});

describe('npm run rename', () => {
  let folder: string;
  const git = (...args: string[]) =>
    run('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args]).ended;
  const commit = async (file: string, text: string) => {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), text);
    await git('add', '.');
    await git('commit', '-qm', file);
  };
  const script = path.resolve('scripts/rename.ts');
  const renameIn = (project: string, ...nouns: string[]) =>
    run('sh', ['-c', 'cd "$0" && exec "$@"', project, process.execPath, script, ...nouns], {
      // Without this limit, git would search for a repository in the parents of the folder, too.
      GIT_CEILING_DIRECTORIES: path.dirname(folder),
    }).ended;
  const rename = (...nouns: string[]) => renameIn(folder, ...nouns);
  const text = (file: string) => readFile(path.join(folder, file), 'utf8');
  const refusal = (says: string) => ({ code: 1, stdout: '', stderr: expect.stringContaining(says) });

  beforeEach(async () => {
    const temporary = await temporaryFolder();
    onTestFinished(temporary.remove);
    folder = temporary.folder;
    await git('init', '-q');
    await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
    await writeFile(path.join(folder, '.git/info/exclude'), 'node_modules\n');
    await commit(
      'tool/plant.ts',
      "import token from './token.ts';\nexport const toItem = (plant: Plant) => ({ item: token(plant) });\n",
    );
    await commit('package.json', '{ "scripts": { "plant": "node tool/plant.ts", "bench": "" } }\n');
  });

  test('moves and rewrites files, and stages them, so that git can undo everything', async () => {
    expect(await rename('order')).toMatchObject({ code: 0, stderr: '' });
    expect(await text('tool/order.ts')).toContain('(order: Order)');
    expect(await text('package.json')).toContain('"order": "node tool/order.ts"');
    expect(await git('status', '--porcelain', '--no-renames')).toMatchObject({
      stdout: 'M  package.json\nA  tool/order.ts\nD  tool/plant.ts\n',
    });
    await git('reset', '-q', '--hard');
    expect(await readdir(path.join(folder, 'tool'))).toEqual(['plant.ts']);
  });

  test('does not change the emulator, pictures, the license, binary files or the scripts of npm run rename itself', async () => {
    const files = ['emulator/README.md', 'docs/images/start.svg', 'LICENSE', 'scripts/rename/noun.ts', 'plant.png'];
    for (const file of files) await commit(file, file.endsWith('png') ? 'plant\0' : '`plant`');
    expect(await rename('order')).toMatchObject({ code: 0 });
    for (const file of files) expect(await text(file), file).toContain('plant');
  });

  test.each<[what: string, noun: string, says: string]>([
    ['a reserved word', 'class', 'class is a reserved word'],
    ['the name of a property', 'item', 'the code uses item for something else'],
    ['the name of an import', 'token', 'the code uses token'],
    ['the name of a global', 'map', 'the code uses Map'],
    ['the name of an npm script', 'bench', 'the code uses bench'],
    ['the name of a file', 'pot', 'the code uses tool/pot.ts'],
    ['a name of 300 letters', 'a'.repeat(300), 'at most 26'],
  ])('refuses %s as the new noun, and changes nothing', async (_, noun, says) => {
    await commit('tool/pot.ts', '');
    expect(await rename(noun)).toEqual(refusal(says));
    expect(await git('status', '--porcelain')).toMatchObject({ stdout: '' });
  });

  test('refuses to run with uncommitted changes anywhere in the repository, after an earlier rename, or in a folder without git', async () => {
    await writeFile(path.join(folder, 'new.txt'), '');
    expect(await rename('order')).toEqual(refusal('git status lists changes'));
    expect(await renameIn(path.join(folder, 'tool'), 'order')).toEqual(refusal('git status lists changes'));
    await commit('tool/plant.ts', 'export const order = 1;\n');
    expect(await rename('order')).toEqual(refusal('was it renamed before?'));
    await rm(path.join(folder, '.git'), { recursive: true });
    expect(await rename('order')).toEqual(refusal('not a git repository'));
  });
});
