/** Runs scripts in child processes, which can import what this process cannot import again. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { printable } from './terminal.ts';

export const root = path.resolve(import.meta.dirname, '../..');

/**
 * Runs a script in a new process.
 * @returns the message that the script sent to this process
 * @throws Error with the script's error output if the script fails
 */
export const runScript = async (
  [script, ...args]: readonly [string, ...string[]],
  signal: AbortSignal,
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
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(shorten(stderr.trimEnd()) || `${script} ended with code ${code}`);
  if (stderr !== '') console.error(printable(stderr.trimEnd()));
  return message;
};

/** Matches what Node.js prints for an error whose message says all: the place, the code there, the error, a stack. */
const evident = /^(?:file:\/\/)?(\/[^\n]+:\d+)\n.*?^(?:Syntax|Configuration)Error\b[^:\n]*(: [^\n]+)/ms;

/** Makes one line, such as `infra/app.ts:7: Unexpected token`, of what Node.js prints for an evident error. */
const shorten = (stderr: string): string => {
  const [, place, message] = evident.exec(stderr) ?? [];
  return place === undefined ? stderr : `${path.relative(root, place)}${message}`;
};
