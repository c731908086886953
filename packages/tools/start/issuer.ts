import { createPrivateKey, randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { closeServer, listen } from 'http-api-emulator';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider, { type Adapter } from 'oidc-provider';
import { generate } from 'selfsigned';
import { allScopes } from './scopes.ts';

/** What a client needs to get a token, and what the stack needs to verify the token. */
export type LocalIssuer = Awaited<ReturnType<typeof startIssuer>>;

const audience = 'urn:plant-store';
const clientId = 'local-client';

/** Lifetime of a token in seconds, the same as Cognito's default. */
const tokenLifetime = 3_600;

/**
 * Starts a real OpenID provider on a free port. It issues signed access tokens (RFC 9068) for client_credentials, and
 * uses https, because the authorizer fetches keys only by https. Secret and certificate are new at each start.
 * @param scope the scopes that the client may ask for, separated by spaces
 * @param file keeps the address and the signing key, so that the next start with this file accepts today's tokens
 * @param reserved is the service's port, which the issuer must not take
 * @throws Error with a message for the user if the file cannot be used
 */
export const startIssuer = async (scope = allScopes, file?: string, reserved?: number) => {
  const kept = file === undefined ? undefined : readIdentity(file);
  const { key, certificate } = await makeCertificate();
  const server = createServer({ key, cert: certificate });
  const wanted = kept?.port === reserved ? 0 : (kept?.port ?? 0);
  const port = await listen(server, wanted).catch(() => listen(server, 0));
  const issuer = `https://127.0.0.1:${port}`;
  const clientSecret = randomBytes(24).toString('base64url');
  const signingKey = kept?.signingKey ?? (await makeSigningKey());
  if (file !== undefined && port !== kept?.port) writeIdentity(file, { port, signingKey });
  const providerOf = (scope: string): Provider =>
    new Provider(issuer, {
      adapter: NoStorage,
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
          id_token_signed_response_alg: 'ES256',
          scope,
        },
      ],
      features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => audience,
          getResourceServerInfo: () => ({
            audience,
            scope,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'ES256' } },
          }),
        },
      },
      jwks: { keys: [signingKey] },
      scopes: scope.split(' '),
      ttl: { ClientCredentials: tokenLifetime },
    });
  const local = {
    issuer,
    jwksUri: `${issuer}/jwks`,
    audience,
    /** All scopes that the client may ask for, separated by spaces. */
    scope,
    /** Whether the kept port is taken. The address is then new, and earlier tokens are refused. */
    hasMoved: kept !== undefined && port !== kept.port,
    tokenUrl: `${issuer}/token`,
    clientId,
    clientSecret,
    /** The self-signed certificate of the issuer, in PEM. */
    certificate,
    /** Changes the scopes that the client may ask for. Issued tokens, keys and the client's secret stay valid. */
    setScope: (changed: string) => {
      local.scope = changed;
      server.removeAllListeners('request').on('request', providerOf(changed).callback());
    },
    close: () => closeServer(server),
  };
  local.setScope(scope);
  return local;
};

/** What a token depends on: the port in the issuer's address, and the private key that has signed the token. */
type Identity = { port: number; signingKey: JWK };

const makeSigningKey = async (): Promise<JWK> => {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: 'local' };
};

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

/**
 * Makes a self-signed certificate for 127.0.0.1 and its private key, both in PEM. Each certificate has a unique name:
 * of several trusted certificates with the same name, TLS could pick an older one, and reject the new one.
 */
export const makeCertificate = async (): Promise<{ key: string; certificate: string }> => {
  const { private: key, cert: certificate } = await generate(
    [{ name: 'commonName', value: `Plant Store local issuer ${randomUUID()}` }],
    { keyType: 'ec', extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }] },
  );
  return { key, certificate };
};

/**
 * Stores nothing: signed tokens for client_credentials need no storage. Without this class, oidc-provider would use a
 * storage that logs a warning.
 */
class NoStorage implements Adapter {
  async upsert(): Promise<void> {}
  async find(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
  async findByUid(): Promise<undefined> {}
  async consume(): Promise<void> {}
  async destroy(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
}
