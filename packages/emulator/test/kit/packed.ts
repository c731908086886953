import { execFile } from 'node:child_process';
import { cp, readdir, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';

export const run = promisify(execFile);

export const emulator = path.resolve(import.meta.dirname, '../..');
export const modules = path.resolve(createRequire(import.meta.url).resolve('aws-cdk-lib/package.json'), '../..');
const root = path.dirname(modules);

/**
 * Packs the emulator in a copy of its folder, because `npm pack` builds there, and another test may pack too.
 * @returns the path of the tarball, which is in `folder`
 */
export const pack = async (folder: string): Promise<string> => {
  const source = path.join(folder, 'source');
  const copy = path.join(source, path.relative(root, emulator));
  await cp(emulator, copy, { recursive: true });
  for (const part of ['LICENSE', 'tsconfig.json']) await cp(path.join(root, part), path.join(source, part));
  await symlink(modules, path.join(source, 'node_modules'));
  await run('npm', ['pack', '--pack-destination', folder], { cwd: copy });
  return path.join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? 'no tarball');
};

/** Unpacks a tarball of npm in a new folder. */
export const unpack = (tarball: string, folder: string) =>
  run('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1']);
