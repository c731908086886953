import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Packed } from '../pack.ts';
import { firstVersion, installed } from './platform.ts';

type Manifest = { [field: string]: unknown; scripts: Record<string, string> } & {
  [field in 'dependencies' | 'devDependencies' | 'optionalDependencies']: Record<string, string>;
};

const readManifest = (file: string): Manifest => JSON.parse(readFileSync(file, 'utf8'));

const textOf = (manifest: object): string => `${JSON.stringify(manifest, null, 2)}\n`;

const pick = (from: Record<string, string>, names: string[]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(from)
      .filter(([name]) => names.includes(name))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

/** What a service uses itself, or what its scripts run. The packages ask for all else. */
const tools = ['@biomejs/biome', '@types/aws-lambda', '@types/node', 'aws-cdk', 'esbuild', 'typescript', 'vitest'];

const copyTypes =
  'mkdir -p dist/packages/client && cp ../node_modules/@lambda-service/client/dist/*.d.ts dist/packages/client';

/** npm links it by its name. */
const bin = 'node node_modules/@lambda-service/tools/dist/bin.js';

/** Scripts for this repository only. */
const unneeded = /^node template\//;

/** Returns the manifests of a new service by their files: its own, and that of its client. */
export const manifestsFor = (root: string, packed: Packed[]): Record<string, string> => {
  const own = readManifest(path.join(root, 'package.json'));
  const client = readManifest(path.join(root, 'client/package.json'));
  const peers = packed.flatMap(({ manifest: { peerDependencies = {} } }) => Object.keys(peerDependencies));
  const vendored = Object.fromEntries(
    packed.map(({ manifest: { name }, tarball }) => [name, `file:vendor/${tarball}`]),
  );
  const versions = { ...own.dependencies, ...own.devDependencies, ...vendored };
  const isRunning = (name: string): boolean => name in own.dependencies || name === '@lambda-service/runtime';
  const names = [...peers, ...tools, ...Object.keys(vendored)];
  const manifest = {
    ...own,
    version: firstVersion,
    description: 'POST /plants: a Lambda service in TypeScript',
    license: 'UNLICENSED',
    workspaces: ['client'],
    scripts: Object.fromEntries(
      Object.entries(own.scripts).flatMap(([name, command]) =>
        unneeded.test(command) ? [] : [[name, installed(command).replace(bin, 'lambda-service')]],
      ),
    ),
    dependencies: pick(versions, names.filter(isRunning)),
    devDependencies: pick(
      versions,
      names.filter((name) => !isRunning(name)),
    ),
  };
  const clientManifest = {
    ...client,
    version: firstVersion,
    license: 'UNLICENSED',
    // The service has the package. A version here would make npm ask the registry for it.
    devDependencies: undefined,
    // Here, the compiler makes the types of both. In a service, those of the package are already made.
    scripts: {
      ...client.scripts,
      prepack: client.scripts['prepack']
        ?.replace(' && tsc ', ` && tsc && ${copyTypes} `)
        .replace(' && cp ../LICENSE dist', ''),
    },
  };
  return { 'package.json': textOf(manifest), 'client/package.json': textOf(clientManifest) };
};

type Lock = { packages: Record<string, { link?: boolean }> };

/**
 * Returns a lock file for a new service, with the versions that are tried here, so npm need not ask a registry. It still
 * has packages that the service does not need; `npm install` removes them.
 * @param manifests those that `manifestsFor` returned
 * @param vendor the folder of the tarballs
 */
export const lockFor = (root: string, manifests: Record<string, string>, packed: Packed[], vendor: string): string => {
  const lock: Lock = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'));
  const others = Object.entries(lock.packages).filter(
    ([location, { link }]) => location.startsWith('node_modules/') && link !== true,
  );
  const ours = packed.map(({ manifest, tarball }) => {
    const { name, version, license, bin, dependencies, peerDependencies, engines } = manifest;
    const hash = createHash('sha512').update(readFileSync(path.join(vendor, tarball)));
    const from = { resolved: `file:vendor/${tarball}`, integrity: `sha512-${hash.digest('base64')}` };
    return [`node_modules/${name}`, { version, ...from, license, bin, dependencies, peerDependencies, engines }];
  });
  const [own, client] = ['package.json', 'client/package.json'].map((file) => JSON.parse(manifests[file] ?? ''));
  const link = [`node_modules/${client.name}`, { resolved: 'client', link: true }];
  const packages = { '': own, client, ...Object.fromEntries([link, ...others, ...ours]) };
  return textOf({ ...lock, name: own.name, version: own.version, packages });
};
