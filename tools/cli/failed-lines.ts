import { randomUUID } from 'node:crypto';
import { constants, createReadStream, createWriteStream, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { printable } from '../start/terminal.ts';
import type { Failure } from './import-lines.ts';

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
    const found = await lookUp(file);
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
    await using handle = await open(this.file, appendAndRead);
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
    if (first === 0 || !(await this.#isUnchanged())) return;
    if (first === this.earlier + this.#added) return rm(this.file);
    // Keep the permissions, which may be restricted.
    const { mode } = await lstat(this.file);
    const rest = `${this.file}.${randomUUID()}`;
    try {
      await pipeline(createReadStream(this.file, { start: first }), createWriteStream(rest, { mode, flags: 'wx' }));
      await rename(rest, this.file);
    } finally {
      await rm(rest, { force: true });
    }
  }

  /** Returns whether the file still has the expected size. If it does not, somebody else has changed the file. */
  async #isUnchanged(): Promise<boolean> {
    return ((await lookUp(this.file))?.size ?? 0) === this.earlier + this.#added;
  }
}

const newline = 0x0a;

/** Returns false if the file's last line has no line break: appended text would continue that line. */
const endsInLineBreak = async (handle: FileHandle): Promise<boolean> => {
  const { size } = await handle.stat();
  if (size === 0) return true;
  const { buffer } = await handle.read({ buffer: Buffer.alloc(1), position: size - 1 });
  return buffer[0] === newline;
};

const lookUp = async (file: string): Promise<Stats | undefined> => {
  try {
    return await lstat(file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
};
