import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { git, run, testFolder } from '@lambda-service/testing/programs';
import { beforeEach, expect, test } from 'vitest';

const changed = ['CHANGELOG.md', 'client/package.json', 'package-lock.json', 'schemas/openapi.yaml'];
const version = '7.8.9';

let folder: string;
const read = (file: string): Promise<string> => readFile(path.join(folder, file), 'utf8');
const release = () =>
  run(
    'sh',
    ['-c', 'cd "$0" && exec "$@"', folder, process.execPath, path.resolve('packages/tools/release/version.ts')],
    {
      npm_package_version: version,
    },
  ).ended;

beforeEach(async () => {
  folder = await testFolder();
  for (const file of changed) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await cp(file, path.join(folder, file));
  }
  await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  git(folder, 'init', '--quiet');
  await writeFile(path.join(folder, 'CHANGELOG.md'), '# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n');
});

test('npm version sets the version in the contract, the client and the changelog, copies the contract to schemas/released, and stages these files', async () => {
  expect(await release()).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await read('CHANGELOG.md')).toMatch(
    /^# Changelog\n\n## Unreleased\n\n## 7\.8\.9 – \d{4}-\d\d-\d\d\n\n### Added\n\n- A thing\.\n$/,
  );
  const contract = await read('schemas/openapi.yaml');
  expect(contract).toContain(`\n  version: ${version}\n`);
  expect(await read(`schemas/released/${version}.yaml`)).toBe(contract);
  expect(JSON.parse(await read('client/package.json'))).toMatchObject({ version });
  const { packages } = JSON.parse(await read('package-lock.json'));
  expect(packages['client']).toMatchObject({ version });
  const staged = git(folder, 'diff', '--cached', '--name-only').split('\n');
  expect(staged).toEqual([...changed, `schemas/released/${version}.yaml`]);
});

test('npm version releases a service without a client', async () => {
  await rm(path.join(folder, 'client'), { recursive: true });
  expect(await release()).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await read(`schemas/released/${version}.yaml`)).toContain(`\n  version: ${version}\n`);
});

test('in the changelog, the heading Unreleased is followed directly by another heading, or ends it: with text between them, npm version would refuse to release', async () => {
  expect(await readFile('CHANGELOG.md', 'utf8')).toMatch(/\n## Unreleased\n(?:\n###? .*)?$/s);
});

test.each<[what: string, file: string, content: string]>([
  ['the changelog has nothing to release', 'CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n## 1.0.0\n'],
  ['the client, which changes last, has no version', 'client/package.json', '{}\n'],
])('npm version leaves the contract, the client and the changelog unchanged if %s', async (_, file, content) => {
  await writeFile(path.join(folder, file), content);
  const before = await Promise.all(changed.map(read));
  const stderr = expect.stringMatching(new RegExp(`^${file} does not contain .*git checkout`));
  expect(await release()).toMatchObject({ code: 1, stderr });
  expect(await Promise.all(changed.map(read))).toEqual(before);
});
