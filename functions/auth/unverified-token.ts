import { isUtf8 } from 'node:buffer';
import { decomposeUnverifiedJwt } from 'aws-jwt-verify/jwt';
import type { JwtHeader, JwtPayload } from 'aws-jwt-verify/jwt-model';
import { type Algorithm, isAlgorithm } from './issuer-keys.ts';

/** The reasons for refusing a request. Do not rename them: the log has these words, and metrics count them. */
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

/** RFC 9068 section 2.1, in lower case. Cognito and other issuers send tokens with the `typ` JWT, or with none. */
const accessTokenTypes = new Set(['at+jwt', 'application/at+jwt', 'jwt']);

/** Seconds by which an issuer's clock may be ahead of ours. */
export const clockSkew = 60;

export type Unverified = { algorithm: Algorithm; kid: string };

/** Refuses, before the signature is verified, what aws-jwt-verify would accept, or reject without a clear reason. */
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
  // We support no extensions (`crit`: RFC 7515 section 4.1.11, `b64`: RFC 7797).
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
  // A token must not be accepted "on or after" its `exp`, so it has expired if `exp` is now (RFC 7519 section 4.1.4).
  if (payload.exp <= now) return 'expired';
  if (Math.max(payload.iat ?? 0, payload.nbf ?? 0) > now + clockSkew) return 'not yet valid';
  // Cognito sets `token_use` to `access` in access tokens, to `id` in ID tokens. Other issuers' tokens can lack it.
  if (payload['token_use'] !== undefined && payload['token_use'] !== 'access') return 'not an access token';
  return undefined;
};

/** Header and payload must be UTF-8 (RFC 7519 section 7.2), and no two spellings of a part may decode to the same bytes. */
const isEncodedWell = (token: string): boolean => {
  const parts = token.split('.');
  const bytes = parts.map((part) => Buffer.from(part, 'base64url'));
  return (
    bytes.every((decoded, index) => decoded.toString('base64url') === parts[index]) && bytes.slice(0, 2).every(isUtf8)
  );
};
