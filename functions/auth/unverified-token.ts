import { isUtf8 } from 'node:buffer';
import { decomposeUnverifiedJwt } from 'aws-jwt-verify/jwt';
import type { JwtHeader, JwtPayload } from 'aws-jwt-verify/jwt-model';
import { type Algorithm, isAlgorithm } from './algorithms.ts';

/** Why a request is not let in: stable words for the log. */
export type Refusal =
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
  | 'scope is a list'
  | 'not an access token';

/** RFC 9068 section 2.1; Cognito and others leave `typ` out or say JWT. */
const accessTokenTypes = new Set(['at+jwt', 'application/at+jwt', 'jwt']);

/** Seconds that an honest issuer's clock may be ahead of ours. */
export const clockSkew = 60;

/** What tells which keys a token may be verified with. */
export type Unverified = { algorithm: Algorithm; kid: string };

/** Reads a token without verifying its signature. Refuses what aws-jwt-verify would let pass, or would not explain. */
export const readUnverified = (token: string, issuer: string): Unverified | { refused: Refusal } => {
  if (!isEncodedWell(token)) return { refused: 'malformed' };
  let header: JwtHeader;
  let payload: JwtPayload;
  try {
    ({ header, payload } = decomposeUnverifiedJwt(token));
  } catch {
    const readable = withoutScopeList(token);
    if (readable === undefined) return { refused: 'malformed' };
    const other = readUnverified(readable, issuer);
    return 'refused' in other ? other : { refused: 'scope is a list' };
  }
  const { typ, alg, kid } = header;
  if (typ !== undefined && !(typeof typ === 'string' && accessTokenTypes.has(typ.toLowerCase()))) {
    return { refused: 'type' };
  }
  // RFC 7515 section 4.1.11: an extension that must be understood, and we understand none; RFC 7797's b64 is one.
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
  // RFC 7519 section 4.1.4: "on or after" the time is expired.
  if (payload.exp <= now) return 'expired';
  if (Math.max(payload.iat ?? 0, payload.nbf ?? 0) > now + clockSkew) return 'not yet valid';
  // Cognito's word for what the token is for.
  if (payload['token_use'] !== undefined && payload['token_use'] !== 'access') return 'not an access token';
  return undefined;
};

/**
 * A token in which `scope` is a list, without it; undefined for any other. aws-jwt-verify takes such tokens (Duende's, by
 * default) for malformed, whatever else there is to say of them.
 */
const withoutScopeList = (token: string): string | undefined => {
  const [header, payload = '', signature] = token.split('.');
  try {
    const { scope, ...claims }: Record<string, unknown> = JSON.parse(Buffer.from(payload, 'base64url').toString());
    if (!Array.isArray(scope)) return undefined;
    return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.');
  } catch {
    return undefined;
  }
};

/**
 * Whether encoding gives every part back, so that no changed last character leaves the bytes the same, and header and
 * payload are UTF-8 (RFC 7519 section 7.2). The signature is any bytes.
 */
const isEncodedWell = (token: string): boolean => {
  const parts = token.split('.');
  const bytes = parts.map((part) => Buffer.from(part, 'base64url'));
  return (
    bytes.every((decoded, index) => decoded.toString('base64url') === parts[index]) && bytes.slice(0, 2).every(isUtf8)
  );
};
