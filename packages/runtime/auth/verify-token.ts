import { verify } from 'node:crypto';
import type { IssuerKey, IssuerKeys } from './issuer-keys.ts';
import { type Claims, isExpired, type Refusal, readUnverified, type Unverified } from './unverified-token.ts';

export type TokenRules = {
  issuer: string;
  /** The expected `aud`. Null skips the check, for issuers such as Cognito, whose tokens have no `aud`. */
  audience: string | null;
  /** The ids of the clients that may call the API. Null skips the check. */
  clientIds: readonly string[] | null;
  requiredScopes: readonly string[];
  /** The names of the claims that can contain scopes. The names differ from issuer to issuer. */
  scopeClaims: readonly string[];
};

/** `clientId` is empty if no claim names the client. */
export type Verdict = { claims: Claims; clientId: string; scopes: string[] } | { refused: Refusal };

/**
 * Verifies a JWT access token as RFC 7519, RFC 8725 and RFC 9068 specify.
 * @throws Error if the issuer's keys cannot be fetched, which says nothing about the token
 */
export const verifyToken = async (token: string, rules: TokenRules, keys: IssuerKeys): Promise<Verdict> => {
  // Read the token before looking up its key, so that no token of another kind or issuer causes a fetch.
  const unverified = readUnverified(token, rules.issuer);
  if ('refused' in unverified) return unverified;
  const named = await keysNamed(unverified.kid, keys);
  const fitting = named.filter(({ algorithm }) => algorithm === unverified.algorithm);
  if (fitting.length === 0) return { refused: named.length > 0 ? 'algorithm' : 'unknown key' };
  // Keys may share a key id (RFC 7517 section 4.5).
  if (!fitting.some((key) => isSignedBy(key, unverified))) return { refused: 'signature' };
  return verdictOn(unverified.claims, rules);
};

const keysNamed = async (kid: string, { current, renewed }: IssuerKeys): Promise<IssuerKey[]> => {
  const named = (await current()).filter((key) => key.kid === kid);
  // If the key id is unknown, fetch the keys again: the issuer may have added the key since the last fetch.
  return named.length > 0 ? named : (await renewed()).filter((key) => key.kid === kid);
};

/** RS256 and ES256 both hash with SHA-256. The key's type decides between them, and `dsaEncoding` matters to ES256 only. */
const isSignedBy = ({ publicKey: key }: IssuerKey, { signedBytes, signature }: Unverified): boolean =>
  verify('sha256', signedBytes, { key, dsaEncoding: 'ieee-p1363' }, signature);

const verdictOn = (claims: Claims, rules: TokenRules): Verdict => {
  const { audience, clientIds, requiredScopes, scopeClaims } = rules;
  // Fetching the issuer's keys may have taken seconds.
  if (isExpired(claims)) return { refused: 'expired' };
  if (audience !== null && ![claims.aud].flat().includes(audience)) return { refused: 'audience' };
  const clients = clientClaims.map((name) => claims[name]).filter((claim) => claim !== undefined);
  if (clientIds !== null && !areListed(clients, clientIds)) return { refused: 'client' };
  const scopes = grantedScopes(claims, scopeClaims);
  if (!requiredScopes.every((scope) => scopes.includes(scope))) return { refused: 'scope' };
  return { claims, clientId: clients.filter((each) => typeof each === 'string').find(Boolean) ?? '', scopes };
};

/** The claims that can name the client: of RFC 9068, OpenID Connect, Okta, and version 1 of Entra ID's tokens. */
const clientClaims = ['client_id', 'azp', 'cid', 'appid'];

/** If the claims of a token name several clients, no rule says which one counts. So each must be on the list. */
const areListed = (clients: unknown[], clientIds: readonly unknown[]): boolean =>
  clients.length > 0 && clients.every((each) => clientIds.includes(each));

const grantedScopes = (claims: Claims, names: readonly string[]): string[] => {
  const scopes = names.flatMap((name) => {
    const claim: unknown = Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (typeof claim === 'string') return claim.split(' ');
    return Array.isArray(claim) && claim.every((each) => typeof each === 'string') ? claim : [];
  });
  // A list element with a space is not a scope (RFC 6749 section 3.3), and would look like two once they are joined.
  return [...new Set(scopes)].filter((scope) => scope !== '' && !scope.includes(' '));
};
