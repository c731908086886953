import { createPublicKey, type KeyObject } from 'node:crypto';
import {
  JwtExpiredError,
  JwtInvalidAudienceError,
  JwtInvalidScopeError,
  JwtInvalidSignatureAlgorithmError,
  JwtInvalidSignatureError,
  KidNotFoundInJwksError,
} from 'aws-jwt-verify/error';
import type { Jwk, Jwks } from 'aws-jwt-verify/jwk';
import type { JwtHeader, JwtPayload } from 'aws-jwt-verify/jwt-model';
import { verifyJwtSync } from 'aws-jwt-verify/jwt-verifier';
import type { IssuerKeys } from './issuer-keys.ts';
import { algorithms, clockSkew, isAlgorithm, type Refusal, refuseUnverified } from './unverified-token.ts';

/** What a token must be to be let in. `audience` is null if the issuer sets none (Cognito): then any passes. */
export type TokenRules = { issuer: string; audience: string | null; scope: string };

export type Verdict = { claims: JwtPayload } | { refused: Refusal };

/**
 * Judges a JWT access token by RFC 7519, RFC 8725 and RFC 9068.
 * @throws where the issuer's keys cannot be had: that is a fault of ours, not the token's
 */
export const verifyToken = async (token: string, rules: TokenRules, keys: IssuerKeys): Promise<Verdict> => {
  // Before any key is looked up, so that no token of another kind or issuer costs a fetch.
  const refused = refuseUnverified(token, rules.issuer);
  if (refused) return { refused };
  const verdict = verifyWith(await keys.current(), token, rules);
  if (!('refused' in verdict && verdict.refused === 'unknown key')) return verdict;
  // The issuer may have a new key.
  return verifyWith(await keys.renewed(), token, rules);
};

const verifyWith = (jwks: Jwks, token: string, { issuer, audience, scope }: TokenRules): Verdict => {
  try {
    const options = {
      issuer,
      audience,
      scope,
      graceSeconds: clockSkew,
      customJwtCheck: (jwt: { header: JwtHeader; payload: JwtPayload; jwk: Jwk }) => {
        assertKeyFits(jwt);
        assertNotExpired(jwt);
      },
    };
    return { claims: verifyJwtSync(token, jwks, options, publicKeyOf) };
  } catch (error) {
    return { refused: refusals.find(([errorClass]) => error instanceof errorClass)?.[1] ?? 'unverifiable' };
  }
};

/**
 * By the JWK itself, so that a key set that was fetched anew brings keys of its own. (The library's cache goes by key id,
 * and would serve on with a key whose id the issuer has given to another.)
 */
const publicKeys = new WeakMap<Jwk, KeyObject>();

/** To be made once: it takes as long as a signature's check. */
const publicKeyOf = (jwk: Jwk): KeyObject => {
  const publicKey = publicKeys.get(jwk) ?? createPublicKey({ key: jwk, format: 'jwk' });
  publicKeys.set(jwk, publicKey);
  return publicKey;
};

/** aws-jwt-verify takes any key for any algorithm where the key names none: RS256 for an ES256 that is none. */
const assertKeyFits = ({ header, jwk }: { header: JwtHeader; jwk: Jwk }): void => {
  if (!isAlgorithm(header.alg) || !algorithms[header.alg](jwk)) {
    throw new JwtInvalidSignatureAlgorithmError('The key is of another algorithm', header.alg, jwk.kty);
  }
};

/** The skew is for clocks that are ahead; it must not make a token live longer. */
const assertNotExpired = ({ payload: { exp = 0 } }: { payload: JwtPayload }): void => {
  if (exp <= Date.now() / 1000) throw new JwtExpiredError('The token has expired', exp);
};

/** What `refuseUnverified` leaves for aws-jwt-verify to find. */
const refusals: [errorClass: new (...args: never[]) => Error, refusal: Refusal][] = [
  [KidNotFoundInJwksError, 'unknown key'],
  [JwtInvalidSignatureAlgorithmError, 'algorithm'],
  [JwtInvalidSignatureError, 'signature'],
  [JwtExpiredError, 'expired'],
  [JwtInvalidAudienceError, 'audience'],
  [JwtInvalidScopeError, 'scope'],
];
