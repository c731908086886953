import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { vi } from 'vitest';
import { main } from '../../../main.ts';

/** Changes the process of a command before the command runs. */
export type Before = (child: { stderr: PassThrough }) => void;

/** Runs a command line in this process, as `run` does in another: `child.emit('SIGINT')` is its Ctrl-C. */
export const runHere = (args: string[], environment: Record<string, string> = {}, before: Before = () => {}) => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const output = { stdout: '', stderr: '' };
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdout.on('data', (chunk) => (output.stdout += chunk));
  stderr.on('data', (chunk) => (output.stderr += chunk));
  const argv = ['node', 'file', ...args];
  const exit = (code: number): void => {
    child.exitCode = code;
  };
  const child = Object.assign(new EventEmitter(), { argv, stdin, stdout, stderr, exit, exitCode: 0 });
  before(child);
  return { child, ended: main(child).then(() => ({ code: child.exitCode, ...output })) };
};
