import type { Node } from 'constructs';

/** The OpenID Connect issuer whose access tokens the API accepts. */
export type TrustedIssuer = {
  issuer: string;
  jwksUri: string;
  /** The `aud` that a token must have. `none` turns the check off, so tokens for the issuer's other APIs pass too. */
  audience: string;
  /** Names of the claims that may contain the scope, separated by commas. */
  scopeClaim: string;
};

/** `prod` keeps its plants even if the stack is deleted, and rolls out in steps; `dev` is deleted with its stack. */
export type Stage = 'prod' | 'dev';

/** Everything that a deployment can configure, through CDK context (`npx cdk deploy -c key=value`, or cdk.json). */
export type Settings = {
  stage: Stage;
  /** The issuer of the tokens. If absent, the stack creates one, a Cognito user pool. */
  externalIssuer?: TrustedIssuer;
  /** Requests per second, and requests at once, above which the gateway answers 429. */
  throttle: { rateLimit: number; burstLimit: number };
  alarmEmail?: string | undefined;
  /** Whether X-Ray traces the functions: docs/decisions/tracing.md. */
  tracing: boolean;
};

/** An error that whoever deploys must fix in the settings or in the contract. Its message is one sentence. */
export class ConfigurationError extends Error {}

/** Reads and checks the CDK context. @throws ConfigurationError whose message names the key, its value and what is allowed */
export const readSettings = (node: Node): Settings => {
  const externalIssuer = readIssuer(node);
  // Older versions had the key scope. CDK ignores unknown keys, but somebody may rely on this one to keep callers out.
  text(node, 'scope', nothing, 'left out: schemas/openapi.yaml has the scopes of each operation');
  return {
    stage: (text(node, 'stage', /^(prod|dev)$/, 'prod or dev') as Stage | undefined) ?? 'prod',
    ...(externalIssuer && { externalIssuer }),
    throttle: { rateLimit: number(node, 'rateLimit') ?? 500, burstLimit: number(node, 'burstLimit') ?? 1_000 },
    alarmEmail: text(node, 'alarmEmail', /^[^\s@,;]+@[^\s@,;]+$/, 'one email address'),
    tracing: text(node, 'tracing', /^(on|off)$/, 'on or off') === 'on',
  };
};

const readIssuer = (node: Node): TrustedIssuer | undefined => {
  // The issuer's http URL is only compared with a token's `iss`; keys are never fetched over http.
  const schemes = 'an https:// URL, or an http:// URL on 127.0.0.1, without user, query or fragment';
  const issuer = text(node, 'issuer', url(/^(https:\/\/|http:\/\/127\.0\.0\.1[:/])/), schemes);
  if (issuer === undefined) {
    for (const key of ['audience', 'jwksUri', 'scopeClaim']) text(node, key, nothing, 'set only together with issuer');
    return undefined;
  }
  // Keys decide who gets in, and anyone on the network could replace them if they came over http.
  const jwksUri = text(node, 'jwksUri') ?? `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`;
  if (!url(/^https:\/\//).test(jwksUri))
    throw refused('jwksUri', text(node, 'jwksUri'), 'an https:// URL without user, query or fragment');
  const audience = text(node, 'audience');
  // Without an audience, a token for any other API of the issuer would be accepted (RFC 8725 section 3.9).
  const whichAudience = 'set together with issuer: to the aud of its tokens, or to "none" if they have no aud';
  if (audience === undefined) throw refused('audience', audience, whichAudience);
  const claims = 'names of claims, separated by commas without spaces';
  const scopeClaim = text(node, 'scopeClaim', /^[^\s,]+(,[^\s,]+)*$/, claims) ?? 'scope';
  return { issuer, jwksUri, audience, scopeClaim };
};

const nothing = /(?!)/;

const url = (scheme: RegExp) => ({
  test: (text: string): boolean => scheme.test(text) && /^[^\s?#@]+$/.test(text) && URL.canParse(text),
});

/** Reads a text that is not empty and fits the pattern. @throws ConfigurationError */
export const text = (
  node: Node,
  key: string,
  pattern: Pick<RegExp, 'test'> = /^/,
  allowed = '',
): string | undefined => {
  const value: unknown = node.tryGetContext(key);
  if (value === undefined) return undefined;
  // `-c audience=$AUDIENCE` passes an empty string if the variable is not set; that must not mean "no audience".
  if (typeof value !== 'string' || value === '' || value !== value.trim()) {
    throw refused(key, value, 'a string that is not empty, without spaces around it');
  }
  if (!pattern.test(value)) throw refused(key, value, allowed);
  return value;
};

/** Reads a positive integer, which is a string on the command line and may be a number in cdk.json. */
const number = (node: Node, key: string): number | undefined => {
  const value: unknown = node.tryGetContext(key);
  if (value === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(String(value)) || !['string', 'number'].includes(typeof value)) {
    throw refused(key, value, 'a whole number from 1 to 999999999');
  }
  return Number(value);
};

const refused = (key: string, value: unknown, allowed: string): ConfigurationError =>
  new ConfigurationError(
    `The context value ${key} is ${JSON.stringify(value) ?? 'not set'}, but it must be ${allowed}.`,
  );
