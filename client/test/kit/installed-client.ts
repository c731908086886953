/** Packs the client and installs it into an empty project, as its users do, but without network access. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtempDisposable, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { linkPackages } from '@lambda-service/tools/link-packages';
import { test as base } from 'vitest';

/** Runs a program. @throws Error with the program's output if it fails */
export const run = promisify(execFile);

/** @returns the paths of the project, of the installed package, and of the tarball */
const install = async (folder: string) => {
  // With `--cache`, npm writes its cache and its log into the test's folder.
  const options = ['--offline', '--no-audit', '--no-fund', '--cache', path.join(folder, 'cache')];
  const npm = (...args: string[]) => run('npm', [...args, ...options]);
  // Pack a copy, because `npm pack` builds in dist, where another test may be packing at the same time.
  const source = path.join(folder, 'source');
  for (const part of [
    'client',
    'packages/client',
    'functions/generated/contract.ts',
    'LICENSE',
    'package.json',
    'tsconfig.json',
  ])
    await cp(part, path.join(source, part), { recursive: true });
  linkPackages('.', source);
  await npm('pack', path.join(source, 'client'), '--pack-destination', folder);
  const packed = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  const tarball = path.join(folder, packed ?? 'no tarball');
  const project = path.join(folder, 'project');
  await mkdir(project);
  await writeFile(path.join(project, 'package.json'), '{"type":"module"}');
  await npm('install', '--prefix', project, tarball);
  return { project, tarball, installed: path.join(project, 'node_modules/plant-store-client') };
};

/** A test with the installed client, `client`, which all tests of a file share. */
// biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the needed fixtures from this pattern
export const test = base.extend('client', { scope: 'file' }, async ({}, { onCleanup }) => {
  const folder = await mkdtempDisposable(path.join(tmpdir(), 'plant-store-client-'));
  onCleanup(() => folder.remove());
  return install(folder.path);
});
