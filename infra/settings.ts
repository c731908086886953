import type { Node } from 'constructs';

/** The OpenID issuer whose access tokens the API accepts. `audience` is left out for issuers that set none. */
export type TrustedIssuer = { issuer: string; jwksUri: string; audience?: string | undefined };

/** Every choice that a deployment makes, as CDK context gives it (`npx cdk deploy -c key=value`, or cdk.json). */
export type Settings = {
  /** Absent: the stack makes an issuer of its own, a Cognito user pool. */
  externalIssuer?: TrustedIssuer;
  /** The OAuth 2.0 scope that a token must carry. */
  scope: string;
};

/** @throws Error with one sentence that names the key, the value and what is allowed */
export const readSettings = (node: Node): Settings => {
  const issuer = url(node, 'issuer');
  const scope = text(node, 'scope') ?? 'plants/create';
  // RFC 6749 section 3.3
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) throw refused('scope', scope, 'one scope, without spaces');
  if (issuer === undefined) {
    // Cognito's way to write one.
    if (!/^[\w.:-]+\/[\w.:-]+$/.test(scope))
      throw refused('scope', scope, 'RESOURCE/PERMISSION, such as plants/create');
    for (const key of ['audience', 'jwksUri']) {
      if (text(node, key) !== undefined) throw refused(key, text(node, key), 'set only together with issuer');
    }
    return { scope };
  }
  const jwksUri = url(node, 'jwksUri') ?? `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`;
  const audience = text(node, 'audience');
  return { scope, externalIssuer: { issuer, jwksUri, audience } };
};

const text = (node: Node, key: string): string | undefined => {
  const value: unknown = node.tryGetContext(key);
  if (value === undefined) return undefined;
  // Empty is what `-c audience=$AUDIENCE` gives where the variable is not set: not a wish for no audience.
  if (typeof value !== 'string' || value === '') throw refused(key, value, 'a string that is not empty');
  return value;
};

/** The keys that decide who gets in must not come over a connection that anyone can change. */
const url = (node: Node, key: string): string | undefined => {
  const value = text(node, key);
  if (value !== undefined && !(/^https:\/\/[^\s?#@]+$/.test(value) && URL.canParse(value))) {
    throw refused(key, value, 'an https:// URL without user, query or fragment');
  }
  return value;
};

const refused = (key: string, value: unknown, allowed: string): Error =>
  new Error(`The context value ${key} is ${JSON.stringify(value)}, but it must be ${allowed}.`);
