import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const root = path.resolve(import.meta.dirname, '../..');

/**
 * A copy of the project, in `folder`. Commands in the copy leave temporary files in `temporary`, which is outside that
 * folder.
 */
export type ProjectCopy = { folder: string; temporary: string };

/**
 * Copies the project into `parent`, so that commands can run in the copy: all files that git does not ignore, and
 * node_modules.
 * @param signal stops the copying when it is aborted; copyProject then rejects
 */
export const copyProject = async (parent: string, signal: AbortSignal): Promise<ProjectCopy> => {
  const copy = { folder: path.join(parent, 'project'), temporary: path.join(parent, 'tmp') };
  await mkdir(copy.temporary);
  const listed = execFileSync('git', ['ls-files', '-coz', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  const files = listed.split('\0').filter((file) => file !== '' && existsSync(path.join(root, file)));
  for (const file of files) {
    signal.throwIfAborted();
    await cp(path.join(root, file), path.join(copy.folder, file), { recursive: true, verbatimSymlinks: true });
  }
  await copyModules(path.join(copy.folder, 'node_modules'), signal);
  // Make the copy a git repository, because some tests ask git for the project's files.
  execFileSync('git', ['init', '--quiet'], { cwd: copy.folder });
  return copy;
};

/**
 * Copies node_modules without its caches. A symbolic link to the folder is not enough, because the bundling tests
 * compare real paths.
 */
const copyModules = async (target: string, signal: AbortSignal): Promise<void> => {
  const source = path.join(root, 'node_modules');
  const packages = (await readdir(source)).filter((name) => name === '.bin' || !name.startsWith('.'));
  await mkdir(target, { recursive: true });
  // Use hard links if possible: they take 2 s, copies up to 40 s. The originals are safe: npm replaces a package's files
  // instead of changing them.
  const copyWith = (option: string) =>
    promisify(execFile)('cp', [option, ...packages, target], { cwd: source, signal });
  await copyWith('-al').catch(() => copyWith('-a'));
  // Copy .package-lock.json, because npm rewrites it in place; with a hard link, npm would change the original, too.
  await cp(path.join(source, '.package-lock.json'), path.join(target, '.package-lock.json'));
};

/**
 * Starts a command in a copy of the project. `output` returns all that the command has printed so far. Aborting `signal`
 * ends the command and all processes that it has started, at once.
 */
export const startIn = (
  { folder, temporary }: ProjectCopy,
  [command, ...args]: [string, ...string[]],
  signal: AbortSignal,
  environment: Record<string, string> = {},
): { ended: Promise<number | null>; output: () => string } => {
  signal.throwIfAborted();
  const env = { ...process.env, TMPDIR: temporary, ...environment };
  // `detached` starts a process group, so that `end` also kills the processes that the command has started.
  const child = spawn(command, args, { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const end = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // Do nothing: process.kill throws if the process group has already ended.
    }
  };
  signal.addEventListener('abort', end);
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  void ended.then(() => signal.removeEventListener('abort', end));
  return { ended, output: () => output };
};
