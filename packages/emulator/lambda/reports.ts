/**
 * What Lambda's Node.js runtime reports: log records (if the log format of the function is JSON), and errors.
 * https://docs.aws.amazon.com/lambda/latest/dg/nodejs-logging.html
 * https://github.com/aws/aws-lambda-nodejs-runtime-interface-client
 */
import { format } from 'node:util';

/** Lambda's log levels, least severe first. */
export const logLevels = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Makes the methods of `console`, of which Lambda adds `fatal`, pass each log record to `send` as JSON text, and drop
 * records less severe than `minimum`. Each line that is written to stdout or stderr becomes a log record, too.
 * @returns a function that ends the last line
 */
export const captureLog = (minimum: string | undefined, send: (record: string) => void): (() => void) => {
  const first = logLevels.map(String).indexOf(minimum ?? '');
  for (const [index, level] of logLevels.entries()) {
    const log = index < first ? () => {} : (...values: unknown[]) => send(logRecord(level, values));
    Object.assign(console, { [level.toLowerCase()]: log });
  }
  Object.assign(console, { log: console.info });
  const ends = [process.stdout, process.stderr].map((stream) => captureLines(stream, send));
  return () => ends.forEach((end) => void end());
};

/**
 * Loggers other than `console` write lines to stdout or stderr. A line that is a JSON object is the message, and has its
 * own level.
 */
const captureLines = (stream: NodeJS.WriteStream, send: (record: string) => void): (() => void) => {
  let unfinished = '';
  const write = (chunk: string | Uint8Array, ...others: unknown[]): boolean => {
    const lines = (unfinished + Buffer.from(chunk).toString()).split('\n');
    unfinished = lines.pop() ?? '';
    for (const line of lines) send(lineRecord(stream === process.stdout ? 'INFO' : 'ERROR', line));
    const callback = others.at(-1);
    if (typeof callback === 'function') process.nextTick(callback);
    return true;
  };
  Object.assign(stream, { write });
  return () => unfinished === '' || write('\n');
};

const lineRecord = (level: LogLevel, line: string): string => {
  try {
    const message = JSON.parse(line);
    const own = logLevels.find((each) => each === String(message.level).toUpperCase());
    if (typeof message === 'object') return JSON.stringify({ level: own ?? level, message });
  } catch {
    // The line is not JSON.
  }
  return JSON.stringify({ level, message: line });
};

/** Logs, as Lambda does, a value that a function threw or with which a promise was rejected. */
export const logError = (thrown: unknown): void =>
  console.error(thrown instanceof Error ? thrown : new Error(String(thrown)));

/**
 * Makes a log record of the values of one log call: a single value becomes JSON, several become one string. If a value
 * after the first is an error, the record also gets fields that describe the first such error.
 */
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
    // The message contains a bigint or a circular reference, which JSON cannot represent, so log the message as text.
    return JSON.stringify({ level, message: format(message) });
  }
};

const describe = (error: Error): object => ({
  errorType: error instanceof RuntimeError ? error.name.split('.')[1] : (error.constructor?.name ?? 'UnknownError'),
  errorMessage: error.message,
  stackTrace: typeof error.stack === 'string' ? error.stack.split('\n') : [],
});

/** An error that the runtime itself reports. Its name is, for example, Runtime.HandlerNotFound. */
export class RuntimeError extends Error {
  constructor(type: string, message: string) {
    super(message);
    this.name = `Runtime.${type}`;
  }
}

/** Describes a thrown value by its errorType and errorMessage, as Lambda does: `number: 7` if a function throws 7. */
export const errorText = (thrown: unknown): string =>
  thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `${typeof thrown}: ${String(thrown)}`;

/**
 * One line that a function logged. `errorType`, `errorMessage` and `stackTrace` describe an error that was logged
 * together with other values.
 */
export type LogLine = {
  functionName: string;
  level: string;
  message: unknown;
  errorType?: string;
  errorMessage?: string;
  stackTrace?: string[];
};

/**
 * A line of the log: its text, and apart from it the stack traces of its errors. `name` is what the text calls the
 * function, and `omitted` are the fields that it leaves out.
 */
export const unfold = (line: LogLine, name = line.functionName, omitted: string[] = []) => {
  const { message, errorType, errorMessage, stackTrace } = line;
  // An error that was logged together with other values is a part of what the line says.
  const content = stackTrace === undefined ? message : { message, errorType, errorMessage, stackTrace };
  const { rest, ...others } = takeStacks(content, omitted);
  return { text: `${name} ${line.level} ${typeof content === 'string' ? content : (rest ?? '')}`, ...others };
};

/**
 * Separates stack traces from the rest of what a function logged. Leaves out the fields that `omitted` names.
 * @returns `stacks` has the traces, that of the outermost error first; `sha256` is the hash of the function's bundle, if
 *   a field `bundle` has it; `rest` is everything else, as JSON
 */
export const takeStacks = (
  logged: unknown,
  omitted: string[] = [],
): { rest: string; stacks: string[]; sha256?: string } => {
  const stacks: string[] = [];
  let sha256: string | undefined;
  const rest = JSON.stringify(logged, (key, value) => {
    if (key === 'bundle' && /^[0-9a-f]{64}$/.test(value)) {
      sha256 = value;
      return undefined;
    }
    if (omitted.includes(key)) return undefined;
    // An error that our code logs has `stack`, a string. An error that Lambda itself logs has `stackTrace`, an array of
    // lines.
    const stack = key === 'stackTrace' && Array.isArray(value) ? value.join('\n') : key === 'stack' ? value : undefined;
    if (typeof stack !== 'string' || !/^[ \t]+at /m.test(stack)) return value;
    stacks.push(stack);
    return undefined;
  });
  return { rest, stacks, ...(sha256 !== undefined && { sha256 }) };
};
