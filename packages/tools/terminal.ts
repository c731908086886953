/** What the commands share: they check their arguments, make text safe to print, and say why they fail. */
import { Console } from 'node:console';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { type Command, CommanderError, InvalidArgumentError } from 'commander';
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

/** How people run the commands. The name has a scope, because outside the project npx asks the registry for it. */
export const ourCommand = 'npx @lambda-service/tools';

/**
 * What a command uses. `console` ignores that the process's output is closed. If the user stops a command, it ends at
 * once, unless it has called `stop`: it then cleans up when that signal aborts, and throws the signal's reason.
 */
export type Terminal = { process: CommandProcess; console: Console; stop: () => AbortSignal };

/** Adds its options and its action to a command. */
export type Define = (command: Command, terminal: Terminal) => unknown;

const makeStop = (process: CommandProcess, console: Console): Terminal['stop'] => {
  const stop = new AbortController();
  let isAwaited = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      stop.abort(new Stopped('Stopped.'));
      if (isAwaited) return;
      console.error('Stopped.');
      process.exit(130);
    });
  }
  return () => {
    isAwaited = true;
    return stop.signal;
  };
};

/** Waits for work that needs no clean-up. @throws the reason of `stop` as soon as that aborts */
export const untilStopped = <T>(stop: AbortSignal, work: Promise<T>): Promise<T> => {
  const stopped = Promise.withResolvers<never>();
  stop.addEventListener('abort', () => stopped.reject(stop.reason));
  return Promise.race([work, stopped.promise]);
};

/**
 * Runs a command to its end. If it fails, prints why, and exits with code 1, or with 130 if the user has stopped it.
 * @param stops is false if the command itself stops on signals
 */
export const runCommand = async (
  command: (terminal: Terminal) => Promise<unknown>,
  process: CommandProcess = globalThis.process,
  stops = true,
): Promise<void> => {
  const console = new Console(process.stdout, process.stderr);
  const stop = stops ? makeStop(process, console) : () => new AbortController().signal;
  try {
    await command({ process, console, stop });
  } catch (error) {
    // Commander has printed its error, or the help.
    if (error instanceof CommanderError) return process.exit(error.exitCode);
    console.error(messageOf(error));
    process.exit(error instanceof Stopped ? 130 : 1);
  }
};

/**
 * Does a command's work, which returns whether all is good, with a folder that is removed at the end. If it is not, or if
 * the user stops the command, the command fails.
 */
export const workIn = async (
  prefix: string,
  terminal: Terminal,
  work: (parent: string, stop: AbortSignal) => Promise<boolean>,
): Promise<void> => {
  const stop = terminal.stop();
  const parent = await mkdtemp(path.join(os.tmpdir(), prefix));
  const isGood = await work(parent, stop)
    .catch((error: unknown) => {
      throw stop.aborted ? stop.reason : error;
    })
    .finally(() => rm(parent, { recursive: true, force: true, maxRetries: 5 }));
  // Not process.exit(1), which could cut off what a pipe has not taken yet.
  if (!isGood) terminal.process.exitCode = 1;
};

/** Returns a function that parses an argument: Commander prints `message` if the text does not match the pattern. */
export const matching =
  <T>(pattern: RegExp, message: string, parse: (text: string) => T) =>
  (text: string): T => {
    if (!pattern.test(text)) throw new InvalidArgumentError(message);
    return parse(text);
  };
