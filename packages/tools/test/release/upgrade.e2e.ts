/** Tests the command `upgrade` in a small service with one package. template/run upgrades a whole service. */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readdirSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { git } from '@lambda-service/testing/programs';
import { until } from '@lambda-service/testing/waiting';
import { beforeEach, expect, test, vi } from 'vitest';
import { runHere } from '../cli/kit/run-here.ts';
import { startProject } from './kit/small-project.ts';

const carrier = '@lambda-service/tools';
const changelog = '# Changes\n\n## Unreleased\n\n### Added\n\n- An old thing.\n';
const starter = {
  files: { '.ci/run': '#!/bin/sh\nnpm test\n', 'x.yml': '{{StackName}} {{Title}}\n' },
  pins: { left: 'file:left-1', right: 'file:left-1', '.node-version': '24.1.0\n' },
};

let folder: string;
let project: string;
let commit: Awaited<ReturnType<typeof startProject>>['commit'];

/** Packs a version of the package into `target`. @returns the name of its tarball */
const pack = async (target: string, version: string, changes = changelog, files = starter): Promise<string> => {
  const source = path.join(folder, `source-${version}`);
  await mkdir(path.join(source, 'package/dist'), { recursive: true });
  await mkdir(target, { recursive: true });
  await writeFile(path.join(source, 'package/package.json'), JSON.stringify({ name: carrier, version }));
  await writeFile(path.join(source, 'package/CHANGELOG.md'), changes);
  await writeFile(path.join(source, 'package/dist/starter.json'), JSON.stringify(files));
  execFileSync('tar', ['-czf', path.join(target, `tools-${version}.tgz`), '-C', source, 'package']);
  return `tools-${version}.tgz`;
};

const manifest = (test: string) => ({
  name: 'order-store',
  scripts: { typecheck: 'true', prepare: 'true', test },
  // The team has chosen the second itself.
  dependencies: { left: 'file:left-1', right: 'file:left-2' },
  devDependencies: { [carrier]: 'file:vendor/tools-1.0.0.tgz' },
});

beforeEach(async () => {
  ({ folder, project, commit } = await startProject());
  await pack(path.join(project, 'vendor'), '1.0.0');
  await commit({
    'package.json': JSON.stringify(manifest('true')),
    '.gitignore': 'node_modules\n.local-service\n',
    '.node-version': '24.1.0\n',
    'left-1/package.json': '{ "name": "left" }',
    'left-2/package.json': '{ "name": "left" }',
    'vendor/ours.txt': '',
  });
  git(project, 'rm', '-q', 'package-lock.json');
  execFileSync('npm', ['install', '--offline', '--no-audit'], { cwd: project });
  await commit({});
  vi.spyOn(process, 'cwd').mockReturnValue(project);
});

const upgrade = (...args: string[]) => runHere(['upgrade', ...args], { TMPDIR: folder, npm_config_offline: 'true' });
const read = (file: string) => readFile(path.join(project, file), 'utf8');
const versionOf = async () => JSON.parse(await read(`node_modules/${carrier}/package.json`)).version;
const next = () => path.join(folder, 'next');

/** Checks that the service is as in its last commit, with the old packages, and that no copy is left. */
const expectUntouched = async () => {
  expect(git(project, 'status', '--porcelain')).toBe('');
  expect(await versionOf()).toBe('1.0.0');
  expect(globSync('.local-service/upgrade*', { cwd: project })).toEqual([]);
  expect(readdirSync(folder).filter((name) => name.startsWith('service-upgrade'))).toEqual([]);
};

test('upgrade takes the next version, says what it brings, and shows what is new in the files of the team', async () => {
  const news = changelog.replace(
    '### Added',
    '### Breaking\n\n- The thing is gone:\n\n  use another.\n\n### Security\n\n- A hole.\n\n### Added',
  );
  const files = { 'x.yml': 'new {{StackName}} {{Title}}\n', '.ci/run': starter.files['.ci/run'] };
  const pins = { left: 'file:left-2', right: 'file:left-1', '.node-version': '24.2.0\n' };
  const tarball = await pack(next(), '2.0.0', news, { files, pins });
  const { code, stdout, stderr } = await upgrade(next()).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(
    /^From 1\.0\.0 to 2\.0\.0\n\nSecurity:\n- A hole\.\n\n\nBreaking:\n- The thing is gone:\n\n {2}use another\.\n\nok npm install/,
  );
  expect(stdout).toMatch(/\nok npm run prepare\nok npm run typecheck\nok npm test\n/);
  expect(stdout).not.toContain('An old thing');
  expect(stdout).toMatch(
    /\nLeft to do:\n- The thing is gone: use another\.\n- .*git apply -3 \.local-service\/upgrade-2\.0\.0\.patch\n/,
  );
  expect(await read('.local-service/upgrade-2.0.0.patch')).toMatch(
    /^diff --git a\/x\.yml b\/x\.yml\n.*\n-OrderStore Order Store\n\+new OrderStore Order Store\n$/s,
  );
  expect(JSON.parse(await read('package.json'))).toEqual({
    ...manifest('true'),
    dependencies: { left: 'file:left-2', right: 'file:left-2' },
    devDependencies: { [carrier]: `file:vendor/${tarball}` },
  });
  expect(await read('.node-version')).toBe('24.2.0\n');
  expect(await read('package-lock.json')).toContain(`file:vendor/${tarball}`);
  expect(readdirSync(path.join(project, 'vendor')).sort()).toEqual(['ours.txt', tarball]);
  expect(await versionOf()).toBe('2.0.0');
});

test('upgrade with nothing to do by hand says so, and has nothing to do a second time', async () => {
  await pack(next(), '2.0.0');
  expect((await upgrade(next()).ended).stdout).toContain('\nLeft to do: nothing.\n');
  await commit({});
  expect(await upgrade(next()).ended).toMatchObject({ code: 0, stdout: 'The service has 2.0.0 already.\n' });
});

test('if a check fails, upgrade leaves the service as it was, and takes the version with --keep', async () => {
  await commit({ 'package.json': JSON.stringify(manifest('echo red; false')) });
  await pack(next(), '2.0.0');
  const { code, stdout, stderr } = await upgrade(next()).ended;
  expect(code).toBe(1);
  expect(stdout).toMatch(/\nFAILED npm test\n.*\nred\n/s);
  expect(stderr).toBe('The service is as it was. With --keep, it gets the new version even if a check fails.\n');
  await expectUntouched();
  expect((await upgrade(next(), '--keep').ended).code).toBe(1);
  expect(await versionOf()).toBe('2.0.0');
});

test('an upgrade that is stopped leaves the service as it was', async () => {
  await commit({ 'package.json': JSON.stringify(manifest(`touch ${folder}/started; sleep 60`)) });
  await pack(next(), '2.0.0');
  const running = upgrade(next());
  await until(() => existsSync(path.join(folder, 'started')));
  running.child.emit('SIGINT');
  expect(await running.ended).toMatchObject({ code: 130, stderr: 'Stopped.\n' });
  await expectUntouched();
});

test('if the service cannot be changed as a whole, upgrade leaves it as it was', async () => {
  git(project, 'rm', '-q', 'package-lock.json');
  await commit({ '.gitignore': 'node_modules\n.local-service\npackage-lock.json\n' });
  await pack(next(), '2.0.0');
  expect(await upgrade(next()).ended).toMatchObject({ code: 1, stderr: expect.stringContaining('ENOENT') });
  await expectUntouched();
});

test('upgrade refuses a service with changes, and a folder without exactly one version of each package', async () => {
  await mkdir(next());
  expect(await upgrade(next()).ended).toMatchObject({ code: 1, stderr: `${next()} has no tarball of ${carrier}.\n` });
  await pack(next(), '2.0.0');
  await pack(next(), '2.0.1');
  expect((await upgrade(next()).ended).stderr).toBe(
    `${next()} has tarballs of several versions: leave those of one.\n`,
  );
  await writeFile(path.join(project, 'new'), '');
  expect((await upgrade(next()).ended).stderr).toBe('Commit or stash your changes first:\n?? new\n');
  expect((await upgrade('/none').ended).stderr).toMatch('/none does not exist.');
});
