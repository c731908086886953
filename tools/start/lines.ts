/** Formats what `npm start` prints: a line for each request, and the example command. */

import { styleText } from 'node:util';
import type { AccessLogEntry, LogLine } from 'http-api-emulator';
import type { ExampleRequest } from './contract.ts';
import { mapOf } from './prebuild.ts';
import { printable } from './printable.ts';
import { dataFolder } from './settings.ts';
import { takeStacks, toSources } from './stack-traces.ts';

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

/** Returns a curl command that sends the request. It works in POSIX shells and zsh on this machine, in any folder. */
export const curlLine = (url: string, { method, path, body }: ExampleRequest): string => {
  const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const dataDir = process.env['DATA_DIR'] ? `DATA_DIR=${quote(dataFolder())} ` : '';
  // -X is needed only if the method is not curl's default, which is POST with a body and GET without one.
  const isUsual = method === (body === undefined ? 'GET' : 'POST');
  const address = /[^\w/:.%-]/.test(path) ? quote(url + path) : url + path;
  return [
    `curl -sSi${isUsual ? '' : ` -X ${method}`} ${address}`,
    `-H "authorization: Bearer $(${dataDir}npm --prefix ${quote(process.cwd())} run -s token)"`,
    ...(body === undefined ? [] : [`-H 'content-type: application/json'`, `-d ${quote(body)}`]),
  ].join(' \\\n  ');
};
