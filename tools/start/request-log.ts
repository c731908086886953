/** Prints a line for each request to the local service, or a summary if there are many. */
import { styleText } from 'node:util';
import type { AccessLogEntry, LogLine } from 'http-api-emulator';
import { hashOf, mapOf, takeStacks, toSources } from './bundles.ts';
import { printable, withoutHash } from './terminal.ts';

/**
 * How many requests per second get a line each. A second with more requests is called busy: its remaining requests
 * share one summary line.
 */
const readable = 20;

/**
 * In a busy second, how many failed requests (5xx) still get a line each. The summary line covers the other failures.
 */
const failureLines = 3;

/** Prints a line for each request. In a second with many requests, one summary line replaces most of these lines. */
export class RequestLog {
  readonly #print: (line: string) => void;
  /** The requests and the failures of the current second, and the status of each request that was not printed. */
  #requests = 0;
  #failures = 0;
  #unprinted: number[] = [];
  /**
   * Whether the previous second had more requests than `readable`, so that nobody could read a line for each. If so,
   * only the first failures of the current second get a log line.
   */
  #wasBusy = false;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  add(entry: AccessLogEntry): void {
    this.#requests += 1;
    const isBusy = this.#wasBusy || this.#requests > readable;
    if (isBusy && entry.status >= 500) this.#failures += 1;
    if (isBusy && (entry.status < 500 || this.#failures > failureLines)) this.#unprinted.push(entry.status);
    else this.#print(accessLine(entry));
  }

  /**
   * Ends the current second, and begins the next. If some requests of the second that ends were not printed, prints a
   * summary of them. Must be called once a second.
   */
  endSecond(): void {
    // An object lists keys that are numbers in ascending order.
    const byStatus = Object.entries(Object.groupBy(this.#unprinted, (status) => status));
    const counts = byStatus.map(([status, each = []]) => `${each.length} × ${status}`).join(', ');
    if (counts !== '') this.#print(`${this.#unprinted.length} more requests (--verbose prints each): ${counts}`);
    this.#wasBusy = this.#requests > readable;
    this.#requests = 0;
    this.#failures = 0;
    this.#unprinted = [];
  }
}

type Output = NodeJS.WritableStream & { isTTY?: boolean };

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
        `${withoutHash(functionName)} ${paint(colourOf(level), level)} ${printable(`${rest}`)}`,
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
  toSources(printable(stack), (file) => mapOf(hashOf(file))).replaceAll(/^/gm, '    ');
