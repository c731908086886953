import { execFileSync, spawn } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');

/** A copy of the project. Its commands leave temporary files in `temporary`, which is not part of the copy. */
export type ProjectCopy = { folder: string; temporary: string };

/**
 * Copies the project into `parent`: all files that git does not ignore, and node_modules. Its commands can run there.
 * @param signal stops the copying, which then rejects
 */
export const copyProject = async (parent: string, signal: AbortSignal): Promise<ProjectCopy> => {
  const copy = { folder: path.join(parent, 'project'), temporary: path.join(parent, 'tmp') };
  await mkdir(copy.temporary);
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  const files = listed.split('\n').filter((file) => file !== '' && existsSync(path.join(root, file)));
  // node_modules is copied too: a link would not do, because the tests of the bundles compare real paths.
  for (const file of [...files, 'node_modules']) {
    signal.throwIfAborted();
    const options = { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE };
    await cp(path.join(root, file), path.join(copy.folder, file), options);
  }
  // Some tests ask git for the project's files.
  execFileSync('git', ['init', '--quiet'], { cwd: copy.folder });
  return copy;
};

/** A command that runs in a copy. `output` returns all that it has printed. */
export type Running = { ended: Promise<number | null>; output: () => string };

/** Starts a command in a copy. When `signal` is aborted, it and all that it has started end at once. */
export const startIn = (
  { folder, temporary }: ProjectCopy,
  [command, ...args]: [string, ...string[]],
  signal: AbortSignal,
  environment: Record<string, string> = {},
): Running => {
  signal.throwIfAborted();
  const env = { ...process.env, TMPDIR: temporary, ...environment };
  // `detached` makes a process group, so that `end` also kills what the command has started.
  const child = spawn(command, args, { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const end = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // The process group has already ended.
    }
  };
  signal.addEventListener('abort', end);
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  void ended.then(() => signal.removeEventListener('abort', end));
  return { ended, output: () => output };
};
