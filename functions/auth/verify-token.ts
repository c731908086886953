import { JwtExpiredError, JwtInvalidAudienceError } from 'aws-jwt-verify/error';
import type { JwtPayload } from 'aws-jwt-verify/jwt-model';
import { verifyJwtSync } from 'aws-jwt-verify/jwt-verifier';
import type { IssuerKey, IssuerKeys } from './issuer-keys.ts';
import { clockSkew, type Refusal, readUnverified } from './unverified-token.ts';

/** What a token must be to be let in. */
export type TokenRules = {
  issuer: string;
  /** Null if the issuer's tokens name none (Cognito): then any passes. */
  audience: string | null;
  scope: string;
  /** The claims that may hold the scope: the names differ from issuer to issuer. */
  scopeClaims: readonly string[];
};

/** `scopes` are what the token's `scopeClaims` grant. */
export type Verdict = { claims: JwtPayload; scopes: string[] } | { refused: Refusal };

/**
 * Judges a JWT access token by RFC 7519, RFC 8725 and RFC 9068.
 * @throws if the issuer's keys cannot be had: that is a fault of ours, not the token's
 */
export const verifyToken = async (token: string, rules: TokenRules, keys: IssuerKeys): Promise<Verdict> => {
  // Before any key is looked up, so that no token of another kind or issuer costs a fetch.
  const unverified = readUnverified(token, rules.issuer);
  if ('refused' in unverified) return unverified;
  const named = await keysNamed(unverified.kid, keys);
  let verdict: Verdict = { refused: named.length > 0 ? 'algorithm' : 'unknown key' };
  // RFC 7517 section 4.5 lets keys of different kinds share a kid. Two of one kind are both the issuer's: either will do.
  for (const key of named.filter(({ algorithm }) => algorithm === unverified.algorithm)) {
    verdict = verifyWith(key, token, rules);
    if (!('refused' in verdict && verdict.refused === 'signature')) break;
  }
  return verdict;
};

const keysNamed = async (kid: string, { current, renewed }: IssuerKeys): Promise<IssuerKey[]> => {
  const named = (await current()).filter((key) => key.kid === kid);
  // The issuer may have a new key.
  return named.length > 0 ? named : (await renewed()).filter((key) => key.kid === kid);
};

const verifyWith = ({ jwk, publicKey }: IssuerKey, token: string, rules: TokenRules): Verdict => {
  const { issuer, audience, scope, scopeClaims } = rules;
  try {
    const options = { issuer, audience, graceSeconds: clockSkew, customJwtCheck: assertNotExpired };
    const claims = verifyJwtSync(token, jwk, options, () => publicKey);
    const scopes = grantedScopes(claims, scopeClaims);
    return scopes.includes(scope) ? { claims, scopes } : { refused: 'scope' };
  } catch (error) {
    if (error instanceof JwtExpiredError) return { refused: 'expired' };
    if (error instanceof JwtInvalidAudienceError) return { refused: 'audience' };
    // `readUnverified` has left nothing else to find. A signature of a wrong length has no error class of its own.
    return { refused: 'signature' };
  }
};

/** The skew is for clocks that are ahead; it must not make a token live longer. */
const assertNotExpired = ({ payload: { exp = 0 } }: { payload: JwtPayload }): void => {
  if (exp <= Date.now() / 1000) throw new JwtExpiredError('The token has expired', exp);
};

/** What the named claims grant: the words of a string, the elements of a list of strings, nothing of any other type. */
const grantedScopes = (claims: JwtPayload, names: readonly string[]): string[] => {
  const scopes = names.flatMap((name) => {
    const claim: unknown = Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (typeof claim === 'string') return claim.split(' ');
    return Array.isArray(claim) && claim.every((each) => typeof each === 'string') ? claim : [];
  });
  // An element with a space is no scope (RFC 6749 section 3.3). Joined with others it would look like two.
  return [...new Set(scopes)].filter((scope) => scope !== '' && !scope.includes(' '));
};
