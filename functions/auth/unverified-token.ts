import { isUtf8 } from 'node:buffer';
import { decomposeUnverifiedJwt } from 'aws-jwt-verify/jwt';
import type { JwtHeader, JwtPayload } from 'aws-jwt-verify/jwt-model';
import { type Algorithm, isAlgorithm } from './algorithms.ts';

/** The reasons for refusing a request. The words are stable, because the log and its metrics use them. */
export type Refusal =
  | 'unknown route'
  | 'no bearer token'
  | 'too long'
  | 'not a signed JWT'
  | 'encrypted token'
  | 'malformed'
  | 'type'
  | 'critical extension'
  | 'algorithm'
  | 'issuer'
  | 'no expiry'
  | 'expired'
  | 'not yet valid'
  | 'unknown key'
  | 'signature'
  | 'audience'
  | 'scope'
  | 'not an access token';

/** The `typ` of access tokens, in lower case (RFC 9068 section 2.1). Cognito and others omit `typ` or set it to JWT. */
const accessTokenTypes = new Set(['at+jwt', 'application/at+jwt', 'jwt']);

/** Seconds by which an issuer's clock may be ahead of ours. */
export const clockSkew = 60;

/** The algorithm and key id that a token claims. They select the keys to verify it with. */
export type Unverified = { algorithm: Algorithm; kid: string };

/** Reads a token, unverified. Refuses tokens that aws-jwt-verify would accept, or reject without a clear reason. */
export const readUnverified = (token: string, issuer: string): Unverified | { refused: Refusal } => {
  if (!isEncodedWell(token)) return { refused: 'malformed' };
  let header: JwtHeader;
  let payload: JwtPayload;
  try {
    ({ header, payload } = decomposeUnverifiedJwt(token));
  } catch {
    // aws-jwt-verify throws for broken JSON, and also for a `scope` that is a list (docs/issuers.md).
    return { refused: 'malformed' };
  }
  const { typ, alg, kid } = header;
  if (typ !== undefined && !(typeof typ === 'string' && accessTokenTypes.has(typ.toLowerCase()))) {
    return { refused: 'type' };
  }
  // A token with an unknown critical extension must be refused (RFC 7515 section 4.1.11). `b64` is one (RFC 7797).
  if ('crit' in header || 'b64' in header) return { refused: 'critical extension' };
  if (!isAlgorithm(alg)) return { refused: 'algorithm' };
  if (kid === undefined) return { refused: 'unknown key' };
  const refused = refuseClaims(payload, issuer);
  return refused ? { refused } : { algorithm: alg, kid };
};

const refuseClaims = (payload: JwtPayload, issuer: string): Refusal | undefined => {
  const now = Date.now() / 1000;
  if (payload.iss !== issuer) return 'issuer';
  if (payload.exp === undefined) return 'no expiry';
  // A token expires "on or after" its `exp`, so one whose `exp` is now has expired (RFC 7519 section 4.1.4).
  if (payload.exp <= now) return 'expired';
  if (Math.max(payload.iat ?? 0, payload.nbf ?? 0) > now + clockSkew) return 'not yet valid';
  // Cognito sets `token_use` to `access` or, in ID tokens, to `id`. Tokens of other issuers may not have it.
  if (payload['token_use'] !== undefined && payload['token_use'] !== 'access') return 'not an access token';
  return undefined;
};

/**
 * True if every part is canonical base64url, so that no two spellings decode to the same bytes, and header and payload
 * are UTF-8 (RFC 7519 section 7.2). The signature may be any bytes.
 */
const isEncodedWell = (token: string): boolean => {
  const parts = token.split('.');
  const bytes = parts.map((part) => Buffer.from(part, 'base64url'));
  return (
    bytes.every((decoded, index) => decoded.toString('base64url') === parts[index]) && bytes.slice(0, 2).every(isUtf8)
  );
};
