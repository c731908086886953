import { createReadStream, createWriteStream } from 'node:fs';
import { appendFile, mkdtemp, realpath, rename, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Failure } from './import-lines.ts';

/** One line of the file of failures. `line` is the line number in the imported file, from 1; `text` is that line. */
type FailedLine = { line: number; text: string } & Failure;

/**
 * A file with the lines that an import could not store, one JSON object per line. The failures of an earlier import
 * stay at the top until this import is complete, so an interrupted import loses none of them.
 */
export class FailedLines {
  readonly #file: string;
  /** Bytes in the file from an earlier import, and bytes that this import has added. */
  readonly #earlier: number;
  #added = 0;

  private constructor(file: string, earlier: number) {
    this.#file = file;
    this.#earlier = earlier;
  }

  /** Opens the file of failures. @throws Error of the file system, as do the other methods */
  static async in(file: string): Promise<FailedLines> {
    return new FailedLines(file, await sizeOf(file));
  }

  async add(line: FailedLine): Promise<void> {
    const text = `${JSON.stringify(line)}\n`;
    await appendFile(this.#file, text);
    this.#added += Buffer.byteLength(text);
  }

  /** Removes the earlier import's lines, and deletes the file if this import added none. */
  async complete(): Promise<void> {
    // An unexpected size means that somebody else changed the file meanwhile: keep all of it.
    if (this.#earlier === 0 || (await sizeOf(this.#file)) !== this.#earlier + this.#added) return;
    if (this.#added === 0) return rm(this.#file);
    // If the file is a symbolic link, replace its target, not the link. Keep the permissions, which may be restricted.
    const file = await realpath(this.#file);
    const { mode } = await stat(file);
    const folder = await mkdtemp(`${file}.`);
    const rest = path.join(folder, 'rest');
    await pipeline(createReadStream(file, { start: this.#earlier }), createWriteStream(rest, { mode }));
    await rename(rest, file);
    await rmdir(folder);
  }
}

const sizeOf = async (file: string): Promise<number> => {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
    throw error;
  }
};
