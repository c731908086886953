/** Tests how packages/tools/release/project-copy.ts checks out a commit of a small git repository into a separate folder. */
import { execFileSync } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { commitAll, git } from '@lambda-service/testing/programs';
import { beforeEach, describe, expect, test } from 'vitest';
import { linkPackages } from '../../release/link-packages.ts';
import { checkOut, sharedWithMain } from '../../release/project-copy.ts';
import { files as service, startProject } from './kit/small-project.ts';

const never = new AbortController().signal;
let folder: string;
let project: string;
let commit: Awaited<ReturnType<typeof startProject>>['commit'];
beforeEach(async () => {
  ({ folder, project, commit } = await startProject());
  git(project, 'tag', 'first');
});

const checkedOut = (ref: string, options: { project?: string; ownPackages?: boolean } = {}) =>
  checkOut(path.join(folder, 'then'), ref, never, { project, ...options });
const read = (checkout: { folder: string }, file: string) => readFile(path.join(checkout.folder, file), 'utf8');

test("a checkout has the commit's files, the working tree's packages, and code that the end of the commit's script prepare generates", async () => {
  await commit({ 'infra/app.ts': 'the second version' });
  const checkout = await checkedOut('first');
  expect(await read(checkout, 'infra/app.ts')).toBe('the first version');
  expect(await read(checkout, 'node_modules/installed')).toBe('here');
  expect(await read(checkout, 'functions/generated/by')).toBe('contract,output');
  expect(checkout).toMatchObject({ commit: git(project, 'rev-parse', 'first'), hasSamePackages: true });
});

describe('the packages of the project itself', () => {
  const folderOf = { '@garden/tools': 'rooms/tools', seeds: 'rooms/seeds' };
  const prints = `import { tool } from '@garden/tools'; import { seed } from 'seeds'; console.log(tool + seed);`;
  const print = ({ folder }: { folder: string }) =>
    execFileSync(process.execPath, ['main.ts'], { cwd: folder, encoding: 'utf8' });
  beforeEach(async () => {
    for (const [name, own] of Object.entries(folderOf)) {
      const link = path.join(project, 'node_modules', name);
      await mkdir(path.dirname(link), { recursive: true });
      await symlink(path.join(project, own), link);
    }
    await commit({
      'package.json': JSON.stringify({ ...JSON.parse(service['package.json'] ?? ''), workspaces: ['rooms/*'] }),
      'rooms/tools/package.json': '{ "name": "@garden/tools", "type": "module", "exports": "./index.ts" }',
      'rooms/tools/index.ts': "export const tool = 'old spade';",
      'rooms/seeds/package.json': '{ "name": "seeds", "type": "module", "exports": "./index.ts" }',
      'rooms/seeds/index.ts': "export const seed = 'old bean';",
      'compile.ts': prints,
      'main.ts': prints,
    });
  });
  const change = (parent: string) =>
    Promise.all([
      writeFile(path.join(parent, 'rooms/tools/index.ts'), "export const tool = 'new spade';"),
      writeFile(path.join(parent, 'rooms/seeds/index.ts'), "export const seed = 'new bean';"),
    ]);

  test('are those of the commit in a checkout, also if their names have a scope', async () => {
    await change(project);
    expect(print({ folder: project })).toBe('new spadenew bean\n');
    expect(print(await checkedOut('HEAD'))).toBe('old spadeold bean\n');
  });

  test('are those of the commit in a checkout, also if they are tarballs of which the project has newer ones today', async () => {
    for (const version of ['old', 'new']) {
      await mkdir(path.join(folder, 'package'), { recursive: true });
      await writeFile(path.join(folder, 'package/index.js'), `export const tool = '${version} hoe';`);
      await writeFile(path.join(folder, 'package/dig.sh'), `#!/bin/sh\necho dug with the ${version} hoe`);
      const packed = { type: 'module', exports: './index.js', bin: { dig: 'dig.sh' } };
      await writeFile(path.join(folder, 'package/package.json'), JSON.stringify(packed));
      await mkdir(path.join(project, 'vendor'), { recursive: true });
      execFileSync('tar', ['-czf', `vendor/${version}.tgz`, '-C', folder, 'package'], { cwd: project });
      const manifest = { ...JSON.parse(service['package.json'] ?? ''), workspaces: ['rooms/seeds'] };
      const dependencies = { '@garden/tools': `file:vendor/${version}.tgz` };
      const resolved = { 'node_modules/@garden/tools': { resolved: `file:vendor/${version}.tgz` } };
      await commit({
        'package.json': JSON.stringify({ ...manifest, dependencies }),
        'package-lock.json': JSON.stringify({ packages: resolved }),
      });
    }
    const checkout = await checkedOut('HEAD^', { ownPackages: true });
    // So npm need not install the others.
    expect(checkout.hasSamePackages).toBe(true);
    expect(print(checkout)).toBe('old hoeold bean\n');
    const dig = path.join(checkout.folder, 'node_modules/.bin/dig');
    expect(execFileSync(dig, { encoding: 'utf8' })).toBe('dug with the old hoe\n');
  });

  test('are those of the copy in a copy, and in a copy of that', async () => {
    const copies = ['first', 'second'].map((name) => path.join(folder, name));
    for (const [index, copy] of copies.entries()) {
      await cp(copies[index - 1] ?? project, copy, {
        recursive: true,
        filter: (file) => !file.includes('node_modules'),
      });
      linkPackages(copies[index - 1] ?? project, copy);
    }
    await change(copies[1] ?? '');
    expect([project, ...copies].map((each) => print({ folder: each }))).toEqual([
      'old spadeold bean\n',
      'old spadeold bean\n',
      'new spadenew bean\n',
    ]);
  });
});

test('with the option ownPackages, a checkout gets its own node_modules if its package-lock.json differs from that of the working tree', async () => {
  await commit({ 'package-lock.json': '{ "lockfileVersion": 3, "packages": { "": {} } }' });
  await writeFile(path.join(project, 'package-lock.json'), '{ "packages": { "node_modules/later": {} } }');
  const checkout = await checkedOut('HEAD', { ownPackages: true });
  expect(checkout).toMatchObject({ hasSamePackages: false });
  await expect(read(checkout, 'node_modules/installed')).rejects.toThrow('ENOENT');
});

test("if the project is a folder of a larger repository, checkOut checks out only the project's folder", async () => {
  const inside = path.join(project, 'service');
  await commit({ ...service, 'infra/app.ts': 'the service' }, inside);
  expect(await read(await checkedOut('HEAD', { project: inside }), 'infra/app.ts')).toBe('the service');
});

test.each<[ref: string, message: RegExp, files?: Record<string, string>]>([
  ['nonsense', /^git does not have the commit nonsense: fatal: .*\n.* git fetch --unshallow .* fetch-depth: 0\.$/],
  ['--path-format=x', /^git does not have the commit --path-format=x: fatal: Needed a single revision\n/],
  ['HEAD', /^HEAD is too old: its script prepare compiles no contract\.$/, { 'package.json': '{}' }],
  ['HEAD', /^The contract of HEAD cannot be compiled:\n(.*\n)*.*refused/, { 'compile.ts': "throw Error('refused');" }],
])('checkOut of %s rejects with a message that matches %s', async (ref, message, files = {}) => {
  if (Object.keys(files).length > 0) await commit(files);
  await expect(checkedOut(ref)).rejects.toThrow(message);
});

test('checkOut says what is missing in a folder without git and at a commit without a manifest', async () => {
  await expect(checkedOut('HEAD', { project: folder })).rejects.toThrow(/: fatal: not a git repository/);
  git(project, 'rm', '--quiet', 'package.json');
  commitAll(project);
  const says = /^HEAD is too old: it has no package\.json, so its stack cannot be synthesized\.$/;
  await expect(checkedOut('HEAD')).rejects.toThrow(says);
});

test('sharedWithMain returns the commit at which the branch left origin/main, or left main if there is no remote', async () => {
  const shared = () => sharedWithMain(never, project);
  const commitOf = (ref: string) => git(project, 'rev-parse', ref);
  git(project, 'checkout', '--quiet', '-B', 'change');
  await commit({ 'infra/app.ts': 'the second version' });
  git(project, 'branch', '--force', 'main', 'first');
  expect(await shared()).toBe(commitOf('first'));
  git(project, 'update-ref', 'refs/remotes/origin/main', 'HEAD');
  expect(await shared()).toBe(commitOf('HEAD'));
  git(project, 'update-ref', '-d', 'refs/remotes/origin/main');
  git(project, 'branch', '--delete', '--force', 'main');
  expect(await shared()).toBeUndefined();
});
