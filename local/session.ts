/** What a running local service leaves for others to find it by: a file in the data folder, gone when it stops. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import tls from 'node:tls';
import type { LocalIssuer } from './issuer.ts';

export type Session = { url: string } & TokenSource;

type TokenSource = Pick<LocalIssuer, 'tokenUrl' | 'clientId' | 'clientSecret' | 'scope' | 'certificate'>;

export const sessionFile = (folder: string): string => path.join(folder, 'session.json');

/** @throws Error in one sentence where no service is running on that data folder */
export const readSession = async (folder: string): Promise<Session> => {
  try {
    return JSON.parse(await readFile(sessionFile(folder), 'utf8')) as Session;
  } catch {
    throw new Error(`No local service is running with its data in ${folder}. Start it first: npm start`);
  }
};

/**
 * Gets an access token by OAuth 2.0 client credentials (RFC 6749 section 4.4), the secret by HTTP Basic. From then on
 * this process trusts the issuer's certificate too.
 * @throws Error in one sentence
 */
export const fetchToken = async (source: TokenSource): Promise<string> => {
  const { tokenUrl, clientId, clientSecret, scope, certificate } = source;
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);
  const response = await fetch(tokenUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
  }).catch((cause: unknown) => {
    const message = `The local service does not answer at ${tokenUrl}; it must have been killed. Start it: npm start`;
    throw new Error(message, { cause });
  });
  const answer = (await response.json()) as { access_token?: string; error_description?: string };
  if (answer.access_token === undefined) throw new Error(`The local issuer refused: ${answer.error_description}`);
  return answer.access_token;
};
