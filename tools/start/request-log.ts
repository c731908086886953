import type { AccessLogEntry } from 'http-api-emulator';
import { accessLine } from './lines.ts';

/**
 * How many requests per second get a line each. A second with more requests is called busy: its remaining requests
 * share one summary line.
 */
const readable = 20;

/**
 * In a busy second, how many failed requests (5xx) still get a line each. The summary line covers the other failures.
 */
const failureLines = 3;

/** Counts the requests of the current second. `unprinted` has, by status, those that were not printed. */
class Second {
  requests = 0;
  failures = 0;
  readonly unprinted = new Map<number, number>();

  /** Sums up, in one line, the requests that were not printed. Returns undefined if all were printed. */
  summary(): string | undefined {
    if (this.unprinted.size === 0) return undefined;
    const statuses = [...this.unprinted].sort(([one], [other]) => one - other);
    const count = statuses.reduce((sum, [, each]) => sum + each, 0);
    const counts = statuses.map(([status, each]) => `${each} × ${status}`).join(', ');
    return `${count} more requests (--verbose prints each): ${counts}`;
  }
}

/** Prints a line for each request. In a second with many requests, one summary line replaces most of these lines. */
export class RequestLog {
  readonly #print: (line: string) => void;
  #second = new Second();
  /**
   * Whether the previous second had more requests than `readable`, so that nobody could read a line for each. If so,
   * only the first failures of the current second get a log line.
   */
  #wasBusy = false;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  add(entry: AccessLogEntry): void {
    const second = this.#second;
    second.requests += 1;
    const isBusy = this.#wasBusy || second.requests > readable;
    if (isBusy && entry.status >= 500) second.failures += 1;
    if (isBusy && (entry.status < 500 || second.failures > failureLines)) {
      second.unprinted.set(entry.status, (second.unprinted.get(entry.status) ?? 0) + 1);
    } else this.#print(accessLine(entry));
  }

  /**
   * Ends the current second, and begins the next. If some requests of the second that ends were not printed, prints a
   * summary of them. Must be called once a second.
   */
  endSecond(): void {
    const summary = this.#second.summary();
    if (summary !== undefined) this.#print(summary);
    this.#wasBusy = this.#second.requests > readable;
    this.#second = new Second();
  }
}
