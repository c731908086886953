/**
 * Access tokens, right or wrong in one place.
 * @example
 * const key = await makeKey('ES256', 'key-1');
 * const expired = await sign(key, claims({ exp: inSeconds(-60) }));
 */
import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWK } from 'jose';

export const issuer = 'https://issuer.example';
export const audience = 'urn:api';
export const scope = 'items/create';

/** An issuer's key pair. `jwk` is the public key as the issuer's JWKS publishes it. */
export type SigningKey = { alg: string; kid: string; privateKey: CryptoKey; jwk: JWK };

export const makeKey = async (alg: string, kid: string): Promise<SigningKey> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), alg, kid, use: 'sig' } };
};

export const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

/**
 * Returns the claims of an access token, changed by `change`. One that becomes undefined is left out. No service has
 * this scope: for a token that the service under test accepts, take `claims` of the door `trial`.
 */
export const claims = (change: Record<string, unknown> = {}): Record<string, unknown> => ({
  iss: issuer,
  sub: 'client-1',
  client_id: 'client-1',
  aud: audience,
  scope,
  iat: inSeconds(0),
  exp: inSeconds(3600),
  jti: 'token-1',
  ...change,
});

/** Signs any payload as a compact JWS. `header` changes fields of the usual header; an undefined field is left out. */
export const sign = (
  key: SigningKey,
  payload: unknown = claims(),
  header: Record<string, unknown> = {},
): Promise<string> => {
  const bytes = payload instanceof Uint8Array ? payload : new TextEncoder().encode(JSON.stringify(payload));
  const protectedHeader = JSON.parse(JSON.stringify({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header }));
  return new CompactSign(bytes).setProtectedHeader(protectedHeader).sign(key.privateKey);
};

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Joins a header, a payload and a signature into a token, even into an invalid token that no library would make. */
export const assemble = (header: unknown, payload: unknown, signature = 'c2lnbmF0dXJl'): string =>
  `${encode(header)}.${encode(payload)}.${signature}`;

/**
 * Makes a token from a header and a payload, as `assemble` does, but with the signature that `signBytes` returns for
 * the encoded header and payload.
 */
export const assembleSigned = async (
  header: unknown,
  payload: unknown,
  signBytes: (input: string) => string | Promise<string>,
): Promise<string> => {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${await signBytes(input)}`;
};
