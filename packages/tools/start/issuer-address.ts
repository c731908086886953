/** Reserves the local issuer's address, so that the stack can name it before the issuer's packages are loaded. */
import { createPrivateKey, generateKeyPairSync, type JsonWebKey, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { listen } from 'http-api-emulator/servers';

export type Reserved = Awaited<ReturnType<typeof reserveIssuer>>;

/**
 * Listens on a free port. Until `startIssuer` gets the result, no client can connect, because there is no certificate.
 * @param file keeps the address and the signing key, so that the next start with this file accepts today's tokens
 * @param taken is the service's port, which the issuer must not take
 * @throws Error with a message for the user if the file cannot be used
 */
export const reserveIssuer = async (file?: string, taken?: number) => {
  const kept = file === undefined ? undefined : readIdentity(file);
  const server = createServer();
  const wanted = kept?.port === taken ? 0 : (kept?.port ?? 0);
  const port = await listen(server, wanted).catch(() => listen(server, 0));
  const signingKey = kept?.signingKey ?? makeSigningKey();
  if (file !== undefined && port !== kept?.port) writeIdentity(file, { port, signingKey });
  const issuer = `https://127.0.0.1:${port}`;
  return {
    server,
    signingKey,
    /** The settings of a stack that trusts this issuer. */
    settings: {
      issuer,
      jwksUri: `${issuer}/jwks`,
      audience: 'urn:local-service',
      clientIds: 'local-client',
      scopeClaim: 'scope',
    },
    /** Whether the kept port is taken. The address is then new, and earlier tokens are refused. */
    hasMoved: kept !== undefined && port !== kept.port,
  };
};

/** What a token depends on: the port in the issuer's address, and the private key that has signed the token. */
type Identity = { port: number; signingKey: JsonWebKey };

const makeSigningKey = (): JsonWebKey => ({
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
  ...{ alg: 'ES256', use: 'sig', kid: 'local' },
});

const readIdentity = (file: string): Identity | undefined => {
  if (!existsSync(file)) return undefined;
  try {
    const { port, signingKey } = JSON.parse(readFileSync(file, 'utf8'));
    createPrivateKey({ key: signingKey, format: 'jwk' });
    if (Number.isInteger(port)) return { port, signingKey };
  } catch {
    // The error below says what to do, whatever is wrong with the file.
  }
  throw new Error(
    `${file} is damaged, or not from the local service. Move it away: the service then makes a new one, and refuses tokens from before.`,
  );
};

/** Writes the file, readable by this user only. A service that is killed meanwhile leaves the old file, or none. */
const writeIdentity = (file: string, identity: Identity): void => {
  const written = `${file}.${randomUUID()}`;
  writeFileSync(written, JSON.stringify(identity), { mode: 0o600, flag: 'wx' });
  renameSync(written, file);
};
