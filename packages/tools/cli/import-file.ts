/** `import`: adds the items in a file, shows its progress, and keeps the lines that fail in another file. */
import { randomUUID } from 'node:crypto';
import { constants, createReadStream, createWriteStream, lstatSync, openSync, type Stats } from 'node:fs';
import { access, type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import path from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Operation } from '@lambda-service/client';
import { quote } from 'openapi-contract/page';
import { type Define, matching, messageOf, ourCommand, printable, Stopped, type Terminal } from '../terminal.ts';
import { addsItem, addTarget, connect, explain, type Operations, type Target } from './connection.ts';
import { type Create, type Failure, ImportEnded, importLines, newline, retryWhileSilent } from './import-lines.ts';
import { readOperations } from './operations.ts';
import { Progress } from './progress.ts';

type Options = Target & { from?: number; operation?: string };

/**
 * What an import reads, and the file for the lines that fail. `size` is the length of the input in bytes, or 0 if it is
 * not known. `argument` names the input for an import that goes on. If the input is a file of failed lines, that file is
 * also the one for the lines that fail again.
 */
type Input = { name: string; argument: string; size: number; read: () => Readable } & {
  failures: FailedLines;
  isFailedLines: boolean;
};

/** Resolves a path from the folder of the user: bin.js, which runs commands in the project's folder, keeps it here. */
const resolveForCaller = (file: string): string => path.resolve(process.env['INIT_CWD'] ?? '', file);

const suffix = '.failed.ndjson';

const standardInput = ['-', '/dev/stdin', '/dev/fd/0', '/proc/self/fd/0'];

const advice = 'name a file that has one item in JSON per line, or - for stdin.';

/** Looks up a file to read. @throws Error with a sentence for the user */
const findInput = async (file: string): Promise<Stats> => {
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw new Error(`${file} is a folder: ${advice}`);
    await access(file, constants.R_OK);
    return found;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    const isMissing = ['ENOENT', 'ENOTDIR'].includes(code);
    throw new Error(isMissing ? `There is no file ${file}: ${advice}` : `${file} cannot be read (${message}).`);
  }
};

/** Opens the file or the pipe named `given`, or standard input if `given` is `-`. */
const openInput = async (given: string, { from }: Options, stdin: Readable): Promise<Input> => {
  const piped = async (name: string, read: Input['read']): Promise<Input> => {
    const failures = await openFailures(`stdin${suffix}`);
    return { name, argument: '-', size: 0, read, failures, isFailedLines: false };
  };
  if (standardInput.includes(given)) return piped('stdin', () => stdin);
  const file = resolveForCaller(given);
  const found = await findInput(file);
  if (found.isFIFO()) return piped(path.basename(file), () => readPipe(file));
  // The folder of a device, or of a file that the shell has opened, is one of the system.
  if (!found.isFile() || /^\/(?:dev\/fd|proc)\//.test(file))
    return piped(path.basename(file), () => createReadStream(file));
  const own = await FailedLines.in(file);
  const isFailedLines = file.endsWith(suffix) && !own.isForeign;
  if (isFailedLines && from !== undefined)
    throw new Error(`--from is not for ${given}: lines that are stored leave this file, so import all of it.`);
  const failures = isFailedLines ? own : await openFailures(`${file}${suffix}`);
  // Read only what the file has now: while a file of failed lines is imported, lines that fail again are added to it.
  const read = () => createReadStream(file, { end: Math.max(found.size - 1, 0) });
  return { name: path.basename(file), argument: given, size: found.size, read, failures, isFailedLines };
};

/** Reads a pipe without a thread of its own, which would keep a stopped command from ending until somebody writes. */
const readPipe = (file: string): Readable =>
  new Socket({ fd: openSync(file, constants.O_RDONLY | constants.O_NONBLOCK), writable: false });

const openFailures = async (given: string): Promise<FailedLines> => {
  const failures = await FailedLines.in(resolveForCaller(given));
  if (failures.isForeign)
    throw new Error(`Lines that fail would go to ${failures.file}, which no import has made: move that file away.`);
  return failures;
};

/**
 * How many items an import sends at the same time. More would not make the local service faster, but each needs an
 * instance of each function (40 MB). 16 is far below the default `burstLimit` of a deployment.
 */
export const concurrencyFor = ({ url, stack }: Target): number => (url === undefined && stack === undefined ? 4 : 16);

/** Whether an operation's body has all fields of an item, and the item all that the body must have. */
const fits = ({ body = {}, requires = [] }: Operation, item: object): boolean =>
  requires.every((name) => Object.hasOwn(item, name)) &&
  (Object.keys(body).length === 0 || Object.keys(item).every((name) => Object.hasOwn(body, name)));

type Named = [id: string, operation: Operation];

/** Lists the operations that an import can use: those that add an item, or the one of them that is `named`. */
export const listAdding = (operations: Operations, named?: string): Named[] => {
  const adding = Object.entries(operations).filter(([, operation]) => addsItem(operation));
  if (adding.length === 0) throw new Error('The contract has no operation that adds an item.');
  const chosen = adding.filter(([id]) => named === undefined || id === named);
  if (chosen.length > 0) return chosen;
  throw new Error(`An import cannot use the operation ${named}, only those that add an item: ${idsOf(adding)}.`);
};

const idsOf = (operations: Named[]): string => operations.map(([id]) => id).join(', ');

/**
 * Chooses the operation for an item: the only one of `adding`, or the only one whose body the item fits.
 * @throws Error with a sentence for the user
 */
export const chooseOperation = (adding: Named[], item: object): Named => {
  const [chosen, ...others] = adding.length === 1 ? adding : adding.filter(([, operation]) => fits(operation, item));
  if (chosen === undefined)
    throw new Error(`The first item fits no operation (${idsOf(adding)}): correct it, or name one with --operation.`);
  if (others.length === 0) return chosen;
  const fitting = idsOf([chosen, ...others]);
  throw new Error(`The first item fits several operations (${fitting}): name one with --operation.`);
};

/** Imports the file named `given`, or standard input if `given` is `-`. */
const importFile = async (given: string, options: Options, { process, console, stop }: Terminal): Promise<void> => {
  const input = await openInput(given, options, process.stdin);
  const adding = listAdding(await readOperations(), options.operation);
  const { url, call } = await connect(options, console);
  let chosen: Named | undefined;
  // Ends the requests that are still running when the import ends.
  const end = new AbortController();
  const stopped = stop();
  const signal = AbortSignal.any([stopped, end.signal]);

  const progress = new Progress({ new: 0, stored: 0, 'already there': 0, failed: 0 }, input.size, process.stderr);
  // The last line whose outcome was counted, in the file's order. Lines after it may have been sent already.
  let last = { number: 0, end: 0 };
  const send: Create = async (item) => {
    chosen ??= chooseOperation(adding, item);
    const [, operation] = chosen;
    let attempts = 0;
    const counted = async (request: Request) => {
      attempts += 1;
      const response = await fetch(request);
      // The gateway refused these, so the operation did not run.
      if ([401, 403, 429].includes(response.status)) attempts -= 1;
      return response;
    };
    const parameters = operation.parameters.length > 0 ? [{}] : [];
    return { ...(await call(operation, [...parameters, item, { signal, fetch: counted }])), attempts };
  };
  const create = retryWhileSilent(send, (line) => progress.say(line), { signal });
  try {
    const lines = addAbortSignal(stopped, input.read());
    for await (const line of importLines(lines, create, concurrencyFor(options), options.from)) {
      stopped.throwIfAborted();
      if (line.outcome === 'failed') await input.failures.add({ source: input.name, ...line });
      progress.add(line.outcome, line.end);
      last = line;
    }
  } catch (error) {
    end.abort();
    progress.stop();
    const problem = await removeDone(input, last.end).catch(messageOf);
    const soFar = `${progress} so far. ${problem ?? howToGoOn(input, last.number, options)}`;
    if (stopped.aborted) throw new Stopped(`Stopped: ${soFar}`);
    const reason = error instanceof ImportEnded && chosen ? explain(...chosen, error.cause, url) : messageOf(error);
    throw new Error(`${reason}\n${soFar}`);
  }
  progress.stop();
  const { failed } = progress.counts;
  console.log(printable(`${progress}${failed > 0 ? `: see ${input.failures.file}` : ''}`));
  await removeDone(input, input.failures.earlier);
  // Not process.exit(1), which could cut off what a pipe has not taken yet.
  if (failed > 0) process.exitCode = 1;
};

/**
 * If the input is a file of failed lines, removes from that file the lines that this import has finished.
 * @throws Error with a sentence for the user
 */
const removeDone = async ({ isFailedLines, failures }: Input, end: number): Promise<undefined> => {
  if (!isFailedLines) return;
  await failures.remove(end).catch((error: unknown) => {
    throw new Error(
      `The lines that are done are still in ${failures.file} (${messageOf(error)}). Make sure that you can write to its folder, and import the file again: no item is stored twice.`,
    );
  });
};

const howToGoOn = ({ isFailedLines, argument }: Input, lastLine: number, options: Options): string => {
  if (isFailedLines) return 'Run it again: the file has the lines that are left.';
  if (lastLine === 0) return 'Run it again: no item is stored twice.';
  const { operation, stack, url, token } = options;
  const words = Object.entries({ operation, stack, url }).flatMap(([name, value]) =>
    value ? [`--${name}`, value] : [],
  );
  const command = [ourCommand, ...['import', argument, ...words].map(quoted), `--from ${lastLine + 1}`].join(' ');
  // The token itself would stay in the terminal's history.
  const needed = [...(argument === '-' ? ['the same input'] : []), ...(token ? ['ACCESS_TOKEN set'] : [])];
  return `To go on${needed.length > 0 ? ` with ${needed.join(' and ')}` : ''}:\n${command}`;
};

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : quote(word));

/** A line that an import could not store. `source` is the imported file's name, `number` the number of the line. */
export type FailedLine = { source: string; number: number; bytes: Buffer; failure: Failure };

/**
 * Matches the comment that the method `add` writes above each failed line. A file of failed lines begins with such a
 * comment.
 */
const comment = /^\s*# [^\n]*:\d+ \([^\n]*\): /;

/**
 * Like the flag `a+`, but refuses a symbolic link (ELOOP). The link could lead to a file that a shell runs, such as a
 * start-up file that does not exist yet.
 */
const appendAndRead = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/**
 * A file of the lines that an import could not store, each below a comment with the reason. The user can correct the
 * lines and import this file. Only importing this file removes lines from it.
 */
export class FailedLines {
  readonly file: string;
  /** The file's size in bytes when this import began. `#added` is the number of bytes that this import has added. */
  readonly earlier: number;
  #added = 0;
  /**
   * Whether something other than an import made the file, such as the user: it is a symbolic link, a folder or the
   * like, or has content that does not begin like a file of failed lines.
   */
  readonly isForeign: boolean;

  private constructor(file: string, earlier: number, isForeign: boolean) {
    this.file = file;
    this.earlier = earlier;
    this.isForeign = isForeign;
  }

  /** Opens a file of failed lines, which need not exist yet. @throws file system errors, as the other methods do */
  static async in(file: string): Promise<FailedLines> {
    const found = lookUp(file);
    if (found === undefined) return new FailedLines(file, 0, false);
    if (!found.isFile()) return new FailedLines(file, 0, true);
    await using handle = await open(file);
    // The name in the comment may have 255 control characters, each of them escaped with six.
    const { buffer } = await handle.read({ buffer: Buffer.alloc(2_048) });
    return new FailedLines(file, found.size, found.size > 0 && !comment.test(buffer.toString()));
  }

  async add({ source, number, bytes, failure: { error, message, requestId } }: FailedLine): Promise<void> {
    const request = requestId === undefined ? '' : ` [request ${requestId}]`;
    // The message may come from any server: it may be long, and have line breaks.
    const reason = `${message.slice(0, 1_000)}${request}`.replaceAll(/\s+/g, ' ');
    // A line break, which the name of the imported file may have, would end the comment.
    const text = printable(`# ${source}:${number} (${error}): ${reason}`).replaceAll('\n', '\\n');
    const head = Buffer.from(`${text}\n`);
    // Only for this user: the input may be restricted, too.
    await using handle = await open(this.file, appendAndRead, 0o600);
    const lineBreak = Buffer.from((await endsInLineBreak(handle)) ? '' : '\n');
    const added = Buffer.concat([lineBreak, head, bytes, Buffer.from(bytes.at(-1) === newline ? '' : '\n')]);
    await handle.appendFile(added);
    this.#added += added.length;
  }

  /**
   * Removes the lines before the byte offset `first` from the file, and deletes the file if no line remains. The caller
   * makes sure that all removed lines were in the file before the current import.
   */
  async remove(first: number): Promise<void> {
    // If somebody else, such as the user or another import, has changed the file of failed lines since this import
    // began, remove nothing from it.
    const found = lookUp(this.file);
    if (first === 0 || found?.size !== this.earlier + this.#added) return;
    if (first === found.size) return rm(this.file);
    const rest = `${this.file}.${randomUUID()}`;
    // Keep the permissions, which may be restricted.
    const created = { mode: found.mode, flags: 'wx' };
    try {
      await pipeline(createReadStream(this.file, { start: first }), createWriteStream(rest, created));
      await rename(rest, this.file);
    } finally {
      await rm(rest, { force: true });
    }
  }
}

/** Returns undefined if the file does not exist. */
const lookUp = (file: string): Stats | undefined => lstatSync(file, { throwIfNoEntry: false });

/** Returns false if the file's last line has no line break: appended text would continue that line. */
const endsInLineBreak = async (handle: FileHandle): Promise<boolean> => {
  const { size } = await handle.stat();
  if (size === 0) return true;
  const { buffer } = await handle.read({ buffer: Buffer.alloc(1), position: size - 1 });
  return buffer[0] === newline;
};

const lineNumber = matching(/^[1-9]\d{0,14}$/, 'It must be the number of a line, from 1.', Number);

export const define: Define = (command, terminal) =>
  addTarget(
    command
      .argument('<file>', 'has one item per line, as JSON; - reads standard input')
      .option('--from <line>', 'skip the lines before this one; an import that stops prints its number', lineNumber)
      .option('--operation <id>', 'the operation to use, if the lines fit several, such as createOrder'),
  )
    .addHelpText('after', '\nLines that fail go to <file>.failed.ndjson: fix them, and import that file.')
    .action((file: string, options: Options) => importFile(file, options, terminal));
