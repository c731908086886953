/** Prints a line for each request to the local service, or a summary if there are many. */
import { styleText } from 'node:util';
import type { AccessLogEntry, LogLine } from 'http-api-emulator';
import { mapOf, takeStacks, toSources } from './bundles.ts';
import { printable } from './terminal.ts';

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

type Output = NodeJS.WritableStream & { isTTY?: boolean };

/** Returns a logical id without the hash that CDK appends to it. */
export const title = (logicalId: string): string => logicalId.replace(/[0-9A-F]{8}$/, '');

/**
 * Describes a request in one line, even if the functions logged line breaks. Stack traces follow below, indented. On a
 * terminal, the line has columns, and colours unless NO_COLOR is set.
 */
export const accessLine = (entry: AccessLogEntry, output: Output = process.stdout): string => {
  const { method, path, status, requestId, error, log } = entry;
  const paint = (format: Parameters<typeof styleText>[0], text: string): string =>
    output.isTTY ? styleText(format, text, { stream: output }) : text;
  // Pad the path and the time, so that the lines form columns. A longer path shifts the columns of its line only.
  const [what, time] = [printable(`${method} ${path}`), `${Math.round(entry.milliseconds)} ms`];
  const columns = [
    output.isTTY ? what.padEnd(14) : what,
    paint(status < 400 ? 'green' : status < 500 ? 'yellow' : 'red', String(status)),
    output.isTTY ? time.padStart(7) : time,
    paint('dim', requestId),
  ].join(' ');
  // Leave out the gateway's request id that the functions log, because the line already has it.
  const logged = log.map((line) => ({ ...takeStacks(contentOf(line), ['gatewayRequestId']), ...line }));
  const line = [
    columns,
    ...logged.map(
      ({ functionName, level, rest }) =>
        `${title(functionName)} ${paint(colourOf(level), level)} ${printable(`${rest}`)}`,
    ),
    ...(error ? [paint('red', printable(error.replaceAll(/\s+/g, ' ')))] : []),
  ].join(paint('dim', ' | '));
  return [line, ...logged.flatMap(({ stacks }) => stacks.map(stackLines))].join('\n');
};

const colourOf = (level: string): 'dim' | 'yellow' | 'red' =>
  level === 'ERROR' || level === 'FATAL' ? 'red' : level === 'WARN' ? 'yellow' : 'dim';

/**
 * Returns the message of a log line. If the function logged an error after the message, as in console.error("text",
 * error), adds that error.
 */
const contentOf = ({ message, errorType, errorMessage, stackTrace }: LogLine): unknown =>
  stackTrace === undefined ? message : { message, errorType, errorMessage, stackTrace };

/** Indents a stack trace, so that none of its lines can be mistaken for a line that reports a request. */
const stackLines = (stack: string): string =>
  // Find the source map by the bundle's own hash, not by the hash in the log: the service logs the hash of the code
  // with which it started, even if that code has since been replaced.
  toSources(printable(stack), mapOf).replaceAll(/^/gm, '    ');
