import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type ProjectCopy, startIn } from './project-copy.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** The project at a commit. `hasSamePackages` is true if its package-lock.json is that of the working tree. */
export type Checkout = ProjectCopy & { commit: string; hasSamePackages: boolean };

/**
 * Checks out the project at a git ref into `parent`, a folder that the caller removes later. The checkout uses the
 * packages installed here; with `ownPackages`, npm installs its own if its package-lock.json differs from ours.
 */
export const checkOut = async (
  parent: string,
  ref: string,
  signal: AbortSignal,
  { project = root, ownPackages = false } = {},
): Promise<Checkout> => {
  const commit = await findCommit(ref, project, signal);
  const copy = { folder: path.join(parent, 'project'), temporary: path.join(parent, 'tmp') };
  await Promise.all([mkdir(copy.folder, { recursive: true }), mkdir(copy.temporary, { recursive: true })]);
  // If the project is a subfolder of a git repository, `git archive` exports only that subfolder.
  const extract = ['-c', 'git archive "$0" | tar -x -C "$1"', commit, copy.folder];
  await promisify(execFile)('sh', extract, { cwd: project, signal });
  const then = await readOld(copy.folder, ref, 'package-lock.json');
  const hasSamePackages = then === (await readFile(path.join(project, 'package-lock.json'), 'utf8'));
  const install = ['npm', 'ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'] as const;
  if (ownPackages && !hasSamePackages) await runIn(copy, install, `npm ci failed at ${ref}`, signal);
  else await symlink(path.join(project, 'node_modules'), path.join(copy.folder, 'node_modules'));
  const compile = [process.execPath, ...(await readCompiler(copy.folder, ref))] as const;
  await runIn(copy, compile, `The contract of ${ref} cannot be compiled`, signal);
  return { ...copy, commit, hasSamePackages };
};

/**
 * Reads the last command of a checkout's script `prepare`, which compiles the contract. The others would change the
 * link to Node.js in the packages installed here, and refuse our Node.js if that commit pinned another one.
 */
const readCompiler = async (folder: string, ref: string): Promise<string[]> => {
  const { scripts } = JSON.parse(await readOld(folder, ref, 'package.json'));
  const [, compiler] = /\bnode (\S+\.ts\b[^&]*)$/.exec(scripts?.prepare ?? '') ?? [];
  if (compiler === undefined) throw new Error(`${ref} is too old: its script prepare compiles no contract.`);
  return compiler.split(' ');
};

const readOld = (folder: string, ref: string, file: string): Promise<string> =>
  readFile(path.join(folder, file), 'utf8').catch(() => {
    throw new Error(`${ref} is too old: it has no ${file}, so its stack cannot be synthesized.`);
  });

/** Returns the newest commit that HEAD and `main` share, or undefined if git finds none. */
export const sharedWithMain = async (signal: AbortSignal, project = root): Promise<string | undefined> => {
  for (const main of ['origin/main', 'main']) {
    const answer = await git(project, ['merge-base', 'HEAD', main], signal).catch(() => undefined);
    signal.throwIfAborted();
    if (answer !== undefined) return answer.stdout.trim();
  }
  return undefined;
};

const git = (cwd: string, args: string[], signal: AbortSignal) => promisify(execFile)('git', args, { cwd, signal });

const findCommit = async (ref: string, project: string, signal: AbortSignal): Promise<string> => {
  try {
    return (await git(project, ['rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`], signal)).stdout.trim();
  } catch (error) {
    signal.throwIfAborted();
    const { stderr } = error as { stderr: string };
    throw new Error(
      `git does not have the commit ${ref}: ${stderr.trim()}\n` +
        'git fetch gets what is new, git fetch --unshallow what a shallow clone lacks; a workflow needs fetch-depth: 0.',
    );
  }
};

const runIn = async (
  copy: ProjectCopy,
  command: readonly [string, ...string[]],
  failure: string,
  signal: AbortSignal,
): Promise<void> => {
  const { ended, output } = startIn(copy, [...command], signal);
  const code = await ended;
  signal.throwIfAborted();
  if (code !== 0) throw new Error(`${failure}:\n${output()}`);
};
