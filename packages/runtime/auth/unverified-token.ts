import { isUtf8 } from 'node:buffer';
import { isJsonObject, type Json, safeJsonParse } from 'aws-jwt-verify/safe-json-parse';
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
  | 'client'
  | 'scope'
  | 'not an access token';

/** RFC 9068 section 2.1, in lower case. Cognito and other issuers send tokens with the `typ` JWT, or with none. */
const accessTokenTypes = new Set(['at+jwt', 'application/at+jwt', 'jwt']);

/** Seconds by which an issuer's clock may be ahead of ours. */
export const clockSkew = 60;

type Header = { alg?: string; kid?: string; [parameter: string]: unknown };

/** A token's claims. Those that decide for every issuer have the types of RFC 7519 section 4.1; `exp` is in seconds. */
export type Claims = {
  iss?: string;
  sub?: string;
  aud?: string | string[];
  exp?: number;
  nbf?: number;
  iat?: number;
  [claim: string]: unknown;
};

export type Unverified = {
  algorithm: Algorithm;
  kid: string;
  claims: Claims;
  signedBytes: Buffer;
  signature: Buffer;
};

/** Refuses what can be refused before the signature is verified, so that no such token causes a fetch of keys. */
export const readUnverified = (token: string, issuer: string): Unverified | { refused: Refusal } => {
  const decomposed = decomposeUnverified(token);
  if (decomposed === undefined) return { refused: 'malformed' };
  const { header, ...rest } = decomposed;
  const { typ, alg, kid } = header;
  if (typ !== undefined && !(typeof typ === 'string' && accessTokenTypes.has(typ.toLowerCase()))) {
    return { refused: 'type' };
  }
  // We support no extensions (`crit`: RFC 7515 section 4.1.11, `b64`: RFC 7797).
  if ('crit' in header || 'b64' in header) return { refused: 'critical extension' };
  if (!isAlgorithm(alg)) return { refused: 'algorithm' };
  if (kid === undefined) return { refused: 'unknown key' };
  const refused = refuseClaims(rest.claims, issuer);
  return refused ? { refused } : { algorithm: alg, kid, ...rest };
};

const refuseClaims = (claims: Claims, issuer: string): Refusal | undefined => {
  const now = Date.now() / 1000;
  if (claims.iss !== issuer) return 'issuer';
  if (claims.exp === undefined) return 'no expiry';
  if (isExpired(claims)) return 'expired';
  if (Math.max(claims.iat ?? 0, claims.nbf ?? 0) > now + clockSkew) return 'not yet valid';
  // Cognito sets `token_use` to `access` in access tokens, to `id` in ID tokens. Other issuers' tokens can lack it.
  if (claims['token_use'] !== undefined && claims['token_use'] !== 'access') return 'not an access token';
  return undefined;
};

/** A token must not be accepted "on or after" its `exp`, so it has expired if `exp` is now (RFC 7519 section 4.1.4). */
export const isExpired = ({ exp = 0 }: Claims): boolean => exp <= Date.now() / 1000;

/**
 * Returns undefined for a malformed token. aws-jwt-verify's function also rejects a `scope` or `jti` other than a string,
 * although some issuers send a list of scopes (packages/runtime/issuers.md).
 */
const decomposeUnverified = (token: string) => {
  const parts = token.split('.');
  const decoded = parts.map((part) => Buffer.from(part, 'base64url'));
  // No two spellings of a part may decode to the same bytes.
  if (decoded.some((bytes, index) => bytes.toString('base64url') !== parts[index])) return undefined;
  const [headerBytes, payloadBytes, signature, ...more] = decoded;
  if (!headerBytes || !payloadBytes || !signature || more.length > 0) return undefined;
  const [header, claims] = [parse(headerBytes), parse(payloadBytes)];
  if (!isHeader(header) || !areClaims(claims)) return undefined;
  return { header, claims, signature, signedBytes: Buffer.from(token.slice(0, token.lastIndexOf('.'))) };
};

/** Header and payload must be JSON in UTF-8 (RFC 7519 section 7.2). Returns null, which is neither, if they are not. */
const parse = (bytes: Buffer): Json => {
  try {
    return isUtf8(bytes) ? safeJsonParse(bytes.toString()) : null;
  } catch {
    return null;
  }
};

const isHeader = (value: Json): value is Json & Header => {
  const { alg, kid } = Object(value);
  return isJsonObject(value) && [alg, kid].every(isOptionalText);
};

const areClaims = (value: Json): value is Json & Claims => {
  const { iss, sub, aud, exp, nbf, iat } = Object(value);
  // JSON may have a number such as 1e400, which is read as Infinity.
  const areNumbers = [exp, nbf, iat].every((time) => time === undefined || Number.isFinite(time));
  return isJsonObject(value) && areNumbers && [iss, sub, ...[aud].flat()].every(isOptionalText);
};

const isOptionalText = (value: unknown): boolean => value === undefined || typeof value === 'string';
