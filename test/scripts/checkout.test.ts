/** Tests checkouts of a small repository. */
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { checkOut } from '../../scripts/checkout.ts';
import { temporaryFolder } from '../kit/local-service.ts';

let folder: string;
let project: string;
const never = new AbortController().signal;

const write = async (file: string, content: string) => {
  await mkdir(path.dirname(path.join(project, file)), { recursive: true });
  await writeFile(path.join(project, file), content);
};

/** Settings that a commit needs, whoever runs the tests. */
const settings = ['user.name=A', 'user.email=a@a.example', 'commit.gpgSign=false', 'tag.gpgSign=false'];

const git = (...args: string[]): string => {
  const options = settings.flatMap((setting) => ['-c', setting]);
  const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
  return execFileSync('git', [...options, ...args], { cwd: project, encoding: 'utf8', stdio }).trim();
};
const commit = () => {
  git('add', '--all');
  git('commit', '--quiet', '--message', 'a commit');
};

const compiler = `import { mkdirSync, writeFileSync } from 'node:fs';
mkdirSync('functions/generated', { recursive: true });
writeFileSync('functions/generated/by', 'the compiler of the commit');
`;

beforeEach(async () => {
  const temporary = await temporaryFolder();
  onTestFinished(temporary.remove);
  folder = temporary.folder;
  project = path.join(folder, 'here');
  await write('infra/app.ts', 'the first version');
  await write('scripts/compile-contract.ts', compiler);
  await write('package-lock.json', '{}');
  await write('.gitignore', 'node_modules\n');
  git('init', '--quiet');
  commit();
  git('tag', 'first');
  await write('infra/app.ts', 'the second version');
  commit();
  await write('infra/app.ts', 'not committed');
  await write('node_modules/installed', 'here');
});

const read = (checkout: { folder: string }, file: string) => readFile(path.join(checkout.folder, file), 'utf8');

test('a checkout has the files of its commit, the packages installed here, and a contract compiled by its own compiler', async () => {
  const checkout = await checkOut(path.join(folder, 'then'), 'first', never, project);
  expect(await read(checkout, 'infra/app.ts')).toBe('the first version');
  expect(await read(checkout, 'node_modules/installed')).toBe('here');
  expect(await read(checkout, 'functions/generated/by')).toBe('the compiler of the commit');
  expect(checkout).toMatchObject({ commit: git('rev-parse', 'first'), hasSamePackages: true });
});

test('a checkout says if its package-lock.json is not that of the working tree', async () => {
  await write('package-lock.json', '{ "lockfileVersion": 3 }');
  const checkout = await checkOut(path.join(folder, 'then'), 'HEAD', never, project);
  expect(checkout).toMatchObject({ commit: git('rev-parse', 'HEAD'), hasSamePackages: false });
});

test('if the project is a folder of a larger repository, a checkout has that folder only', async () => {
  await write('service/infra/app.ts', 'the service');
  await write('service/scripts/compile-contract.ts', compiler);
  await write('service/package-lock.json', '{}');
  commit();
  const checkout = await checkOut(path.join(folder, 'then'), 'HEAD', never, path.join(project, 'service'));
  expect(await read(checkout, 'infra/app.ts')).toBe('the service');
});

test.each<[what: string, ref: string, message: RegExp, make?: () => unknown]>([
  ['git does not know the ref', 'nonsense', /^git does not have the commit nonsense\. git branch --all and git tag/],
  ['the ref looks like an option', '--help', /^git does not have the commit --help\. /],
  [
    'the clone is shallow',
    'first',
    /^git does not have the commit first\. .*git fetch --unshallow, or in a workflow fetch-depth: 0\.$/,
    () => {
      git('clone', '--quiet', '--depth=1', '--no-tags', `file://${project}`, path.join(folder, 'shallow'));
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
      commit();
    },
  ],
  [
    'its contract cannot be compiled',
    'HEAD',
    /^The contract of HEAD cannot be compiled:\n(.*\n)*.*refused/,
    async () => {
      await write('scripts/compile-contract.ts', "throw new Error('refused');");
      commit();
    },
  ],
])('a checkout is refused with a sentence if %s', async (_, ref, message, make) => {
  await make?.();
  await expect(checkOut(path.join(folder, 'then'), ref, never, project)).rejects.toThrow(message);
});

test('a checkout that is aborted rejects', async () => {
  const checkout = checkOut(path.join(folder, 'then'), 'HEAD', AbortSignal.abort(), project);
  await expect(checkout).rejects.toMatchObject({ name: 'AbortError' });
});
