import { isUtf8 } from 'node:buffer';
import { decomposeUnverifiedJwt } from 'aws-jwt-verify/jwt';
import type { JwtHeader, JwtPayload } from 'aws-jwt-verify/jwt-model';
import { type Algorithm, isAlgorithm } from './algorithms.ts';

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

/**
 * The `typ` of access tokens, in lower case (RFC 9068 section 2.1). A token whose `typ` is `jwt`, or that has none, is
 * accepted too, because Cognito and other issuers send such tokens.
 */
const accessTokenTypes = new Set(['at+jwt', 'application/at+jwt', 'jwt']);

/** Seconds by which an issuer's clock may be ahead of ours. */
export const clockSkew = 60;

/** The algorithm and the key id in a token's header. They select the keys with which to verify the token. */
export type Unverified = { algorithm: Algorithm; kid: string };

/**
 * Reads a token before its signature is verified. Refuses bad tokens that aws-jwt-verify would accept, or would reject
 * without a clear reason.
 */
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
  // Refuse a token that requires an extension in `crit` (RFC 7515 section 4.1.11), or has the extension `b64` (RFC
  // 7797): we support none.
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

/**
 * Returns whether header and payload are UTF-8 (RFC 7519 section 7.2) and all three parts are canonical base64url: no
 * two spellings may decode to the same bytes.
 */
const isEncodedWell = (token: string): boolean => {
  const parts = token.split('.');
  const bytes = parts.map((part) => Buffer.from(part, 'base64url'));
  return (
    bytes.every((decoded, index) => decoded.toString('base64url') === parts[index]) && bytes.slice(0, 2).every(isUtf8)
  );
};
