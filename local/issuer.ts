import { randomBytes } from 'node:crypto';
import { createServer } from 'node:https';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type Adapter } from 'oidc-provider';
import { generate } from 'selfsigned';
import { leave, listen } from './listen.ts';

/** How a client gets a token, and whom the stack is to trust. `certificate` (PEM) is the issuer's own. */
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
const scope = 'plants/create';
const clientId = 'local-client';

/** Seconds that a token lives, as long as Cognito's by default. */
const tokenLifetime = 3_600;

/**
 * A real OpenID provider on a port of its own: client_credentials, signed access tokens (RFC 9068). Its key, its client's
 * secret and its certificate are made for this start. It speaks https since the authorizer takes keys from nothing else.
 */
export const startIssuer = async (): Promise<LocalIssuer> => {
  const { key, certificate } = await makeCertificate();
  const server = createServer({ key, cert: certificate });
  const issuer = `https://127.0.0.1:${await listen(server, 0)}`;
  const clientSecret = randomBytes(24).toString('base64url');

  const signing = await generateKeyPair('ES256', { extractable: true });
  const provider = new Provider(issuer, {
    adapter: Nothing,
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
    scopes: [scope],
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
    close: () => leave(server),
  };
};

/** A certificate for 127.0.0.1 that no authority vouches for, and its key, in PEM. */
export const makeCertificate = async (): Promise<{ key: string; certificate: string }> => {
  const { private: key, cert: certificate } = await generate(
    [{ name: 'commonName', value: 'Plant Store local issuer' }],
    { keyType: 'ec', extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }] },
  );
  return { key, certificate };
};

/** Signed access tokens by client_credentials leave the provider nothing to keep. (Its own adapter warns at each start.) */
class Nothing implements Adapter {
  async upsert(): Promise<void> {}
  async find(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
  async findByUid(): Promise<undefined> {}
  async consume(): Promise<void> {}
  async destroy(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
}
