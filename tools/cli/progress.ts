import { SingleBar } from 'cli-progress';
import type { ImportedLine, Outcome } from './import-lines.ts';

/** The service's error number for JSON that is not a plant. */
const notAPlant = 40002;

/** Counts the lines of an import by their outcomes, and shows the counts on a terminal. */
export class Progress {
  readonly counts: Record<Outcome, number> = { new: 0, 'already there': 0, failed: 0 };
  /**
   * The number of the last line whose outcome was counted, in the file's order. Lines after it may have been sent
   * already. The lines of a file are numbered from 1.
   */
  lastLine = 0;
  /** The byte offset at which the line `lastLine` ends. */
  end = 0;
  #misfits = 0;
  #first = '';
  #begin: number | undefined;
  readonly #size: number;
  readonly #started = performance.now();
  readonly #bar: SingleBar;

  constructor(size: number) {
    this.#size = size;
    const format = `${size > 0 ? '{bar} {percentage}%, {left} left, ' : ''}{rate} plants/s: {counts}`;
    this.#bar = new SingleBar({ format, barsize: 10 });
    // cli-progress draws nothing if the output is not a terminal.
    this.#bar.start(size, 0, { left: '?', rate: 0, counts: this.toString() });
  }

  add(line: ImportedLine): void {
    const { number, end, bytes, outcome } = line;
    this.counts[outcome] += 1;
    const error = outcome === 'failed' ? line.failure.error : undefined;
    if (error === 'not sent' || error === notAPlant) this.#misfits += 1;
    if (this.#lines === 1) this.#first = bytes.toString();
    this.lastLine = number;
    this.end = end;
    // The lines before `--from` were skipped, so they do not count towards the speed.
    this.#begin ??= end - bytes.length;
    const seconds = (performance.now() - this.#started) / 1_000;
    const left = Math.ceil((seconds / (end - this.#begin)) * (this.#size - end));
    this.#bar.update(end, {
      left: left < 100 ? `${left} s` : `${Math.ceil(left / 60)} min`,
      rate: Math.round(this.#lines / seconds),
      counts: this.toString(),
    });
  }

  /**
   * The first line's text if no line so far is a valid plant, for a message about the file format; otherwise undefined.
   */
  get firstMisfit(): string | undefined {
    return this.#misfits > 0 && this.#misfits === this.#lines ? this.#first : undefined;
  }

  get #lines(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count);
  }

  stop(): void {
    this.#bar.stop();
  }

  toString(): string {
    return Object.entries(this.counts)
      .map(([outcome, count]) => `${count} ${outcome}`)
      .join(', ');
  }
}
