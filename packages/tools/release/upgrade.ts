/** Takes the next version of the packages: tries it in a copy of the service, and changes the service only if all is green. */
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { runToEnd } from '../app.ts';
import { type Define, ourCommand, type Terminal } from '../terminal.ts';
import { newEntries } from './upgrade/changelog.ts';
import { type Starter, starterPatch, withNewPins } from './upgrade/starter.ts';

type Pins = Record<string, string>;
type Manifest = { name: string; version: string } & { [field in 'dependencies' | 'devDependencies']?: Pins };

/** A package of the next version. */
type Package = { tarball: string; name: string; version: string };

/** The package that has the changelog of all packages, and the files of a new service. */
const carrier = '@lambda-service/tools';
const changelogFile = 'CHANGELOG.md';
const starterFile = 'dist/starter.json';

const patchFile = '.local-service/upgrade.patch';

const execute = async (folder: string, command: string, ...args: string[]): Promise<string> =>
  (await promisify(execFile)(command, args, { cwd: folder, maxBuffer: 1e8 })).stdout;

const readTarball = (tarball: string, file: string): Promise<string> =>
  execute('.', 'tar', '-xOzf', tarball, `package/${file}`);

const isVendored = (pin: string): boolean => pin.startsWith('file:vendor/');

const readManifest = (folder: string): Manifest => JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));

/** @throws Error if the folder does not have exactly one version of each package that the service has */
const readPackages = async (folder: string, { dependencies, devDependencies }: Manifest): Promise<Package[]> => {
  const tarballs = globSync('*.tgz', { cwd: folder }).map((file) => path.resolve(folder, file));
  const packages = await Promise.all(
    tarballs.map(async (tarball): Promise<Package> => {
      const { name, version }: Manifest = JSON.parse(await readTarball(tarball, 'package.json'));
      return { tarball, name, version };
    }),
  );
  const own = Object.entries({ ...dependencies, ...devDependencies }).filter(([, pin]) => isVendored(pin));
  if (own.length === 0) throw new Error('package.json names no package in vendor/, so there is nothing to upgrade.');
  const missing = own.filter(([name]) => !packages.some((each) => each.name === name)).map(([name]) => name);
  if (missing.length > 0) throw new Error(`${folder} has no tarball of ${missing.join(', ')}.`);
  if (new Set(packages.map(({ version }) => version)).size > 1)
    throw new Error(`${folder} has tarballs of several versions: leave those of one.`);
  return packages;
};

/** Returns the manifest with the next version. Every tarball is named, or npm would ask the registry for the package. */
const nextManifest = (manifest: Manifest, packages: Package[], before: Starter, after: Starter): Manifest => {
  const next = Object.fromEntries(
    packages.map(({ name, tarball }) => [name, `file:vendor/${path.basename(tarball)}`] as const),
  );
  const moved = (pins: Pins = {}): Pins =>
    Object.fromEntries(
      Object.entries(withNewPins(pins, before, after)).map(([name, pin]) => [
        name,
        isVendored(pin) ? (next[name] ?? pin) : pin,
      ]),
    );
  const dependencies = moved(manifest.dependencies);
  const more = Object.entries(next).filter(([name]) => !(name in dependencies));
  return {
    ...manifest,
    dependencies,
    devDependencies: { ...moved(manifest.devDependencies), ...Object.fromEntries(more) },
  };
};

const changed = ['package.json', 'package-lock.json', 'vendor', 'node_modules'];

/** Replaces what an upgrade changes by what the copy has: copies all first, so that only renames can be interrupted. */
const adopt = async (root: string, copy: string, stop: AbortSignal): Promise<void> => {
  const parent = await mkdtemp(path.join(root, '.upgrade-'));
  try {
    const [next, old] = [path.join(parent, 'next'), path.join(parent, 'old')];
    for (const name of changed)
      await cp(path.join(copy, name), path.join(next, name), { recursive: true, verbatimSymlinks: true });
    await mkdir(old);
    stop.throwIfAborted();
    for (const name of changed) {
      await rename(path.join(root, name), path.join(old, name));
      await rename(path.join(next, name), path.join(root, name));
    }
  } finally {
    await rm(parent, { recursive: true, force: true, maxRetries: 5 });
  }
};

type Run = { root: string; parent: string; folder: string; keep: boolean; console: Console; stop: AbortSignal };

/** Prints what the new version brings. @returns what is left to do by hand */
const describe = async ({ root, console }: Run, news: Map<string, string[]>, patch: string): Promise<string[]> => {
  for (const [kind, entries] of news) console.log(`\n${kind}:\n${entries.join('\n')}`);
  if (patch !== '') {
    await mkdir(path.join(root, path.dirname(patchFile)), { recursive: true });
    await writeFile(path.join(root, patchFile), patch);
  }
  return [
    ...(news.get('Breaking') ?? []).map((entry) => entry.slice(2).replaceAll(/\s+/g, ' ')),
    ...(patch === ''
      ? []
      : [`${patchFile} has what is new in files that are yours: read it, then git apply -3 ${patchFile}`]),
  ];
};

/** Runs a step in the copy. @returns whether it succeeded */
const step = async ({ console, stop }: Run, copy: string, ...command: [string, ...string[]]): Promise<boolean> => {
  const name = command.join(' ');
  try {
    // npx sets this variable, and npm would then work in the service instead of the copy.
    await runToEnd(copy, command, stop, { npm_config_local_prefix: undefined });
    console.log(`ok ${name}`);
    return true;
  } catch (error) {
    stop.throwIfAborted();
    console.log(`FAILED ${name}\n${(error as Error).message}`);
    return false;
  }
};

const upgrade = async (run: Run): Promise<boolean> => {
  const { root, parent, folder, keep, console, stop } = run;
  const status = await execute(root, 'git', 'status', '--porcelain');
  if (status !== '') throw new Error(`Commit or stash your changes first:\n${status.trimEnd()}`);
  const manifest = readManifest(root);
  const packages = await readPackages(folder, manifest);
  const installed = path.join(root, 'node_modules', carrier);
  const { version: from } = readManifest(installed);
  const [{ tarball = '', version: to = '' } = {}] = packages.filter(({ name }) => name === carrier);
  if (from === to) {
    console.log(`The service has ${to} already.`);
    return true;
  }
  console.log(`From ${from} to ${to}`);
  const before: Starter = JSON.parse(readFileSync(path.join(installed, starterFile), 'utf8'));
  const after: Starter = JSON.parse(await readTarball(tarball, starterFile));
  const news = newEntries(
    readFileSync(path.join(installed, changelogFile), 'utf8'),
    await readTarball(tarball, changelogFile),
  );

  const copy = path.join(parent, 'service');
  await execute(root, 'git', 'clone', '--quiet', root, copy);
  await rm(path.join(copy, 'vendor'), { recursive: true });
  for (const each of packages) await cp(each.tarball, path.join(copy, 'vendor', path.basename(each.tarball)));
  const next = nextManifest(manifest, packages, before, after);
  await writeFile(path.join(copy, 'package.json'), `${JSON.stringify(next, null, 2)}\n`);
  // It also generates code.
  if (!(await step(run, copy, 'npm', 'install', '--no-audit', '--no-fund'))) return false;
  const isGreen = (await step(run, copy, 'npm', 'run', 'typecheck')) && (await step(run, copy, 'npm', 'test'));
  const left = await describe(run, news, await starterPatch(before, after, manifest.name));
  if (isGreen || keep) {
    await adopt(root, copy, stop);
    if (!(await step(run, root, 'npm', 'run', 'prepare'))) return false;
  }
  console.log(`\nLeft to do:${left.length === 0 ? ' nothing.' : `\n${left.map((each) => `- ${each}`).join('\n')}`}`);
  console.log(`Then ${ourCommand} diff HEAD -c stage=prod says what deploying this would change.`);
  return isGreen;
};

const start = async (folder: string, { keep = false }: { keep?: boolean }, terminal: Terminal): Promise<void> => {
  const { process, console } = terminal;
  if (!existsSync(folder)) throw new Error(`${folder} does not exist. Name a folder with the tarballs of one version.`);
  const stop = terminal.stop();
  const parent = await mkdtemp(path.join(os.tmpdir(), 'service-upgrade-'));
  const run = { root: path.resolve(), parent, folder: path.resolve(folder), keep, console, stop };
  const isGood = await upgrade(run)
    .catch((error: unknown) => {
      throw stop.aborted ? stop.reason : error;
    })
    .finally(() => rm(parent, { recursive: true, force: true, maxRetries: 5 }));
  if (isGood) return;
  if (!keep) console.error('The service is as it was. With --keep, it gets the new version even if a check fails.');
  process.exitCode = 1;
};

export const define: Define = (command, terminal) =>
  command
    .argument('<folder>', 'a folder with the tarballs of the next version')
    .option('--keep', 'take the new version even if a check fails, to fix the service then')
    .action((folder: string, options: { keep?: boolean }) => start(folder, options, terminal));
