import { SingleBar } from 'cli-progress';
import { type CommandProcess, printable } from '../terminal.ts';

/** How often the counts are printed if there is no terminal, in milliseconds. */
const interval = 10_000;

/** The rate shown is that of the last five to ten seconds. In milliseconds. */
const recent = 5_000;

/** Says how long the rest will take, in words such as `2m5s left, `; nothing while that is not known. */
export const timeLeft = (seconds: unknown): string => {
  if (typeof seconds !== 'number') return '';
  const step = seconds > 3_600 ? 60 : seconds > 10 ? 5 : 1;
  const rounded = step * Math.round(seconds / step);
  const [hours, minutes, rest] = [Math.floor(rounded / 3_600), Math.floor(rounded / 60) % 60, rounded % 60];
  const units = { h: hours, m: minutes, s: rest };
  const shown = Object.entries(units).filter(([, count]) => count > 0);
  return `${shown.map(([unit, count]) => `${count}${unit}`).join('') || '0s'} left, `;
};

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
    const format = `${total > 0 ? '{bar} {percentage}%, {eta_formatted}' : ''}{counts}`;
    // In the first seconds, the rate says little about the rest: `5h left` would soon be `4m left`.
    const formatTime = (seconds: unknown): string =>
      performance.now() - this.#since.at < recent ? '' : timeLeft(seconds);
    this.#bar = new SingleBar({ format, barsize: 10, etaBuffer: 1_000, formatTime, stream: output });
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
