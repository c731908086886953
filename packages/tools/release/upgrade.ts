/** Takes the next version of the packages: tries it in a copy of the service, and changes the service only if all is green. */
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { runToEnd } from '../app.ts';
import type { Command } from '../process-group.ts';
import { type Define, messageOf, ourCommand, type Terminal, workIn } from '../terminal.ts';
import { newEntries } from './upgrade/changelog.ts';
import { type Starter, starterPatch, withNewPins } from './upgrade/starter.ts';

type Pins = Record<string, string>;
type Manifest = { name: string; version: string } & {
  [field in 'dependencies' | 'devDependencies' | 'optionalDependencies']?: Pins;
};

/** A package of the next version. */
type Package = { tarball: string; name: string; version: string };

/** The package that has the changelog of all packages, and the files of a new service. */
const carrier = '@lambda-service/tools';
const changelogFile = 'CHANGELOG.md';
const starterFile = 'dist/starter.json';
const nodeFile = '.node-version';
const ownFolder = '.local-service';

const execute = async (folder: string, command: string, ...args: string[]): Promise<string> =>
  (await promisify(execFile)(command, args, { cwd: folder, maxBuffer: 1e8 })).stdout;

const readTarball = (tarball: string, file: string): Promise<string> =>
  execute('.', 'tar', '-xOzf', tarball, `package/${file}`);

const readManifest = (folder: string): Manifest => JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));

/** Reads the tarballs in a folder. @throws Error if they are not all of one version */
const readPackages = async (folder: string): Promise<Package[]> => {
  const tarballs = globSync('*.tgz', { cwd: folder }).map((file) => path.resolve(folder, file));
  const packages = await Promise.all(
    tarballs.map(async (tarball): Promise<Package> => {
      const { name, version }: Manifest = JSON.parse(await readTarball(tarball, 'package.json'));
      return { tarball, name, version };
    }),
  );
  if (new Set(packages.map(({ version }) => version)).size > 1)
    throw new Error(`${folder} has tarballs of several versions: leave those of one.`);
  return packages;
};

/** Returns the platform's packages in vendor/, by their names: a team may have packages of its own there. */
const vendored = (manifest: Manifest, version: string): Pins =>
  Object.fromEntries(
    Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }).filter(
      ([, pin]) => pin.startsWith('file:vendor/') && pin.endsWith(`-${version}.tgz`),
    ),
  );

/** Returns the manifest with the next version. Every tarball is named, or npm would ask the registry for the package. */
const nextManifest = (manifest: Manifest, packages: Package[], before: Starter, after: Starter): Manifest => {
  const next = Object.fromEntries(
    packages.map(({ name, tarball }) => [name, `file:vendor/${path.basename(tarball)}`] as const),
  );
  const moved = (pins: Pins = {}): Pins =>
    Object.fromEntries(
      Object.entries(withNewPins(pins, before, after)).map(([name, pin]) => [name, next[name] ?? pin]),
    );
  const dependencies = moved(manifest.dependencies);
  const more = Object.entries(next).filter(([name]) => !(name in dependencies));
  return {
    ...manifest,
    dependencies,
    devDependencies: { ...moved(manifest.devDependencies), ...Object.fromEntries(more) },
    ...(manifest.optionalDependencies && { optionalDependencies: moved(manifest.optionalDependencies) }),
  };
};

const refuseChanges = async (root: string): Promise<void> => {
  const status = await execute(root, 'git', 'status', '--porcelain');
  if (status !== '') throw new Error(`Commit or stash your changes first:\n${status.trimEnd()}`);
};

type Run = { root: string; parent: string; folder: string; keep: boolean; console: Console; stop: AbortSignal };

/** The service, and what it gets. */
type Upgrade = {
  manifest: Manifest;
  packages: Package[];
  from: string;
  to: string;
  before: Starter;
  after: Starter;
  /** What is new in the changelog, by kind. */
  news: Map<string, string[]>;
};

/** @throws Error that says why the service cannot be upgraded, or from this folder */
const readUpgrade = async ({ root, folder }: Run): Promise<Upgrade> => {
  await refuseChanges(root);
  if ((await execute(root, 'git', 'rev-parse', '--show-prefix')).trim() !== '')
    throw new Error('The service is a folder of a larger repository: change its package.json and vendor/ by hand.');
  const packages = await readPackages(folder);
  const manifest = readManifest(root);
  const installed = path.join(root, 'node_modules', carrier);
  const { version: from } = readManifest(installed);
  const own = vendored(manifest, from);
  if (own[carrier] === undefined)
    throw new Error(
      `package.json does not name a tarball of ${carrier} ${from}, which is installed: run npm ci first.`,
    );
  const missing = Object.keys(own).filter((name) => !packages.some((each) => each.name === name));
  if (missing.length > 0) throw new Error(`${folder} has no tarball of ${missing.join(', ')}.`);
  const [{ tarball = '', version: to = '' } = {}] = packages.filter(({ name }) => name === carrier);
  const readInstalled = (file: string): string => readFileSync(path.join(installed, file), 'utf8');
  const before: Starter = JSON.parse(readInstalled(starterFile));
  const after: Starter = JSON.parse(await readTarball(tarball, starterFile));
  const news = newEntries(readInstalled(changelogFile), await readTarball(tarball, changelogFile));
  return { manifest, packages, from, to, before, after, news };
};

/** Makes a copy of the service with the next version, without anything installed. @returns its folder */
const copyService = async ({ root, parent }: Run, upgrade: Upgrade): Promise<string> => {
  const { manifest, packages, from, before, after } = upgrade;
  const copy = path.join(parent, 'service');
  await execute(root, 'git', 'clone', '--quiet', root, copy);
  for (const pin of Object.values(vendored(manifest, from))) await rm(path.join(copy, pin.slice('file:'.length)));
  for (const { tarball } of packages) await cp(tarball, path.join(copy, 'vendor', path.basename(tarball)));
  const next = nextManifest(manifest, packages, before, after);
  await writeFile(path.join(copy, 'package.json'), `${JSON.stringify(next, null, 2)}\n`);
  // The pinned Node.js moves with its package, or the commands would refuse it.
  const node = readFileSync(path.join(root, nodeFile), 'utf8');
  await writeFile(path.join(copy, nodeFile), withNewPins({ [nodeFile]: node }, before, after)[nodeFile] ?? node);
  return copy;
};

/** Runs a step in the copy. @returns whether it succeeded */
const step = async ({ console, stop }: Run, copy: string, command: Command): Promise<boolean> => {
  try {
    // npx sets this variable, and npm would then work in the service instead of the copy.
    await runToEnd(copy, command, stop, { npm_config_local_prefix: undefined });
    console.log(`ok ${command.join(' ')}`);
    return true;
  } catch (error) {
    stop.throwIfAborted();
    console.log(`FAILED ${command.join(' ')}\n${messageOf(error)}`);
    return false;
  }
};

const install: Command = ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund'];
const checks: Command[] = [
  ['npm', 'run', 'prepare'],
  ['npm', 'run', 'typecheck'],
  ['npm', 'test'],
];

/**
 * Replaces what an upgrade changes by what the copy has. Copies all first, so that only renames can fail or be
 * interrupted, and undoes these if one fails.
 */
const adopt = async ({ root, stop }: Run, copy: string, { manifest, packages, from }: Upgrade): Promise<void> => {
  await mkdir(path.join(root, ownFolder), { recursive: true });
  const parent = await mkdtemp(path.join(root, ownFolder, 'upgrade-'));
  const [next, old] = [path.join(parent, 'next'), path.join(parent, 'old')];
  const names = ['package.json', 'package-lock.json', nodeFile, 'node_modules'];
  for (const name of names)
    await cp(path.join(copy, name), path.join(next, name), { recursive: true, verbatimSymlinks: true });
  await mkdir(old);
  // Somebody may have changed a file meanwhile.
  await refuseChanges(root);
  stop.throwIfAborted();
  const renamed: string[] = [];
  try {
    for (const name of names) {
      await rename(path.join(root, name), path.join(old, name));
      renamed.push(name);
      await rename(path.join(next, name), path.join(root, name));
    }
    for (const { tarball } of packages) await cp(tarball, path.join(root, 'vendor', path.basename(tarball)));
    for (const pin of Object.values(vendored(manifest, from))) await rm(path.join(root, pin.slice('file:'.length)));
  } catch (error) {
    for (const name of renamed) {
      await rm(path.join(root, name), { recursive: true, force: true });
      await rename(path.join(old, name), path.join(root, name));
    }
    throw error;
  } finally {
    await rm(parent, { recursive: true, force: true, maxRetries: 5 });
  }
};

/** @returns whether the service has the next version, and all checks are green */
const upgrade = async (run: Run): Promise<boolean> => {
  const { root, keep, console, stop } = run;
  const found = await readUpgrade(run);
  const { manifest, from, to, before, after, news } = found;
  if (from === to) {
    console.log(`The service has ${to} already.`);
    return true;
  }
  console.log(`From ${from} to ${to}`);
  for (const [kind, entries] of news) console.log(`\n${kind}:\n${entries.join('\n')}\n`);
  const copy = await copyService(run, found);
  if (!(await step(run, copy, install))) throw new Error('The service is as it was.');
  let isGreen = true;
  for (const check of checks) isGreen &&= await step(run, copy, check);
  if (!isGreen && !keep)
    throw new Error('The service is as it was. With --keep, it gets the new version even if a check fails.');

  const left = (news.get('Breaking') ?? []).map((entry) => entry.slice(2).replaceAll(/\s+/g, ' '));
  const patch = await starterPatch(before, after, manifest.name);
  const patchFile = path.join(ownFolder, `upgrade-${to}.patch`);
  await adopt(run, copy, found);
  if (patch !== '') {
    await writeFile(path.join(root, patchFile), patch);
    left.push(`${patchFile} has what is new in files that are yours: read it, then git apply -3 ${patchFile}`);
  }
  console.log(`\nLeft to do:${left.length === 0 ? ' nothing.' : `\n${left.map((each) => `- ${each}`).join('\n')}`}`);
  console.log(`${ourCommand} diff HEAD -c stage=prod -c alarmEmail=none says what deploying this would change.`);
  // The copy has made this already. So the service has it, too, whoever stops the command now.
  if (isGreen) await runToEnd(root, ['npm', 'run', 'prepare'], new AbortController().signal);
  stop.throwIfAborted();
  return isGreen;
};

const start = async (folder: string, { keep = false }: { keep?: boolean }, terminal: Terminal): Promise<void> => {
  if (!existsSync(folder)) throw new Error(`${folder} does not exist. Name a folder with the tarballs of one version.`);
  const places = { root: path.resolve(), folder: path.resolve(folder) };
  await workIn('service-upgrade-', terminal, (parent, stop) =>
    upgrade({ ...places, parent, keep, console: terminal.console, stop }),
  );
};

export const define: Define = (command, terminal) =>
  command
    .argument('<folder>', 'a folder with the tarballs of the next version')
    .option('--keep', 'take the new version even if a check fails, to fix the service then')
    .action((folder: string, options: { keep?: boolean }) => start(folder, options, terminal));
