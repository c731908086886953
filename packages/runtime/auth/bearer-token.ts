import type { Refusal } from './unverified-token.ts';

/** Real tokens are far shorter; the limit bounds the verifier's work. */
export const maxHeaderLength = 8_192;

/** RFC 6750 section 2.1. */
const bearerHeader = /^Bearer +(?<token>[\w.~+/-]+=*)$/i;

/** A signed JWT has three base64url parts without padding (RFC 7515 section 7.1). */
const signedJwt = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** An encrypted JWT has five parts, and all but the first may be empty (RFC 7516 section 7.1). */
const encryptedJwt = /^[\w-]+(?:\.[\w-]*){4}$/;

/** Returns the JWT in an Authorization header, unverified, or the reason why the header has none. */
export const bearerToken = (authorization = ''): { token: string } | { refused: Refusal } => {
  if (!/^Bearer /i.test(authorization)) return { refused: 'no bearer token' };
  if (authorization.length > maxHeaderLength) return { refused: 'too long' };
  const token = bearerHeader.exec(authorization)?.groups?.['token'];
  if (token === undefined) return { refused: 'no bearer token' };
  if (signedJwt.test(token)) return { token };
  // 'not a signed JWT' also covers opaque tokens, which only their issuer could check.
  return { refused: encryptedJwt.test(token) ? 'encrypted token' : 'not a signed JWT' };
};
