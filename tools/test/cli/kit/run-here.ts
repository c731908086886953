import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { vi } from 'vitest';
import { type Command, runCommand } from '../../../start/terminal.ts';

/** Changes the process of a command before the command runs. */
export type Before = (child: { stderr: PassThrough }) => void;

/** Runs a command in this process, as `run` does in another: `child.emit('SIGINT')` is its Ctrl-C. */
export const runHere = (
  command: Command,
  args: string[] = [],
  environment: Record<string, string> = {},
  before: Before = () => {},
) => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const result = { code: 0, stdout: '', stderr: '' };
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdout.on('data', (chunk) => (result.stdout += chunk));
  stderr.on('data', (chunk) => (result.stderr += chunk));
  const exit = (code: number): void => {
    result.code = code;
  };
  const child = Object.assign(new EventEmitter(), { argv: ['node', 'file', ...args], stdin, stdout, stderr, exit });
  before(child);
  return { child, ended: runCommand(command, child).then(() => result) };
};
