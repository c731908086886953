/** What a running local service leaves for others to find it by: a file in the data folder, gone when it stops. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import type { LocalIssuer } from './issuer.ts';

export type Session = { url: string } & TokenSource;

/** A token endpoint and a client of it. `certificate` (PEM) is there where no public authority vouches for it. */
export type TokenSource = Pick<LocalIssuer, 'tokenUrl' | 'clientId' | 'clientSecret' | 'scope'> & {
  certificate?: string;
};

const sessionFile = (folder: string): string => path.join(folder, 'session.json');

/** @throws Error in one sentence if no service is running on that data folder */
export const readSession = (folder: string): Session => {
  const session = parseSession(readText(sessionFile(folder)) ?? '');
  if (session !== undefined) return session;
  throw new Error(
    `No local service is running with its data in ${folder}. Start it first: npm start; or give its DATA_DIR`,
  );
};

/**
 * Removes the session of a service that was killed.
 * @throws Error in one sentence if the file is not a session, but the user's
 */
export const removeStaleSession = (folder: string): void => {
  const file = sessionFile(folder);
  const text = readText(file);
  if (text === undefined) return;
  if (parseSession(text) === undefined) {
    throw new Error(
      `${file} is not the local service's. Move it away, or choose another data folder: DATA_DIR=... npm start`,
    );
  }
  rmSync(file);
};

/**
 * Writes the session, readable by this user alone.
 * @returns how to remove it; by then the user may have a file of that name, which stays
 * @throws Error of the file system if there is such a file
 */
export const leaveSession = (folder: string, session: Session): (() => void) => {
  const file = sessionFile(folder);
  const text = JSON.stringify(session);
  writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  return () => {
    if (readText(file) === text) rmSync(file);
  };
};

/** Undefined if there is no such file; empty if it cannot be read. */
const readText = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? undefined : '';
  }
};

const fields = ['url', 'tokenUrl', 'clientId', 'clientSecret', 'scope', 'certificate'];

const parseSession = (text: string): Session | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return isSession(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

const isSession = (value: unknown): value is Session =>
  value instanceof Object && fields.every((field) => typeof Reflect.get(value, field) === 'string');

/** Nothing answers there as a token endpoint does (RFC 6749 section 5), or not yet. */
export class NoTokenEndpoint extends Error {
  override readonly name = 'NoTokenEndpoint';
}

/**
 * Gets an access token by OAuth 2.0 client credentials (RFC 6749 section 4.4), the secret by HTTP Basic. From then on
 * this process trusts the local issuer's certificate too.
 * @throws NoTokenEndpoint, or Error if the issuer refuses; both in one sentence
 */
export const fetchToken = async (source: TokenSource): Promise<string> => {
  const { tokenUrl, clientId, clientSecret, scope, certificate } = source;
  if (certificate !== undefined) tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);
  const response = await fetch(tokenUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
    signal: AbortSignal.timeout(10_000),
  }).catch((cause: unknown) => {
    const advice = certificate === undefined ? '' : '; the local service must have been killed. Start it: npm start';
    throw new NoTokenEndpoint(`The token issuer does not answer at ${tokenUrl}${advice}`, { cause });
  });
  const answer: { access_token?: unknown; error?: unknown } = Object(await response.json().catch(() => ({})));
  const { access_token: token, error } = answer;
  if (typeof token === 'string') return token;
  const refused = `The token issuer refused at ${tokenUrl}`;
  if (typeof error === 'string') throw new Error(`${refused}: ${error}`);
  throw new NoTokenEndpoint(`${refused}: ${response.status}`);
};
