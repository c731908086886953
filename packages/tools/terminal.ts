/** What the commands share: they check their arguments, make text safe to print, and say why they fail. */
import { Console } from 'node:console';
import type { Readable, Writable } from 'node:stream';
import { CommanderError, InvalidArgumentError } from 'commander';
import { messageOf } from 'http-api-emulator/request-log';

export { messageOf, printable, withoutHash } from 'http-api-emulator/request-log';

/** Thrown by a command that the user has stopped. */
export class Stopped extends Error {}

/** What a command uses of its process. Tests hand in another. */
export type CommandProcess = {
  argv: string[];
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable;
  stderr: Writable & { isTTY?: boolean };
  on: (signal: NodeJS.Signals, stop: () => void) => unknown;
  exit: (code: number) => void;
  exitCode?: NodeJS.Process['exitCode'];
};

/** Runs until the command ends. `console` ignores that the process's output is closed. @throws if the command fails */
export type Command = (process: CommandProcess, console: Console) => Promise<unknown>;

/** Runs a command to its end. If it fails, prints why, and exits with code 1, or with 130 if the user has stopped it. */
export const runCommand = async (command: Command, process: CommandProcess = globalThis.process): Promise<void> => {
  const console = new Console(process.stdout, process.stderr);
  try {
    await command(process, console);
  } catch (error) {
    // Commander has printed its error, or the help.
    if (error instanceof CommanderError) return process.exit(error.exitCode);
    console.error(messageOf(error));
    process.exit(error instanceof Stopped ? 130 : 1);
  }
};

/** Returns a function that parses an argument: Commander prints `message` if the text does not match the pattern. */
export const matching =
  <T>(pattern: RegExp, message: string, parse: (text: string) => T) =>
  (text: string): T => {
    if (!pattern.test(text)) throw new InvalidArgumentError(message);
    return parse(text);
  };
