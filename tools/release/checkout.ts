import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type ProjectCopy, startIn } from './project-copy.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** The project at a commit. `hasSamePackages` is true if its package-lock.json is that of the working tree. */
export type Checkout = ProjectCopy & { commit: string; hasSamePackages: boolean };

/** An error that the user must fix. Its message says how. */
export class CheckoutError extends Error {}

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
  const archive = path.join(copy.temporary, 'project.tar');
  // If the project is a subfolder of a git repository, `git archive` exports only that subfolder.
  await git(project, ['archive', '--format=tar', `--output=${archive}`, commit], signal);
  await promisify(execFile)('tar', ['-xf', archive, '-C', copy.folder], { signal });
  await rm(archive);
  const locks = [copy.folder, project].map((folder) => readFile(path.join(folder, 'package-lock.json'), 'utf8'));
  const [then, now] = await Promise.all(locks);
  const hasSamePackages = then === now;
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
  const { scripts } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
  const [, compiler] = /\bnode (\S+\.ts\b[^&]*)$/.exec(scripts?.prepare ?? '') ?? [];
  if (compiler === undefined) throw new CheckoutError(`${ref} is too old: its script prepare compiles no contract.`);
  return compiler.split(' ');
};

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
  const ask = async (...args: string[]): Promise<string | undefined> => {
    const answer = await git(project, args, signal).catch(() => undefined);
    signal.throwIfAborted();
    return answer?.stdout.trim();
  };
  const isShallow = await ask('rev-parse', '--is-shallow-repository');
  if (isShallow === undefined)
    throw new CheckoutError('This folder is not a git repository, so it has no older version.');
  const commit = await ask('rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`);
  if (commit === undefined) {
    const reason =
      isShallow === 'true'
        ? 'This clone has only part of the history: git fetch --unshallow, or in a workflow fetch-depth: 0.'
        : 'git branch --all and git tag list what it has; git fetch gets what is new.';
    throw new CheckoutError(`git does not have the commit ${ref}. ${reason}`);
  }
  for (const file of ['infra/app.ts', 'package.json', 'package-lock.json']) {
    if ((await ask('cat-file', '-e', `${commit}:./${file}`)) === undefined)
      throw new CheckoutError(`${ref} is too old: it has no ${file}, so its stack cannot be synthesized.`);
  }
  return commit;
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
  if (code !== 0) throw new CheckoutError(`${failure}:\n${output()}`);
};
