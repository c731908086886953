import type { AccessLogEntry } from 'http-api-emulator';
import { readSession } from '../start/session.ts';
import { dataFolder } from '../start/settings.ts';
import type { TracedRequest } from './traced-request.ts';

/**
 * Asks the running local service what it did with a request.
 * @throws Error with a one-sentence message for the user if no service runs, or if the service does not know the
 *   request
 */
export const findLocalRequest = async (id: string): Promise<TracedRequest> => {
  const { url } = readSession(dataFolder());
  const response = await fetch(`${url}/docs/requests.json`).catch((cause: unknown) => {
    throw new Error(`The local service at ${url} does not answer; it was probably killed. Start it: npm start`, {
      cause,
    });
  });
  const entries = (await response.json()) as AccessLogEntry[];
  const found = entries.find(({ requestId }) => requestId === id);
  if (found === undefined) {
    throw new Error(
      `The local service at ${url} has no request ${id}. It keeps its latest 1,000 requests until it stops; for a deployment, add --stack <name>.`,
    );
  }
  const { method, path, status, milliseconds, error, log } = found;
  return {
    summary: { method, path, status, milliseconds: Math.round(milliseconds) },
    errors: error ? [error] : [],
    lines: log.map(({ functionName, ...line }) => ({ who: functionName.replace(/[0-9A-F]{8}$/, ''), ...line })),
  };
};
