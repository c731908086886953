/** Sends the items in a file (NDJSON: one JSON text per line) to the service. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Outcome } from '@lambda-service/client';
import { pMapIterable } from 'p-map';
import { type Failed, retryableStatuses } from './connection.ts';

/** A line of the file. `number` counts from 1; `end` is the byte offset after the line and its line break. */
type Line = { number: number; end: number; bytes: Buffer };

/**
 * What happened to a line. `already there` means that the service had stored the same item before, and `stored` that
 * either it had, or an earlier attempt of this import did, whose answer was lost.
 */
export type ImportedLine = Line &
  ({ outcome: 'new' | 'stored' | 'already there' } | { outcome: 'failed'; failure: Failure });

/**
 * Why a line failed. `error` is the service's error number, `gateway` for any other error response, or `not sent` if
 * the line cannot be sent as an item.
 */
export type Failure = { error: number | string; message: string; requestId?: string | undefined };

/** `attempts` is the number of requests that the service may have handled: one, if it is not set. */
export type Create = (item: object) => Promise<Outcome<unknown, number> & { attempts?: number }>;

/** How many finished lines may wait for a slower line before them, since results are yielded in the file's order. */
const backpressure = 256;

const maxLineBytes = 1024 * 1024;

export const [newline, space, hash] = [0x0a, 0x20, 0x23];

/**
 * Statuses of the gateway's error responses that concern one request only. If a gateway error has any other status,
 * every further line would fail in the same way, so the import ends.
 */
const perRequest = [413, ...retryableStatuses];

/** Thrown to end an import if all remaining lines would fail for the same reason, which is the `cause`. */
export class ImportEnded extends Error {
  declare readonly cause: Failed;
}

/** How long to wait for a service that has stopped answering, and how long between attempts, in milliseconds. */
const restart = { giveUpAfter: 60_000, retryDelay: 1_000 };

type RestartLimits = typeof restart & { signal?: AbortSignal };

/**
 * Repeats calls that get no response, which is safe, if the service has responded before: it may be restarting.
 * @param say is called with a line for the user each time the service stops responding
 */
export const retryWhileSilent = (
  create: Create,
  say: (line: string) => void,
  limits: Partial<RestartLimits> = {},
): Create => {
  const { giveUpAfter, retryDelay, signal } = { ...restart, ...limits };
  let state: 'unknown' | 'responds' | 'is silent' = 'unknown';
  return async (item) => {
    let attempts = 0;
    for (const started = performance.now(); ; ) {
      const result = await create(item);
      attempts += result.attempts ?? 1;
      const isSilent = !result.ok && result.error === 'no answer';
      if (isSilent && state === 'responds')
        say(`The service does not answer (${result.message}). Waiting for up to a minute ...`);
      if (!isSilent) state = 'responds';
      else if (state !== 'unknown') state = 'is silent';
      if (state !== 'is silent' || performance.now() - started > giveUpAfter) return { ...result, attempts };
      await pause(retryDelay, undefined, signal && { signal });
    }
  };
};

/**
 * Adds the items in a file, several at a time. Yields the outcomes in the file's order. Skips blank lines and
 * comments, which begin with #.
 * @param concurrency how many requests may be in progress at the same time
 * @param from the number of the first line to import
 * @throws ImportEnded if no response comes, or if the response means that all remaining lines would fail too
 * @throws any error from reading the file or from `create`, except a RangeError from `create`, which fails only one
 * line
 */
export const importLines = (
  file: AsyncIterable<Buffer>,
  create: Create,
  concurrency: number,
  from = 1,
): AsyncIterable<ImportedLine> =>
  pMapIterable(
    readLines(file, from),
    async (line): Promise<ImportedLine> => {
      const failed = (failure: Failure) => ({ ...line, outcome: 'failed' as const, failure });
      const item = readItem(line.bytes);
      if (typeof item === 'string') return failed({ error: 'not sent', message: item });
      const result = await create(item).catch(onlyRangeError);
      if (result instanceof RangeError) return failed({ error: 'not sent', message: result.message });
      if (result.ok) {
        if (result.headers.get('idempotent-replayed') !== 'true') return { ...line, outcome: 'new' };
        return { ...line, outcome: (result.attempts ?? 1) > 1 ? 'stored' : 'already there' };
      }
      const { error, message, requestId } = result;
      const isForAll = error === 'gateway' && !perRequest.includes(result.status);
      if (error === 'no answer' || error === 'token refused' || isForAll)
        throw new ImportEnded(message, { cause: result });
      return failed({ error, message, requestId });
    },
    { concurrency, backpressure },
  );

/**
 * Returns the error if it is a RangeError, which the client throws for a number that it cannot send exactly: then only
 * this line of the import fails. Rethrows any other error.
 */
const onlyRangeError = (error: unknown): RangeError => {
  if (error instanceof RangeError) return error;
  throw error;
};

/**
 * Yields the lines from line `from` on, without blank lines and comments. A line ends with a line feed only: readline
 * would also split lines at a carriage return and at U+2028, which JSON may contain, and replace invalid UTF-8.
 * @throws Error with a sentence for the user if a line is over 1 MiB, or if the first one is not in UTF-8 at all
 */
export async function* readLines(file: AsyncIterable<Buffer>, from = 1): AsyncGenerator<Line> {
  let rest = Buffer.alloc(0);
  let number = 0;
  let end = 0;
  const linesOf = (marked: Buffer): Line[] => {
    number += 1;
    end += marked.length;
    if (number === 1 && isOtherEncoding(marked))
      throw new Error('The input is not text in UTF-8, but perhaps in UTF-16, or compressed: convert it first.');
    if (marked.length > maxLineBytes + 1) throw tooLong(number);
    const bytes = marked.subarray(marked.indexOf(byteOrderMark) === 0 ? byteOrderMark.length : 0);
    const first = bytes.find((byte) => byte > space);
    return number < from || first === undefined || first === hash ? [] : [{ number, end, bytes }];
  };
  for await (const chunk of file) {
    rest = Buffer.concat([rest, chunk]);
    for (let next = rest.indexOf(newline); next !== -1; next = rest.indexOf(newline)) {
      yield* linesOf(rest.subarray(0, next + 1));
      rest = rest.subarray(next + 1);
    }
    if (rest.length > maxLineBytes) throw tooLong(number + 1);
  }
  yield* linesOf(rest);
}

/** In UTF-8, a file may begin with this mark. If files were joined, any line may. */
const byteOrderMark = Buffer.from('\ufeff');

/** Whether a line begins as in UTF-16 or UTF-32, or has a byte of 0 near its start, which JSON has in no other encoding. */
const isOtherEncoding = (line: Buffer): boolean =>
  ['fffe', 'feff'].includes(line.toString('hex', 0, 2)) || line.subarray(0, 64).includes(0);

const tooLong = (number: number): Error =>
  new Error(`Line ${number} is over 1 MiB. Each line must be one item: split or remove it.`);

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses one line. Does not check the item's fields: the client and the service do that.
 * @returns the item, or the reason why the line cannot be sent
 */
const readItem = (bytes: Buffer): object | string => {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes), exactNumber);
  } catch (error) {
    // A line that is nested too deeply throws a RangeError, too.
    return error instanceof RangeError ? error.message : 'the line is not JSON in UTF-8';
  }
  if (!(value instanceof Object) || Array.isArray(value)) return 'the line is JSON, but not an object';
  return value;
};

/**
 * Makes JSON.parse return an integer in digits as a bigint, because a large integer would be rounded as a number.
 * @throws RangeError if another spelling of an integer, such as 9007199254740993.0, loses a digit, or becomes ±Infinity
 */
const exactNumber = (_: string, value: unknown, { source = '' }: { source?: string } = {}): unknown => {
  if (typeof value !== 'number') return value;
  if (/^-?\d+$/.test(source)) return BigInt(source);
  const isFraction = Number.isFinite(value) && !Number.isInteger(value);
  if (isFraction || significantDigits(source) === significantDigits(String(value))) return value;
  throw new RangeError(`the number ${source} would be rounded: write an integer in digits only`);
};

/** Returns 12 for 12, 12.0, -1.20e1 and 0.012; empty for zero and Infinity. */
const significantDigits = (number: string): string => number.replaceAll(/e.*|\D/gi, '').replaceAll(/^0+|0+$/g, '');
