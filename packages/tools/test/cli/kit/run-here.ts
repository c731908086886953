import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { vi } from 'vitest';
import { type Command, runCommand } from '../../../terminal.ts';

/** Changes the process of a command before the command runs. */
export type Before = (child: { stderr: PassThrough }) => void;

/** Runs a command in this process, as `run` does in another: `child.emit('SIGINT')` is its Ctrl-C. */
export const runHere = (
  command: Command,
  args: string[] = [],
  environment: Record<string, string> = {},
  before: Before = () => {},
) => {
  // If npm runs the tests, it has set variables, which commands take for options.
  for (const name of Object.keys(process.env)) if (name.startsWith('npm_config_')) vi.stubEnv(name, undefined);
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
  return { child, ended: runCommand(command, child).then(() => ({ code: child.exitCode, ...output })) };
};
