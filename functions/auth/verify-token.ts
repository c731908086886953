import { JwtExpiredError, JwtInvalidAudienceError } from 'aws-jwt-verify/error';
import type { JwtPayload } from 'aws-jwt-verify/jwt-model';
import { verifyJwtSync } from 'aws-jwt-verify/jwt-verifier';
import type { IssuerKey, IssuerKeys } from './issuer-keys.ts';
import { clockSkew, type Refusal, readUnverified } from './unverified-token.ts';

export type TokenRules = {
  issuer: string;
  /** The expected `aud`. Null skips the check, for issuers whose tokens have no `aud` (Cognito). */
  audience: string | null;
  /** The scopes of which a token must have every one. */
  requiredScopes: readonly string[];
  /** The claims that may contain scopes. Their names differ from issuer to issuer. */
  scopeClaims: readonly string[];
};

/** A valid token's claims and the scopes that its `scopeClaims` grant, or the reason to refuse it. */
export type Verdict = { claims: JwtPayload; scopes: string[] } | { refused: Refusal };

/**
 * Verifies a JWT access token by RFC 7519, RFC 8725 and RFC 9068.
 * @throws Error if the issuer's keys cannot be fetched, which is a fault of ours and not of the token
 * @example const verdict = await verifyToken(token, rules, issuerKeys(jwksUri));
 */
export const verifyToken = async (token: string, rules: TokenRules, keys: IssuerKeys): Promise<Verdict> => {
  // The token is read before any key is looked up, so that no token of another kind or issuer causes a fetch.
  const unverified = readUnverified(token, rules.issuer);
  if ('refused' in unverified) return unverified;
  const named = await keysNamed(unverified.kid, keys);
  let verdict: Verdict = { refused: named.length > 0 ? 'algorithm' : 'unknown key' };
  // Keys may share a kid (RFC 7517 section 4.5), so every key of the token's algorithm is tried until one fits.
  for (const key of named.filter(({ algorithm }) => algorithm === unverified.algorithm)) {
    verdict = verifyWith(key, token, rules);
    if (!('refused' in verdict && verdict.refused === 'signature')) break;
  }
  return verdict;
};

const keysNamed = async (kid: string, { current, renewed }: IssuerKeys): Promise<IssuerKey[]> => {
  const named = (await current()).filter((key) => key.kid === kid);
  // The issuer may have added the key since the last fetch, so an unknown kid causes a new one.
  return named.length > 0 ? named : (await renewed()).filter((key) => key.kid === kid);
};

const verifyWith = ({ jwk, publicKey }: IssuerKey, token: string, rules: TokenRules): Verdict => {
  const { issuer, audience, requiredScopes, scopeClaims } = rules;
  try {
    const options = { issuer, audience, graceSeconds: clockSkew, customJwtCheck: assertNotExpired };
    const claims = verifyJwtSync(token, jwk, options, () => publicKey);
    const scopes = grantedScopes(claims, scopeClaims);
    return requiredScopes.every((scope) => scopes.includes(scope)) ? { claims, scopes } : { refused: 'scope' };
  } catch (error) {
    if (error instanceof JwtExpiredError) return { refused: 'expired' };
    if (error instanceof JwtInvalidAudienceError) return { refused: 'audience' };
    // Only the signature can be wrong here: `readUnverified` has refused all else. Its error may have no class of its
    // own.
    return { refused: 'signature' };
  }
};

/** aws-jwt-verify adds `graceSeconds` to `exp` too. This check undoes that, so no token outlives its `exp`. */
const assertNotExpired = ({ payload: { exp = 0 } }: { payload: JwtPayload }): void => {
  if (exp <= Date.now() / 1000) throw new JwtExpiredError('The token has expired', exp);
};

/** Returns the words of each named claim that is a string, and the elements of each that is a list of strings. */
const grantedScopes = (claims: JwtPayload, names: readonly string[]): string[] => {
  const scopes = names.flatMap((name) => {
    const claim: unknown = Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (typeof claim === 'string') return claim.split(' ');
    return Array.isArray(claim) && claim.every((each) => typeof each === 'string') ? claim : [];
  });
  // A list element with a space is not a scope (RFC 6749 section 3.3); joined with others, it would look like two.
  return [...new Set(scopes)].filter((scope) => scope !== '' && !scope.includes(' '));
};
