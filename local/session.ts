/** What a running local service leaves for others to find it by: a file in the data folder, gone when it stops. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import tls from 'node:tls';
import type { LocalIssuer } from './issuer.ts';

export type Session = { url: string } & TokenSource;

/** A token endpoint and a client of it. `certificate` (PEM) is there where no public authority vouches for it. */
export type TokenSource = Pick<LocalIssuer, 'tokenUrl' | 'clientId' | 'clientSecret' | 'scope'> & {
  certificate?: string;
};

export const sessionFile = (folder: string): string => path.join(folder, 'session.json');

/** @throws Error in one sentence where no service is running on that data folder */
export const readSession = async (folder: string): Promise<Session> => {
  try {
    return JSON.parse(await readFile(sessionFile(folder), 'utf8')) as Session;
  } catch {
    throw new Error(
      `No local service is running with its data in ${folder}. Start it first: npm start; or give its DATA_DIR`,
    );
  }
};

/**
 * Gets an access token by OAuth 2.0 client credentials (RFC 6749 section 4.4), the secret by HTTP Basic. From then on
 * this process trusts the local issuer's certificate too.
 * @throws Error in one sentence
 */
export const fetchToken = async (source: TokenSource): Promise<string> => {
  const { tokenUrl, clientId, clientSecret, scope, certificate } = source;
  if (certificate !== undefined) tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);
  const response = await fetch(tokenUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
  }).catch((cause: unknown) => {
    const advice = certificate === undefined ? '' : '; the local service must have been killed. Start it: npm start';
    throw new Error(`The token issuer does not answer at ${tokenUrl}${advice}`, { cause });
  });
  const answer = (await response.json().catch(() => ({}))) as Partial<Record<'access_token' | 'error', string>>;
  if (answer.access_token === undefined) {
    throw new Error(`The token issuer refused at ${tokenUrl}: ${answer.error ?? response.status}`);
  }
  return answer.access_token;
};
