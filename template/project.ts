/** Reads and writes the files of this project and of others. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '..');

/** Runs a command to its end, and shows its errors. @returns what it prints @throws Error with that if it fails */
export const run = (cwd: string, command: string, ...args: string[]): string => {
  const { status, stdout, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`${[command, ...args].join(' ')} failed:\n${error?.message ?? stdout}`);
  return stdout;
};

/** Writes a file, and the folder that it is in. */
export const write = (file: string, text: string, mode?: number): void => {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text, { mode });
};

/** Lists the files of this project, tracked or new, that match patterns of git. */
export const listFiles = (...patterns: string[]): string[] =>
  run(root, 'git', 'ls-files', '-coz', '--exclude-standard', '--', ...patterns)
    .split('\0')
    .filter((file) => file !== '' && existsSync(path.join(root, file)));
