import { JwtExpiredError, JwtInvalidAudienceError } from 'aws-jwt-verify/error';
import type { JwtPayload } from 'aws-jwt-verify/jwt-model';
import { verifyJwtSync } from 'aws-jwt-verify/jwt-verifier';
import type { IssuerKey, IssuerKeys } from './issuer-keys.ts';
import { clockSkew, type Refusal, readUnverified } from './unverified-token.ts';

export type TokenRules = {
  issuer: string;
  /** The expected `aud`. Null skips the check, for issuers such as Cognito, whose tokens have no `aud`. */
  audience: string | null;
  requiredScopes: readonly string[];
  /** The names of the claims that can contain scopes. The names differ from issuer to issuer. */
  scopeClaims: readonly string[];
};

export type Verdict = { claims: JwtPayload; scopes: string[] } | { refused: Refusal };

/**
 * Verifies a JWT access token as RFC 7519, RFC 8725 and RFC 9068 specify.
 * @throws Error if the issuer's keys cannot be fetched, which says nothing about the token
 */
export const verifyToken = async (token: string, rules: TokenRules, keys: IssuerKeys): Promise<Verdict> => {
  // Read the token before looking up its key, so that no token of another kind or issuer causes a fetch.
  const unverified = readUnverified(token, rules.issuer);
  if ('refused' in unverified) return unverified;
  const named = await keysNamed(unverified.kid, keys);
  let verdict: Verdict = { refused: named.length > 0 ? 'algorithm' : 'unknown key' };
  // Keys may share a key id (RFC 7517 section 4.5).
  for (const key of named.filter(({ algorithm }) => algorithm === unverified.algorithm)) {
    verdict = verifyWith(key, token, rules);
    if (!('refused' in verdict && verdict.refused === 'signature')) break;
  }
  return verdict;
};

const keysNamed = async (kid: string, { current, renewed }: IssuerKeys): Promise<IssuerKey[]> => {
  const named = (await current()).filter((key) => key.kid === kid);
  // If the key id is unknown, fetch the keys again: the issuer may have added the key since the last fetch.
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
    // `readUnverified` and the checks above rule out all other causes.
    return { refused: 'signature' };
  }
};

/** aws-jwt-verify still accepts a token for `graceSeconds` after its `exp`. This check refuses such a token. */
const assertNotExpired = ({ payload: { exp = 0 } }: { payload: JwtPayload }): void => {
  if (exp <= Date.now() / 1000) throw new JwtExpiredError('The token has expired', exp);
};

const grantedScopes = (claims: JwtPayload, names: readonly string[]): string[] => {
  const scopes = names.flatMap((name) => {
    const claim: unknown = Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (typeof claim === 'string') return claim.split(' ');
    return Array.isArray(claim) && claim.every((each) => typeof each === 'string') ? claim : [];
  });
  // A list element with a space is not a scope (RFC 6749 section 3.3), and would look like two once they are joined.
  return [...new Set(scopes)].filter((scope) => scope !== '' && !scope.includes(' '));
};
