import { randomBytes, randomUUID } from 'node:crypto';
import { closeServer } from 'http-api-emulator/servers';
import Provider, { type Adapter } from 'oidc-provider';
import { generate } from 'selfsigned';
import type { Reserved } from './issuer-address.ts';

/** What a client needs to get a token, and what the stack needs to verify the token. */
export type LocalIssuer = Awaited<ReturnType<typeof startIssuer>>;

/** Lifetime of a token in seconds, the same as Cognito's default. */
const tokenLifetime = 3_600;

/**
 * Starts a real OpenID provider. It issues signed access tokens (RFC 9068) for client_credentials, and uses https,
 * because the authorizer fetches keys only by https. Secret and certificate are new at each start. It answers once
 * `setScope` has said which scopes the client may ask for.
 */
export const startIssuer = async ({ server, signingKey, settings }: Reserved) => {
  const { issuer, jwksUri, audience, clientIds: clientId } = settings;
  const { key, certificate } = await makeCertificate();
  server.setSecureContext({ key, cert: certificate });
  const clientSecret = randomBytes(24).toString('base64url');
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
    jwksUri,
    audience,
    /** All scopes that the client may ask for, separated by spaces. */
    scope: '',
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
  return local;
};

/**
 * Makes a self-signed certificate for 127.0.0.1 and its private key, both in PEM. Each certificate has a unique name:
 * of several trusted certificates with the same name, TLS could pick an older one, and reject the new one.
 */
export const makeCertificate = async (): Promise<{ key: string; certificate: string }> => {
  const { private: key, cert: certificate } = await generate(
    [{ name: 'commonName', value: `Local token issuer ${randomUUID()}` }],
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
