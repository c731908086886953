/** Prints a row for each request, or a summary if there are many. */
import { styleText } from 'node:util';
import type { AccessLogLine } from '../gateway/server.ts';
import { type LogLine, takeStacks, unfold } from '../lambda/reports.ts';
import { type LogFormat, reasonFor } from './reasons.ts';
import { messageOf, printable, withoutHash } from './text.ts';

export { type AccessLogLine, type LogFormat, type LogLine, messageOf, printable, takeStacks, withoutHash };

/** The format of a service of which nothing is known. */
const anyFormat: LogFormat = { reasonsIn: () => [], isInRow: () => false, omitted: [] };

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
  readonly #format: LogFormat | undefined;
  /** The requests and the failures of the current second, and the status of each request that was not printed. */
  #requests = 0;
  #failures = 0;
  #unprinted: number[] = [];
  /**
   * Whether the previous second had more requests than `readable`, so that nobody could read a line for each. If so,
   * only the first failures of the current second get a log line.
   */
  #wasBusy = false;

  constructor(print: (line: string) => void, format?: LogFormat) {
    this.#print = print;
    this.#format = format;
  }

  add(logged: AccessLogLine): void {
    this.#requests += 1;
    const isBusy = this.#wasBusy || this.#requests > readable;
    if (isBusy && logged.status >= 500) this.#failures += 1;
    if (isBusy && (logged.status < 500 || this.#failures > failureLines)) this.#unprinted.push(logged.status);
    else this.#print(accessLine(logged, this.#format));
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

type Output = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

/** Keeps the user's time zone: serving a stack changes that of this process. */
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/**
 * Describes a request in one row, with the reason for anything but a success. On a terminal, the row has columns, is no
 * wider than the terminal, and has colours unless NO_COLOR is set. Below it follows what it does not say: what else the
 * functions logged, and the stack traces of faults.
 */
export const accessLine = (logged: AccessLogLine, format = anyFormat, output: Output = process.stdout): string => {
  const time = clock.format(new Date(logged.time));
  // If a function has thrown an error, the gateway's reason has its message.
  const isThrown = ({ message }: LogLine): boolean => logged.status >= 500 && Object(message).errorType !== undefined;
  const isShown = (line: LogLine): boolean => !format.isInRow(line) && !isThrown(line);
  const below = logged.log.filter((line) => isShown(line) || line.level === 'ERROR');
  return [row({ ...logged, time }, format, output), ...linesBelow(below, format, { isShown })].join('\n');
};

/** The row of a request. It has the whole reason unless `output` is a terminal. */
export const row = (logged: AccessLogLine, format = anyFormat, output?: Output): string => {
  const { time, method, path, status, milliseconds, requestId } = logged;
  const paint = (format: Parameters<typeof styleText>[0], text: string): string =>
    output?.isTTY ? styleText(format, text, { stream: output }) : text;
  const duration = `${Math.round(milliseconds)} ms`.padStart(output?.isTTY ? 6 : 0);
  const columns = (output?.isTTY && output.columns) || Number.POSITIVE_INFINITY;
  const left = columns - [time, '', status, duration, requestId].join(' ').length;
  const reason = printable(reasonFor(logged, format.reasonsIn).replaceAll(/\s+/g, ' '));
  // Pad the path, so that the rows form columns. A longer path shifts the columns of its row only.
  const what = cut(printable(`${method} ${path}`), reason ? left / 2 : left).padEnd(output?.isTTY ? 12 : 0);
  const colour = status >= 500 ? 'red' : status >= 400 || reason ? 'yellow' : 'green';
  const parts = [paint('dim', time), what, paint(colour, String(status)), duration, paint('dim', requestId)];
  return [...parts, ...(reason ? [paint(colour, cut(reason, left - what.length - 1))] : [])].join(' ');
};

const cut = (text: string, width: number): string =>
  text.length > width ? `${text.slice(0, Math.max(width - 1, 0))}…` : text;

/**
 * Lists what the functions logged, each with its stack traces below it, and all indented, so that none of these lines
 * can be mistaken for a row.
 * @param options `isShown` chooses the lines to show, but all stack traces are shown; `translate` translates these
 */
export const linesBelow = (
  log: LogLine[],
  { omitted } = anyFormat,
  { isShown = (_: LogLine): boolean => true, translate = (stack: string, _sha256?: string) => stack } = {},
): string[] => {
  const texts = log.flatMap((line) => {
    const { text, stacks, sha256 } = unfold(line, withoutHash(line.functionName), omitted);
    return [...(isShown(line) ? [text] : []), ...stacks.map((stack) => translate(stack, sha256))];
  });
  return texts.map((text) => printable(text).replaceAll(/^/gm, '    '));
};
