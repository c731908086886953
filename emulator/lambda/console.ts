/**
 * Formats log records as Lambda's Node.js runtime does for the log format JSON.
 * https://docs.aws.amazon.com/lambda/latest/dg/nodejs-logging.html
 */
import { format } from 'node:util';
import type { LogLevel } from '../served-stack.ts';

/** The levels of `console`'s methods, least severe first. Lambda adds `console.fatal`. */
const levels: Record<string, LogLevel> = {
  trace: 'TRACE',
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARN',
  error: 'ERROR',
  fatal: 'FATAL',
};

/** Makes `console` send log records as JSON text, except those less severe than `minimum`. */
export const patchConsole = (minimum: string | undefined, send: (record: string) => void): void => {
  const names: string[] = Object.values(levels);
  const first = Math.max(names.indexOf(minimum ?? ''), 0);
  for (const [method, level] of Object.entries(levels)) {
    const isDropped = names.indexOf(level) < first;
    const log = isDropped ? () => {} : (...values: unknown[]) => send(logRecord(level, values));
    Object.assign(console, { [method]: log });
  }
  Object.assign(console, { log: console.info });
};

/** Logs what a function threw or rejected with, as Lambda does. */
export const logError = (thrown: unknown): void =>
  console.error(thrown instanceof Error ? thrown : new Error(String(thrown)));

/** Formats logged values. One value becomes JSON; several become text, beside the type and stack of the first error. */
const logRecord = (level: LogLevel, [message, ...others]: unknown[]): string => {
  if (others.length > 0) {
    const error = others.find((value) => value instanceof Error);
    return JSON.stringify({ level, message: format(message, ...others), ...(error && describe(error)) });
  }
  try {
    return JSON.stringify({ level, message }, (_, value) =>
      value instanceof Error ? { ...describe(value), ...value } : value,
    );
  } catch {
    // The message has a bigint or a circular reference, which JSON cannot represent, so log it as text.
    return JSON.stringify({ level, message: format(message) });
  }
};

const describe = (error: Error): object => ({
  errorType: error.constructor?.name ?? 'UnknownError',
  errorMessage: error.message,
  stackTrace: typeof error.stack === 'string' ? error.stack.split('\n') : [],
});
