/** Runs scripts in child processes, which can import what this process cannot import again, or should not keep. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Synthesis, Synthesized } from './synthesize.ts';
import { printable } from './terminal.ts';

export const root = path.resolve(import.meta.dirname, '../../..');

/**
 * Runs a script in a new process, and sends `input` to it, if given.
 * @returns the message that the script sent to this process
 * @throws Error with the script's error output if the script fails
 */
export const runScript = async (
  [script, ...args]: readonly [string, ...string[]],
  signal: AbortSignal,
  input?: Promise<object>,
): Promise<unknown> => {
  const child = fork(path.join(root, script), args, {
    cwd: root,
    signal,
    execArgv: [],
    stdio: ['ignore', 1, 'pipe', 'ipc'],
  });
  let stderr = '';
  let message: unknown;
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  child.on('message', (sent) => (message = sent));
  void input?.then((given) => child.connected && child.send(given));
  const [code, killedBy] = await once(child, 'close');
  if (code !== 0) throw new Error(shorten(stderr.trimEnd()) || `${script} ended with ${killedBy ?? `code ${code}`}`);
  if (stderr !== '') console.error(printable(stderr.trimEnd()));
  return message;
};

/** Synthesizes the stack in a child process, which loads the CDK before it needs the `synthesis`. */
export const synthesize = async (
  synthesis: Synthesis | Promise<Synthesis>,
  signal: AbortSignal,
): Promise<Synthesized> => {
  const synthesized = await runScript(['packages/tools/start/synthesize.ts'], signal, Promise.resolve(synthesis));
  if (synthesized === undefined) throw new Error('The synthesis ended early: does a file in infra/ call process.exit?');
  return synthesized as Synthesized;
};

/** Matches what Node.js prints for an error whose message says all: the place, the code there, the error, a stack. */
const evident = /^(?:file:\/\/)?(\/[^\n]+:\d+)\n.*?^(Syntax|Configuration)Error\b[^:\n]*: ([^\n]+)/ms;

/** Makes one line, such as `infra/app.ts:7: Unexpected token`, of what Node.js prints for an evident error. */
const shorten = (stderr: string): string => {
  const [, place, kind, message = stderr] = evident.exec(stderr) ?? [];
  // Whoever set a wrong value does not look for it in the file that reads it.
  if (place === undefined || kind === 'Configuration') return message;
  return `${path.relative(root, stderr.startsWith('file:') ? decodeURIComponent(place) : place)}: ${message}`;
};
