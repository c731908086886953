import { randomBytes } from 'node:crypto';
import { createServer } from 'node:https';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type Adapter } from 'oidc-provider';
import { scopes } from '../functions/generated/contract.ts';
import { makeCertificate } from './certificate.ts';
import { closeServer, listen } from './listen.ts';

/**
 * What a client needs to get a token, and what the stack needs to verify one. `scope` is every scope of the contract,
 * separated by spaces; `certificate` (PEM) is self-signed.
 */
export type LocalIssuer = {
  issuer: string;
  jwksUri: string;
  audience: string;
  scope: string;
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  certificate: string;
  close: () => Promise<void>;
};

const audience = 'urn:plant-store';
const allScopes = [...new Set(Object.values(scopes).flat())].join(' ');
const clientId = 'local-client';

/** Lifetime of a token in seconds, the same as Cognito's default. */
const tokenLifetime = 3_600;

/**
 * Starts a real OpenID provider on a free port: client_credentials, signed access tokens (RFC 9068). Signing key,
 * client secret and certificate are new at each start. It uses https because the authorizer fetches keys by https only.
 * @param scope is what the client may ask for, separated by spaces
 */
export const startIssuer = async (scope = allScopes): Promise<LocalIssuer> => {
  const { key, certificate } = await makeCertificate();
  const server = createServer({ key, cert: certificate });
  const issuer = `https://127.0.0.1:${await listen(server, 0)}`;
  const clientSecret = randomBytes(24).toString('base64url');

  const signing = await generateKeyPair('ES256', { extractable: true });
  const provider = new Provider(issuer, {
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
          accessTokenTTL: tokenLifetime,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
    jwks: { keys: [{ ...(await exportJWK(signing.privateKey)), alg: 'ES256', use: 'sig', kid: 'local' }] },
    scopes: scope.split(' '),
    ttl: { ClientCredentials: tokenLifetime },
  });
  server.on('request', provider.callback());

  return {
    issuer,
    jwksUri: `${issuer}/jwks`,
    audience,
    scope,
    tokenUrl: `${issuer}/token`,
    clientId,
    clientSecret,
    certificate,
    close: () => closeServer(server),
  };
};

/** Stores nothing: client_credentials with signed tokens needs no storage, and the default adapter logs a warning. */
class NoStorage implements Adapter {
  async upsert(): Promise<void> {}
  async find(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
  async findByUid(): Promise<undefined> {}
  async consume(): Promise<void> {}
  async destroy(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
}
