/**
 * The session file tells other commands how to reach the running local service. The service deletes the file when it
 * stops.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { LocalIssuer } from './issuer.ts';

export type Session = { url: string } & TokenSource;

/**
 * How to get a token: a token endpoint and the credentials of a client. `certificate` (PEM) is set if the endpoint's
 * certificate is self-signed.
 */
export type TokenSource = Pick<LocalIssuer, 'tokenUrl' | 'clientId' | 'clientSecret' | 'scope'> & {
  certificate?: string;
};

const sessionFile = (folder: string): string => path.join(folder, 'session.json');

/** Reads the session file in a data folder. @throws Error with a one-sentence message if no service uses that folder */
export const readSession = (folder: string): Session => {
  const session = parseSession(sessionFile(folder));
  if (session !== undefined) return session;
  throw new Error(
    `No local service is running with its data in ${folder}. Start it (npm start), or set DATA_DIR to its data folder.`,
  );
};

/**
 * Removes the session file that a killed service left behind.
 * @throws Error with a one-sentence message for the user if the file at its path is not a valid session file, or cannot
 * be read
 */
export const removeStaleSession = (folder: string): void => {
  const file = sessionFile(folder);
  if (!existsSync(file)) return;
  if (parseSession(file) === undefined) {
    throw new Error(
      `${file} was not made by the local service. Move it away, or choose another data folder: DATA_DIR=... npm start`,
    );
  }
  rmSync(file);
};

/**
 * Writes the session file, readable by this user only.
 * @returns a function that removes the file, unless its content has changed since
 * @throws a file-system error if the file exists already
 */
export const writeSession = (folder: string, session: Session): (() => void) => {
  const file = sessionFile(folder);
  writeFileSync(file, JSON.stringify(session), { mode: 0o600, flag: 'wx' });
  return () => {
    if (isDeepStrictEqual(parseSession(file), session)) rmSync(file);
  };
};

const fields = ['url', 'tokenUrl', 'clientId', 'clientSecret', 'scope', 'certificate'];

/** Returns undefined if the file does not exist, cannot be read, or is not a session file. */
const parseSession = (file: string): Session | undefined => {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isSession(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

const isSession = (value: unknown): value is Session =>
  value instanceof Object && fields.every((field) => typeof Reflect.get(value, field) === 'string');

/**
 * Thrown if nothing responds at a token URL, or if the response is not that of a token endpoint (RFC 6749 section 5).
 */
export class NoTokenEndpoint extends Error {}

/**
 * Gets an access token by OAuth 2.0 client credentials (RFC 6749 section 4.4), with HTTP Basic authentication. If
 * `source.certificate` is set, the whole process trusts that certificate from then on.
 * @param scope lists the scopes to ask for, separated by spaces: by default, all that the client may have
 * @throws NoTokenEndpoint, or Error if the issuer refuses; both have a one-sentence message for the user
 */
export const fetchToken = async (source: TokenSource, scope = source.scope): Promise<string> => {
  const { tokenUrl, clientId, clientSecret, certificate } = source;
  if (certificate !== undefined) tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);
  const response = await fetch(tokenUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
    signal: AbortSignal.timeout(10_000),
  }).catch((cause: unknown) => {
    const advice = certificate === undefined ? '' : '; the local service was probably killed. Start it: npm start';
    throw new NoTokenEndpoint(`The token issuer at ${tokenUrl} does not answer${advice}`, { cause });
  });
  const answer: { access_token?: unknown; error?: unknown } = Object(await response.json().catch(() => ({})));
  const { access_token: token, error } = answer;
  if (typeof token === 'string') return token;
  const refused = `The token issuer at ${tokenUrl} refused`;
  if (typeof error === 'string') throw new Error(`${refused}: ${error}`);
  throw new NoTokenEndpoint(`${refused}: ${response.status}`);
};
