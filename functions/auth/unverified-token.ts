import { isUtf8 } from 'node:buffer';
import type { Jwk } from 'aws-jwt-verify/jwk';
import { decomposeUnverifiedJwt } from 'aws-jwt-verify/jwt';
import type { JwtHeader, JwtPayload } from 'aws-jwt-verify/jwt-model';

/** Why a token is not let in: stable words for the log. */
export type Refusal =
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
  | 'not an access token'
  | 'unverifiable';

/** RFC 8725 section 3.1: the algorithms are listed here, not taken from the token. Each goes with one kind of key. */
export const algorithms = {
  RS256: ({ kty }: Jwk) => kty === 'RSA',
  ES256: ({ kty, crv }: Jwk) => kty === 'EC' && crv === 'P-256',
};

export const isAlgorithm = (alg: string | undefined): alg is keyof typeof algorithms =>
  alg !== undefined && Object.hasOwn(algorithms, alg);

/** RFC 9068 section 2.1; Cognito and others leave `typ` out or say JWT. */
const accessTokenTypes = new Set(['at+jwt', 'application/at+jwt', 'jwt']);

/** Seconds that an honest issuer's clock may be ahead of ours. */
export const clockSkew = 60;

/** Why a token is refused before its signature is looked at: what aws-jwt-verify would let pass, or not say. */
export const refuseUnverified = (token: string, issuer: string): Refusal | undefined => {
  if (!isEncodedWell(token)) return 'malformed';
  let header: JwtHeader;
  let payload: JwtPayload;
  try {
    ({ header, payload } = decomposeUnverifiedJwt(token));
  } catch {
    return 'malformed';
  }
  const now = Date.now() / 1000;
  const { typ } = header;
  if (typ !== undefined && !(typeof typ === 'string' && accessTokenTypes.has(typ.toLowerCase()))) return 'type';
  // RFC 7515 section 4.1.11: an extension that must be understood, and we understand none; RFC 7797's b64 is one.
  if ('crit' in header || 'b64' in header) return 'critical extension';
  if (!isAlgorithm(header.alg)) return 'algorithm';
  if (header.kid === undefined) return 'unknown key';
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
