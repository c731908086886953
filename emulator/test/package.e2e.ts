/** Packs the emulator, installs it offline into an empty project, and serves a small CDK app there. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import lock from '../../package-lock.json' with { type: 'json' };
import { temporaryFolder } from './kit/temporary-folder.ts';

const root = path.resolve(import.meta.dirname, '../..');
const modules = path.join(root, 'node_modules');

const places: Record<string, object> = lock.packages;

const dependenciesOf = (place: string): string[] => {
  const { dependencies = {} }: { dependencies?: object } = places[place] ?? {};
  return Object.keys(dependencies);
};

/** Adds the folders of a package and of all its dependencies to `found`. The lock file says which folders these are. */
const collect = (name: string, from = '', found = new Set<string>()): Set<string> => {
  const place = path.posix.join(from, 'node_modules', name);
  if (!(place in places)) return collect(name, from.replace(/\/?node_modules\/(?:@[^/]+\/)?[^/]+$/, ''), found);
  if (!found.has(place)) for (const each of dependenciesOf(place)) collect(each, place, found.add(place));
  return found.add(place);
};

/** Makes a project in `folder` with the packed emulator, and copies the dependencies there, so npm needs no network. */
const install = async (folder: string): Promise<string> => {
  const npm = (...args: string[]) => {
    const options = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts', '--cache', path.join(folder, 'cache')];
    return promisify(execFile)('npm', [...args, ...options], { cwd: root });
  };
  // `npm pack` builds in the package's folder, where another test may be packing too, so pack a copy of that folder.
  const source = path.join(folder, 'source');
  for (const part of ['emulator', 'LICENSE', 'tsconfig.json']) {
    await cp(path.join(root, part), path.join(source, part), { recursive: true });
  }
  await symlink(modules, path.join(source, 'node_modules'));
  await promisify(execFile)('npm', ['pack', '--pack-destination', folder], { cwd: path.join(source, 'emulator') });
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? 'no tarball';

  const project = path.join(folder, 'project');
  await mkdir(path.join(project, 'node_modules'), { recursive: true });
  await writeFile(path.join(project, 'package.json'), '{"type":"module"}');
  for (const each of new Set(dependenciesOf('emulator').flatMap((name) => [...collect(name)]))) {
    await cp(path.join(root, each), path.join(project, each), { recursive: true });
  }
  // Copy node_modules/.bin, too. Without the links in it, npm would install again every package that has a command.
  await cp(path.join(modules, '.bin'), path.join(project, 'node_modules/.bin'), {
    recursive: true,
    verbatimSymlinks: true,
  });
  await npm('install', '--prefix', project, path.join(folder, tarball));
  return project;
};

test('the packed emulator installs without a network, includes types, and serves the example app of its README', async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const project = await install(folder);
  const manifest = await readFile(path.join(project, 'node_modules/http-api-emulator/package.json'), 'utf8');
  expect(JSON.parse(manifest)).toMatchObject({ engines: { node: '>=24.5' }, exports: './dist/index.js' });
  for (const name of ['aws-cdk-lib', 'constructs', '@types']) {
    await symlink(path.join(modules, name), path.join(project, 'node_modules', name));
  }
  const readme = await readFile(path.join(root, 'emulator/README.md'), 'utf8');
  for (const [, file = '', code = ''] of readme.matchAll(/^```\w+ (\S+)\n(.*?)^```/gms)) {
    await mkdir(path.dirname(path.join(project, file)), { recursive: true });
    await writeFile(path.join(project, file), code);
  }
  const compilerOptions = { strict: true, noEmit: true, skipLibCheck: true, module: 'nodenext', target: 'es2024' };
  await writeFile(path.join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  await promisify(execFile)(process.execPath, [path.join(modules, 'typescript/bin/tsc'), '-p', project]);

  const child = spawn(process.execPath, ['serve.ts'], { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  const url = /http:\S+/.exec(String(line))?.[0];
  if (url === undefined) throw new Error(`serve.ts printed or exited with: ${line}`);
  expect(await (await fetch(`${url}/hello/Ann`)).text()).toBe('Hello Ann');
  child.kill();
  await once(child, 'exit');
});
