import type { AccessLogEntry } from 'http-api-emulator';
import { accessLine } from './lines.ts';

/** A second with more requests than these is busy: it gets a summary. */
const readable = 20;

/** How many failures (5xx) of a busy second still get a line each. */
const failureLines = 3;

/** What is known of the second that has begun. `byStatus` and `slowest` are about the requests without a line. */
class Second {
  requests = 0;
  failures = 0;
  readonly byStatus = new Map<number, number>();
  slowest?: AccessLogEntry;

  addToSummary(entry: AccessLogEntry): void {
    this.byStatus.set(entry.status, (this.byStatus.get(entry.status) ?? 0) + 1);
    if (this.slowest === undefined || entry.milliseconds > this.slowest.milliseconds) this.slowest = entry;
  }

  /** Describes the requests without a line in one line; undefined if there are none. */
  summary(): string | undefined {
    if (this.slowest === undefined) return undefined;
    const { method, path, milliseconds, requestId } = this.slowest;
    const statuses = [...this.byStatus].sort(([one], [other]) => one - other);
    const count = statuses.reduce((sum, [, each]) => sum + each, 0);
    const counts = statuses.map(([status, each]) => `${each} × ${status}`).join(', ');
    const slowest = `${method} ${path} ${Math.round(milliseconds)} ms ${requestId}`;
    return `${count} more requests (--verbose prints each): ${counts} | slowest: ${slowest}`;
  }
}

/** Prints a line for each request, or for each second while there are many. */
export class RequestLog {
  readonly #print: (line: string) => void;
  #second = new Second();
  /** Whether the last second was busy. If so, the requests of this one wait for its summary from the start. */
  #wasBusy = false;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  add(entry: AccessLogEntry): void {
    const second = this.#second;
    second.requests += 1;
    const isBusy = this.#wasBusy || second.requests > readable;
    if (isBusy && entry.status >= 500) second.failures += 1;
    if (isBusy && (entry.status < 500 || second.failures > failureLines)) second.addToSummary(entry);
    else this.#print(accessLine(entry));
  }

  /** Call this once a second. */
  endSecond(): void {
    const summary = this.#second.summary();
    if (summary !== undefined) this.#print(summary);
    this.#wasBusy = this.#second.requests > readable;
    this.#second = new Second();
  }
}
