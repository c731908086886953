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
  /** The OAuth 2.0 scope that a token must have. */
  scope: string;
  /** Requests per second, and requests at once, above which the gateway answers 429. */
  throttle: { rateLimit: number; burstLimit: number };
  alarmEmail?: string | undefined;
};

/** Reads and checks the CDK context. @throws Error whose message names the key, its value and what is allowed */
export const readSettings = (node: Node): Settings => {
  const externalIssuer = readIssuer(node);
  return {
    stage: readStage(node),
    ...(externalIssuer && { externalIssuer }),
    scope: readScope(node, externalIssuer),
    throttle: { rateLimit: number(node, 'rateLimit') ?? 500, burstLimit: number(node, 'burstLimit') ?? 1_000 },
    alarmEmail: readEmail(node),
  };
};

const readStage = (node: Node): Stage => {
  const stage = text(node, 'stage') ?? 'prod';
  if (stage !== 'prod' && stage !== 'dev') throw refused('stage', stage, 'prod or dev');
  return stage;
};

const readIssuer = (node: Node): TrustedIssuer | undefined => {
  const issuer = text(node, 'issuer');
  if (issuer === undefined) {
    for (const key of ['audience', 'jwksUri', 'scopeClaim']) {
      if (text(node, key) !== undefined) throw refused(key, text(node, key), 'set only together with issuer');
    }
    return undefined;
  }
  // The issuer's http URL is only compared with a token's `iss`; keys are never fetched over http.
  if (!isUrl(issuer, /^(https:\/\/|http:\/\/127\.0\.0\.1[:/])/)) {
    throw refused('issuer', issuer, 'an https:// URL, or an http:// URL on 127.0.0.1, without user, query or fragment');
  }
  const jwksUri = text(node, 'jwksUri') ?? `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`;
  // Keys decide who gets in, and anyone on the network could replace them if they came over http.
  if (!isUrl(jwksUri, /^https:\/\//)) {
    throw refused('jwksUri', text(node, 'jwksUri'), 'an https:// URL without user, query or fragment');
  }
  const audience = text(node, 'audience');
  // Without an audience, a token for any other API of the issuer would be accepted (RFC 8725 section 3.9).
  if (audience === undefined) {
    throw refused(
      'audience',
      audience,
      'set together with issuer: to the aud of its tokens, or to "none" if they have no aud',
    );
  }
  const scopeClaim = text(node, 'scopeClaim') ?? 'scope';
  if (!/^[^\s,]+(,[^\s,]+)*$/.test(scopeClaim)) {
    throw refused('scopeClaim', scopeClaim, 'names of claims, separated by commas without spaces');
  }
  return { issuer, jwksUri, audience, scopeClaim };
};

const isUrl = (value: string, scheme: RegExp): boolean =>
  scheme.test(value) && /^[^\s?#@]+$/.test(value) && URL.canParse(value);

const readScope = (node: Node, externalIssuer: TrustedIssuer | undefined): string => {
  const scope = text(node, 'scope') ?? 'plants/create';
  // RFC 6749 section 3.3 allows these characters in a scope.
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) throw refused('scope', scope, 'one scope, without spaces');
  // Cognito's scopes have the form RESOURCE/PERMISSION.
  if (externalIssuer === undefined && !/^[\w.:-]+\/[\w.:-]+$/.test(scope)) {
    throw refused('scope', scope, 'RESOURCE/PERMISSION, such as plants/create');
  }
  return scope;
};

const readEmail = (node: Node): string | undefined => {
  const email = text(node, 'alarmEmail');
  if (email !== undefined && !/^[^\s@,;]+@[^\s@,;]+$/.test(email))
    throw refused('alarmEmail', email, 'one email address');
  return email;
};

const text = (node: Node, key: string): string | undefined => {
  const value: unknown = node.tryGetContext(key);
  if (value === undefined) return undefined;
  // `-c audience=$AUDIENCE` passes an empty string if the variable is not set; that must not mean "no audience".
  if (typeof value !== 'string' || value === '' || value !== value.trim()) {
    throw refused(key, value, 'a string that is not empty, without spaces around it');
  }
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

const refused = (key: string, value: unknown, allowed: string): Error =>
  new Error(`The context value ${key} is ${JSON.stringify(value) ?? 'not set'}, but it must be ${allowed}.`);
