import { createReadStream, createWriteStream } from 'node:fs';
import { appendFile, mkdtemp, realpath, rename, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Failure } from './import-lines.ts';

/** A line of the file: `line` counts from 1 in the imported file, `text` is the line itself. */
type FailedLine = { line: number; text: string } & Failure;

/**
 * The lines of an import that failed, in a file, one in JSON a line. Those of an earlier import stay, in front of the new
 * ones, until this import is complete: a stop in between loses none.
 */
export class FailedLines {
  readonly #file: string;
  /** Bytes of the earlier import, and of this one. */
  readonly #earlier: number;
  #added = 0;

  private constructor(file: string, earlier: number) {
    this.#file = file;
    this.#earlier = earlier;
  }

  /** @throws Error of the file system, as the others do */
  static async in(file: string): Promise<FailedLines> {
    return new FailedLines(file, await sizeOf(file));
  }

  async add(line: FailedLine): Promise<void> {
    const text = `${JSON.stringify(line)}\n`;
    await appendFile(this.#file, text);
    this.#added += Buffer.byteLength(text);
  }

  /** Drops the lines of the earlier import, and the file if no others are in it. */
  async complete(): Promise<void> {
    // Somebody else may have changed the file meanwhile: then all of it stays.
    if (this.#earlier === 0 || (await sizeOf(this.#file)) !== this.#earlier + this.#added) return;
    if (this.#added === 0) return rm(this.#file);
    // It may be a link, or closed to others: both stay as they are.
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
