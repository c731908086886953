/** The lines that `npm start` prints. */

import type { AccessLogEntry } from 'http-api-emulator';
import { dataFolder } from './settings.ts';

/** A logical id without the hash that CDK appends to it. */
export const title = (logicalId: string): string => logicalId.replace(/[0-9A-F]{8}$/, '');

/** Describes a request in exactly one line, whatever the functions logged. */
export const accessLine = ({ method, path, status, milliseconds, requestId, error, log }: AccessLogEntry): string =>
  [
    `${method} ${path} ${status} ${Math.round(milliseconds)} ms ${requestId}`,
    ...log.map(({ functionName, level, message }) => `${title(functionName)} ${level} ${JSON.stringify(message)}`),
    ...(error ? [error.replaceAll(/\s+/g, ' ')] : []),
  ].join(' | ');

/** A curl command that works in any POSIX shell on this machine, in any folder. */
export const curlLine = (url: string): string => {
  const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const dataDir = process.env['DATA_DIR'] ? `DATA_DIR=${quote(dataFolder())} ` : '';
  return [
    `curl -sSi ${url}/plants`,
    `-H "authorization: Bearer $(${dataDir}npm --prefix ${quote(process.cwd())} run -s token)"`,
    `-H 'content-type: application/json'`,
    `-d '{"id":1,"name":"Swiss cheese plant","tag":"climber"}'`,
  ].join(' ');
};
