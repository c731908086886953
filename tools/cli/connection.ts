/** Connects to the service at `--url`, or to the running local service, and explains failed requests to the user. */
import type { Outcome } from '../../packages/client/call.ts';
import { createPlantStoreClient, type Token } from '../../packages/client/plant-store-client.ts';
import { fetchToken, readSession } from '../start/session.ts';
import { dataFolder } from '../start/settings.ts';

export type Target = { url?: string | undefined; token?: string | undefined };

/** Makes a client for the service at `--url`, or without `--url` for the running local service. */
export const connect = ({ url, token }: Target) => {
  if (url !== undefined) return { url, client: createPlantStoreClient({ baseUrl: url, token: givenToken(token) }) };
  if (token !== undefined) throw new Error('--token also needs --url, the service that the token is for.');
  const session = readSession(dataFolder());
  let cachedToken: Promise<string> | undefined;
  const sessionToken: Token = ({ refused }) => {
    if (cachedToken === undefined || refused) cachedToken = fetchToken(session);
    return cachedToken;
  };
  return { url: session.url, client: createPlantStoreClient({ baseUrl: session.url, token: sessionToken }) };
};

const givenToken = (token = process.env['ACCESS_TOKEN']): string => {
  if (!token) throw new Error('--url needs an access token: set ACCESS_TOKEN, or give --token.');
  return token;
};

export type Failed = Outcome<unknown, number> & { ok: false };

/**
 * Says in one sentence why an operation failed, with advice if there is any, and the request's id if it is known.
 * @param method the operation's HTTP method
 */
export const explain = (id: string, result: Failed, url: string, method = 'POST'): string =>
  `${advice(id, result, url, method)}${result.requestId === undefined ? '' : ` [request ${result.requestId}]`}`;

/** Statuses of the gateway's error responses after which the same request may succeed later. */
export const retryableStatuses = [429, 500, 502, 503, 504];

const advice = (id: string, result: Failed, url: string, method: string): string => {
  const { error, message } = result;
  if (error === 'no answer') return `Nothing answers at ${url} (${message}): check --url, or run npm start.`;
  if (error !== 'gateway') return `${id} failed (${error}): ${message}`;
  const { status } = result;
  if ([401, 403, 431].includes(status))
    return `The token was refused at ${url} (${status}): get another one with npm run -s token (for a deployment: npm run -s token -- --stack PlantStore)`;
  if (status === 413) return `${id} failed (413: ${message}): the request is too large.`;
  if (!retryableStatuses.includes(status)) return `No Plant Store answers at ${url} (${status}): check --url.`;
  // HTTP defines these methods as idempotent, and the service promises the same of createPlant.
  const isSafe = id === 'createPlant' || ['GET', 'PUT', 'DELETE'].includes(method);
  const again = isSafe ? 'try again later, which is safe.' : 'find out if it was done before you try again.';
  return `${id} failed (${status}: ${message}): ${again}`;
};
