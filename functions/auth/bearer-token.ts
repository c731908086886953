import type { Refusal } from './unverified-token.ts';

/** No token of a real issuer comes near this many characters, and a verifier must not be fed without a limit. */
const maxHeaderLength = 8_192;

/** RFC 6750 section 2.1. */
const bearerHeader = /^Bearer +(?<token>[\w.~+/-]+=*)$/i;

/** RFC 7515 section 7.1: three base64url parts and no padding. */
const signedJwt = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** RFC 7516 section 7.1: five parts, of which all but the first may be empty. */
const encryptedJwt = /^[\w-]+(?:\.[\w-]*){4}$/;

/** The signed JWT in the value of an Authorization header, or what is there in its place. */
export const bearerToken = (authorization = ''): { token: string } | { refused: Refusal } => {
  if (!/^Bearer /i.test(authorization)) return { refused: 'no bearer token' };
  if (authorization.length > maxHeaderLength) return { refused: 'too long' };
  const token = bearerHeader.exec(authorization)?.groups?.['token'];
  if (token === undefined) return { refused: 'no bearer token' };
  if (signedJwt.test(token)) return { token };
  // An opaque token, for example: only its issuer can say whether it is good.
  return { refused: encryptedJwt.test(token) ? 'encrypted token' : 'not a signed JWT' };
};
