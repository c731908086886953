/** What the commands share: they check their arguments, make text safe to print, and say why they fail. */
import { Console } from 'node:console';
import type { Readable, Writable } from 'node:stream';
import { CommanderError, InvalidArgumentError } from 'commander';

/**
 * Escapes the control characters of a text from elsewhere, such as a server or a file's name, except tabs and line
 * breaks. Otherwise they could, for example, clear the terminal, change its title, or overwrite what was printed before.
 * @example printable('\u001b[2J') === '\\u001b[2J'
 */
export const printable = (text: string): string =>
  text.replaceAll(/[^\P{Cc}\n\t]/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Returns a logical id without the hash that CDK appends to it. */
export const withoutHash = (logicalId: string): string => logicalId.replace(/[0-9A-F]{8}$/, '');

/** Returns the message of an error that ends a command, ready to be printed. */
export const messageOf = (error: unknown): string => printable(error instanceof Error ? error.message : String(error));

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
