/** Connects to the service at `--url`, or to the running local service, and explains failed requests to the user. */
import { createPlantStoreClient, type Result, type Token } from '../../packages/client/plant-store-client.ts';
import { fetchToken, readSession } from '../start/session.ts';
import { dataFolder } from '../start/settings.ts';

export type Target = { url?: string | undefined; token?: string | undefined };

/** Makes a client for the service at `--url`, or without `--url` for the running local service. */
export const connect = async (target: Target) => {
  const { url } = target;
  if (url !== undefined) return { url, ...createPlantStoreClient({ baseUrl: url, token: readToken(target) }) };
  if (target.token !== undefined) throw new Error('--token also needs --url, the service that the token is for.');
  const session = readSession(dataFolder());
  let cachedToken: Promise<string> | undefined;
  const sessionToken: Token = ({ refused }) => {
    if (cachedToken === undefined || refused) cachedToken = fetchToken(session);
    return cachedToken;
  };
  return { url: session.url, ...createPlantStoreClient({ baseUrl: session.url, token: sessionToken }) };
};

const readToken = (target: Target): string => {
  const token = target.token ?? process.env['ACCESS_TOKEN'];
  if (!token) throw new Error('--url needs an access token: set ACCESS_TOKEN, or give --token.');
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new Error('ACCESS_TOKEN or --token must be the token alone: no spaces, no line breaks, no "Bearer".');
  }
  return token;
};

export type Failed = Result<'createPlant'> & { ok: false };

/** Says in one sentence why a request failed, with advice if there is any, and adds the request's id if it is known. */
export const explain = (result: Failed, url: string): string =>
  `${advice(result, url)}${result.requestId === undefined ? '' : ` [request ${result.requestId}]`}`;

/** Statuses of the gateway's error responses after which the same request may succeed later. */
export const retryableStatuses = [429, 500, 502, 503, 504];

const advice = (result: Failed, url: string): string => {
  const { error, message } = result;
  if (error === 'no answer')
    return `Nothing answers at ${url} (${message}): check --url, or start the service: npm start`;
  if (error !== 'gateway') return `The plant is not stored (${error}): ${message}`;
  const { status } = result;
  if ([401, 403, 431].includes(status))
    return `The token was refused at ${url} (${status}): get another one with npm run -s token (for a deployment: npm run -s token -- --stack PlantStore)`;
  if (status === 413) return `The plant is too large (413: ${message}).`;
  if (retryableStatuses.includes(status))
    return `The plant is not stored (${status}: ${message}): try again later, which is safe.`;
  return `No Plant Store answers at ${url} (${status}): check --url.`;
};
