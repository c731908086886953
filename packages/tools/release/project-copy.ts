/** Checks out the project at an earlier commit, and runs commands in a copy of the project. */
import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { runToEnd } from '../app.ts';
import { type Command, startGroup } from '../process-group.ts';
import { linkPackages } from './link-packages.ts';

const root = path.resolve();

/**
 * A copy of the project, in `folder`. Commands in the copy leave temporary files in `temporary`, which is outside that
 * folder.
 */
export type ProjectCopy = { folder: string; temporary: string };

/** The project at a commit. `hasSamePackages` is true if npm would install for it what is installed in the working tree. */
export type Checkout = ProjectCopy & { commit: string; hasSamePackages: boolean };

/** Makes the folders of a copy in `parent`. */
export const makeFolders = async (parent: string): Promise<ProjectCopy> => {
  const copy = { folder: path.join(parent, 'project'), temporary: path.join(parent, 'tmp') };
  for (const folder of Object.values(copy)) await mkdir(folder, { recursive: true });
  return copy;
};

/**
 * Checks out the project at a git ref into `parent`, a folder that the caller removes later. The checkout uses its own
 * workspaces, and the packages installed here; with `ownPackages`, npm installs others if its package-lock.json differs.
 * @throws Error with a sentence for the user
 */
export const checkOut = async (
  parent: string,
  ref: string,
  signal: AbortSignal,
  { project = root, ownPackages = false } = {},
): Promise<Checkout> => {
  const commit = await findCommit(ref, project, signal);
  const copy = await makeFolders(parent);
  // If the project is a subfolder of a git repository, `git archive` exports only that subfolder.
  const extract = ['sh', '-c', 'git archive "$0" | tar -x -C "$1"', commit, copy.folder] as const;
  await runIn({ ...copy, folder: project }, extract, `${ref} cannot be checked out`, signal);
  const then = await readOld(copy.folder, ref, 'package-lock.json');
  const hasSamePackages =
    downloads(then) === downloads(await readFile(path.join(project, 'package-lock.json'), 'utf8'));
  const compile = [process.execPath, ...(await readCompiler(copy.folder, ref))] as const;
  const install = ['npm', 'ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'] as const;
  if (ownPackages && !hasSamePackages) await runIn(copy, install, `npm ci failed at ${ref}`, signal);
  else linkPackages(project, copy.folder);
  await runIn(copy, compile, `The contract of ${ref} cannot be compiled`, signal);
  return { ...copy, commit, hasSamePackages };
};

/**
 * Reads the last command of a checkout's script `prepare`, which compiles the contract. The others would change the
 * link to Node.js in the packages installed here, and refuse our Node.js if that commit pinned another one.
 */
const readCompiler = async (folder: string, ref: string): Promise<string[]> => {
  const { scripts } = JSON.parse(await readOld(folder, ref, 'package.json'));
  const [, compiler] = /\bnode (\S+\.[jt]s\b[^&]*)$/.exec(scripts?.prepare ?? '') ?? [];
  if (compiler === undefined) throw new Error(`${ref} is too old: its script prepare compiles no contract.`);
  return compiler.split(' ');
};

/** Returns the part of a lock file that says what npm downloads. `linkPackages` needs no npm for tarballs in the project. */
const downloads = (lock: string): string => {
  const { packages = {} }: { packages?: Record<string, { version?: string; resolved?: string }> } = JSON.parse(lock);
  const others = Object.entries(packages).filter(([at, { resolved }]) => at !== '' && !resolved?.startsWith('file:'));
  // Not where: npm may move a package that two others need.
  return JSON.stringify(others.map(([at, { version }]) => `${at.split('node_modules/').at(-1)} ${version}`).sort());
};

const readOld = (folder: string, ref: string, file: string): Promise<string> =>
  readFile(path.join(folder, file), 'utf8').catch(() => {
    throw new Error(`${ref} is too old: it has no ${file}, so its stack cannot be synthesized.`);
  });

/** Returns the newest commit that HEAD and `main` share, or undefined if git finds none. */
export const sharedWithMain = async (signal: AbortSignal, project = root): Promise<string | undefined> => {
  for (const main of ['origin/main', 'main']) {
    const commit = await git(project, ['merge-base', 'HEAD', main], signal).catch(() => undefined);
    signal.throwIfAborted();
    if (commit !== undefined) return commit;
  }
  return undefined;
};

const git = async (cwd: string, args: string[], signal: AbortSignal): Promise<string> =>
  (await promisify(execFile)('git', args, { cwd, signal })).stdout.trim();

const findCommit = (ref: string, project: string, signal: AbortSignal): Promise<string> =>
  git(project, ['rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`], signal).catch(
    ({ stderr }: { stderr: string }) => {
      signal.throwIfAborted();
      throw new Error(
        `git does not have the commit ${ref}: ${stderr.trim()}\n` +
          'git fetch gets what is new, git fetch --unshallow what a shallow clone lacks; a workflow needs fetch-depth: 0.',
      );
    },
  );

/** Runs a command in a copy to its end. @throws Error that begins with `failure` if it fails */
const runIn = ({ folder, temporary }: ProjectCopy, command: Command, failure: string, signal: AbortSignal) =>
  runToEnd(folder, command, signal, withOwnFiles(temporary)).catch((error: Error) => {
    signal.throwIfAborted();
    throw new Error(`${failure}:\n${error.message}`);
  });

/** Starts a command in a copy of the project, as `startGroup` does. */
export const startIn = (
  { folder, temporary }: ProjectCopy,
  command: Command,
  signal: AbortSignal,
  environment: Record<string, string | undefined> = {},
) => startGroup(folder, command, signal, { ...withOwnFiles(temporary), ...environment });

/** The variables of a command in a copy: nothing uses what it compiles again, so the project's cache need not grow. */
export const withOwnFiles = (temporary: string) => ({ TMPDIR: temporary, NODE_DISABLE_COMPILE_CACHE: '1' });
