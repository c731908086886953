/** The lines that `npm start` prints. */

import type { AccessLogEntry } from 'http-api-emulator';
import type { ExampleRequest } from './contract.ts';
import { dataFolder } from './settings.ts';

/** A logical id without the hash that CDK appends to it. */
export const title = (logicalId: string): string => logicalId.replace(/[0-9A-F]{8}$/, '');

/** Describes a request in exactly one line, whatever the functions logged. */
export const accessLine = ({ method, path, status, milliseconds, requestId, error, log }: AccessLogEntry): string =>
  [
    `${method} ${path} ${status} ${Math.round(milliseconds)} ms ${requestId}`,
    ...log.map(
      ({ functionName, level, message }) => `${title(functionName)} ${level} ${JSON.stringify(message, withoutId)}`,
    ),
    ...(error ? [error.replaceAll(/\s+/g, ' ')] : []),
  ].join(' | ');

/** The line begins with the request's id, which the functions log, too. */
const withoutId = (name: string, value: unknown): unknown => (name === 'gatewayRequestId' ? undefined : value);

/** Returns a curl command that sends the request. It works in any POSIX shell and zsh on this machine, in any folder. */
export const curlLine = (url: string, { method, path, headers = {}, body }: ExampleRequest): string => {
  const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const dataDir = process.env['DATA_DIR'] ? `DATA_DIR=${quote(dataFolder())} ` : '';
  // Without -X, curl sends a POST if it has data, and a GET if it has none.
  const isUsual = method === (body === undefined ? 'GET' : 'POST');
  const address = /[^\w/:.%-]/.test(path) ? quote(url + path) : url + path;
  return [
    `curl -sSi${isUsual ? '' : ` -X ${method}`} ${address}`,
    `-H "authorization: Bearer $(${dataDir}npm --prefix ${quote(process.cwd())} run -s token)"`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-H 'content-type: application/json'`, `-d ${quote(body)}`]),
  ].join(' \\\n  ');
};
