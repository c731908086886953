import { SingleBar } from 'cli-progress';

/** Counts lines or items by their outcomes, and shows the counts on a terminal. */
export class Progress<Outcome extends string> {
  readonly counts: Record<Outcome, number>;
  readonly #started = performance.now();
  readonly #bar: SingleBar;

  /** @param total how much there is to do, or 0 if that is not known */
  constructor(counts: Record<Outcome, number>, total: number) {
    this.counts = counts;
    const format = `${total > 0 ? '{bar} {percentage}%, {eta_formatted} left, ' : ''}{counts} ({rate}/s)`;
    this.#bar = new SingleBar({ format, barsize: 10, etaBuffer: 1_000 });
    // cli-progress draws nothing if the output is not a terminal.
    this.#bar.start(total, 0, { counts: this.toString(), rate: 0 });
  }

  /** Counts an outcome. @param done how much of the total is done */
  add(outcome: Outcome, done: number): void {
    this.counts[outcome] += 1;
    const seconds = (performance.now() - this.#started) / 1_000;
    this.#bar.update(done, { counts: this.toString(), rate: Math.round(this.sum / seconds) });
  }

  get sum(): number {
    return Object.values<number>(this.counts).reduce((sum, count) => sum + count);
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
