import { spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';

/** A program and its arguments. */
export type Command = readonly [string, ...string[]];

/**
 * Starts a command in a folder, in a process group of its own, which ends at once if `signal` aborts. A command that
 * does not exist ends with its error message as `output`.
 * @param input the command reads this from its file descriptor 3
 * @returns functions that return what it has printed so far: `output` is `stdout` and `stderr`, in order
 */
export const startGroup = (
  folder: string,
  [command, ...args]: Command,
  signal: AbortSignal,
  environment: Record<string, string | undefined> = {},
  input?: Promise<string>,
) => {
  signal.throwIfAborted();
  const env = { ...process.env, ...environment };
  // `detached` starts a process group, so that `end` also kills the processes that the command has started.
  const child = spawn(command, args, {
    ...{ cwd: folder, env, detached: true },
    stdio: ['ignore', 'pipe', 'pipe', input === undefined ? 'ignore' : 'pipe'],
  });
  const printed = { output: '', stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk) => {
      printed.output += chunk;
      printed[name] += chunk;
    });
  }
  child.on('error', ({ message }) => (printed.output += message));
  // The command may end before it reads the input, and the input may fail: then there is nothing to read.
  const pipe = child.stdio[3] as Duplex | null;
  pipe?.on('error', () => {});
  input?.then(
    (text) => pipe?.end(text),
    () => pipe?.destroy(),
  );
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
  return {
    ended,
    output: () => printed.output,
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
  };
};
