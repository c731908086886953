import { SingleBar } from 'cli-progress';
import { type CommandProcess, printable } from '../terminal.ts';

/** How often the counts are printed if there is no terminal, in milliseconds. */
const interval = 10_000;

/** The rate shown is that of the last five to ten seconds. In milliseconds. */
const recent = 5_000;

type Output = CommandProcess['stderr'];

/** Counts lines or items by their outcomes. Shows the counts on a terminal, or else prints them every ten seconds. */
export class Progress<Outcome extends string> {
  readonly counts: Record<Outcome, number>;
  readonly #output: Output;
  readonly #bar: SingleBar;
  readonly #timer: NodeJS.Timeout | undefined;
  /** The rate counts from `#since`. After five seconds, `#next` takes its place. */
  #since = { at: performance.now(), sum: 0 };
  #next = this.#since;

  /** @param total how much there is to do, or 0 if that is not known */
  constructor(counts: Record<Outcome, number>, total: number, output: Output) {
    this.counts = counts;
    this.#output = output;
    const format = `${total > 0 ? '{bar} {percentage}%, {eta_formatted} left, ' : ''}{counts}`;
    this.#bar = new SingleBar({ format, barsize: 10, etaBuffer: 1_000, stream: output });
    // cli-progress draws nothing if the output is not a terminal.
    this.#bar.start(total, 0, { counts: this.#withRate() });
    if (!output.isTTY) this.#timer = setInterval(() => this.say(this.#withRate()), interval).unref();
  }

  /** Counts an outcome. @param done how much of the total is done */
  add(outcome: Outcome, done: number): void {
    this.counts[outcome] += 1;
    this.#bar.update(done, { counts: this.#withRate() });
  }

  /** Prints a line above the counts. */
  say(line: string): void {
    const clear = this.#output.isTTY ? '\r\u001b[K' : '';
    this.#output.write(`${clear}${printable(line)}\n`);
  }

  #withRate(): string {
    const now = { at: performance.now(), sum: this.sum };
    if (now.at - this.#next.at >= recent) [this.#since, this.#next] = [this.#next, now];
    const rate = (1_000 * (now.sum - this.#since.sum)) / Math.max(now.at - this.#since.at, 1);
    return `${this} (${Math.round(rate)}/s)`;
  }

  get sum(): number {
    return Object.values<number>(this.counts).reduce((sum, count) => sum + count);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#bar.stop();
  }

  toString(): string {
    return Object.entries(this.counts)
      .map(([outcome, count]) => `${count} ${outcome}`)
      .join(', ');
  }
}
