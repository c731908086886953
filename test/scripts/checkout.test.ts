/** Tests checkouts of a small repository. */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { checkOut, sharedWithMain } from '../../scripts/checkout.ts';
import { commitAll, git } from '../kit/git.ts';
import { temporaryFolder } from '../kit/local-service.ts';

let original: string;
let folder: string;
let project: string;
const never = new AbortController().signal;

const write = async (file: string, content: string) => {
  await mkdir(path.dirname(path.join(project, file)), { recursive: true });
  await writeFile(path.join(project, file), content);
};

const compiler = `import { mkdirSync, writeFileSync } from 'node:fs';
mkdirSync('functions/generated', { recursive: true });
writeFileSync('functions/generated/by', 'the compiler of the commit');
`;

beforeAll(async () => {
  const temporary = await temporaryFolder();
  original = temporary.folder;
  project = original;
  await write('infra/app.ts', 'the first version');
  await write('scripts/compile-contract.ts', compiler);
  await write('package-lock.json', '{}');
  await write('.gitignore', 'node_modules\n');
  git(project, 'init', '--quiet');
  commitAll(project);
  git(project, 'tag', 'first');
  await write('infra/app.ts', 'the second version');
  commitAll(project);
  await write('infra/app.ts', 'not committed');
  await write('node_modules/installed', 'here');
  return temporary.remove;
});

beforeEach(async () => {
  const temporary = await temporaryFolder();
  onTestFinished(temporary.remove);
  folder = temporary.folder;
  project = path.join(folder, 'here');
  await cp(original, project, { recursive: true });
});

const checkedOut = (ref: string, of = project) => checkOut(path.join(folder, 'then'), ref, never, { project: of });
const read = (checkout: { folder: string }, file: string) => readFile(path.join(checkout.folder, file), 'utf8');

test('a checkout has the files of its commit, the packages installed here, and a contract compiled by its own compiler', async () => {
  const checkout = await checkedOut('first');
  expect(await read(checkout, 'infra/app.ts')).toBe('the first version');
  expect(await read(checkout, 'node_modules/installed')).toBe('here');
  expect(await read(checkout, 'functions/generated/by')).toBe('the compiler of the commit');
  expect(checkout).toMatchObject({ commit: git(project, 'rev-parse', 'first'), hasSamePackages: true });
});

test("a checkout's hasSamePackages is false if its package-lock.json is not that of the working tree", async () => {
  await write('package-lock.json', '{ "lockfileVersion": 3 }');
  expect(await checkedOut('HEAD')).toMatchObject({ hasSamePackages: false });
});

test('a checkout gets its own packages, if asked to, when its package-lock.json is not that of the working tree', async () => {
  await write('package.json', '{ "name": "then", "dependencies": { "own": "file:own" } }');
  await write('own/package.json', '{ "name": "own", "version": "1.0.0" }');
  const packages = { '': { name: 'then', dependencies: { own: 'file:own' } }, own: { version: '1.0.0' } };
  const linked = { 'node_modules/own': { resolved: 'own', link: true } };
  const lock = { name: 'then', lockfileVersion: 3, requires: true, packages: { ...packages, ...linked } };
  await write('package-lock.json', JSON.stringify(lock));
  commitAll(project);
  await write('package-lock.json', '{}');
  const checkout = await checkOut(path.join(folder, 'then'), 'HEAD', never, { project, ownPackages: true });
  expect(await read(checkout, 'node_modules/own/package.json')).toContain('"own"');
  await expect(read(checkout, 'node_modules/installed')).rejects.toThrow('ENOENT');
});

test("if the project is a folder of a larger repository, a checkout has only the project's folder", async () => {
  await write('service/infra/app.ts', 'the service');
  await write('service/scripts/compile-contract.ts', compiler);
  await write('service/package-lock.json', '{}');
  commitAll(project);
  expect(await read(await checkedOut('HEAD', path.join(project, 'service')), 'infra/app.ts')).toBe('the service');
});

test.each<[what: string, ref: string, message: RegExp, make?: () => unknown]>([
  ['git does not know the ref', 'nonsense', /^git does not have the commit nonsense\. git branch --all and git tag/],
  ['the ref looks like an option', '--help', /^git does not have the commit --help\. /],
  [
    'the clone is shallow',
    'first',
    /^git does not have the commit first\. .*git fetch --unshallow, or in a workflow fetch-depth: 0\.$/,
    () => {
      git(folder, 'clone', '--quiet', '--depth=1', '--no-tags', `file://${project}`, 'shallow');
      project = path.join(folder, 'shallow');
    },
  ],
  [
    'there is no git repository',
    'first',
    /^This folder is not a git repository/,
    () => rm(path.join(project, '.git'), { recursive: true }),
  ],
  [
    'the project at the ref had no stack',
    'HEAD',
    /^HEAD is too old: it has no infra\/app\.ts, so its stack cannot be synthesized\.$/,
    async () => {
      await rm(path.join(project, 'infra/app.ts'));
      commitAll(project);
    },
  ],
  [
    'its contract cannot be compiled',
    'HEAD',
    /^The contract of HEAD cannot be compiled:\n(.*\n)*.*refused/,
    async () => {
      await write('scripts/compile-contract.ts', "throw new Error('refused');");
      commitAll(project);
    },
  ],
])('checkOut rejects with a message for the user if %s', async (_, ref, message, make) => {
  await make?.();
  await expect(checkedOut(ref)).rejects.toThrow(message);
});

test('checkOut rejects with an AbortError if its signal is aborted', async () => {
  const checkout = checkOut(path.join(folder, 'then'), 'HEAD', AbortSignal.abort(), { project });
  await expect(checkout).rejects.toMatchObject({ name: 'AbortError' });
});

test('the commit shared with main is where the branch left origin/main or, without a remote, main', async () => {
  const shared = () => sharedWithMain(never, project);
  const commit = (ref: string) => git(project, 'rev-parse', ref);
  git(project, 'checkout', '--quiet', '-B', 'change');
  git(project, 'branch', '--force', 'main', 'first');
  expect(await shared()).toBe(commit('first'));
  git(project, 'update-ref', 'refs/remotes/origin/main', 'HEAD');
  expect(await shared()).toBe(commit('HEAD'));
  git(project, 'update-ref', '-d', 'refs/remotes/origin/main');
  git(project, 'branch', '--delete', '--force', 'main');
  expect(await shared()).toBeUndefined();
});
