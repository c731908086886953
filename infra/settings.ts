import type { Node } from 'constructs';

/** The OpenID issuer whose access tokens the API accepts. */
export type TrustedIssuer = {
  issuer: string;
  jwksUri: string;
  /** What a token must name as `aud`. `none` turns the check off: tokens for other APIs of the issuer then pass it too. */
  audience: string;
  /** The claims that may hold the scope, separated by commas. */
  scopeClaim: string;
};

/** `prod` keeps its plants whatever happens to the stack, and changes in steps; all of `dev` goes with the stack. */
export type Stage = 'prod' | 'dev';

/** Every choice that a deployment makes, as CDK context gives it (`npx cdk deploy -c key=value`, or cdk.json). */
export type Settings = {
  stage: Stage;
  /** Absent: the stack makes an issuer of its own, a Cognito user pool. */
  externalIssuer?: TrustedIssuer;
  /** The OAuth 2.0 scope that a token must carry. */
  scope: string;
  /** Requests a second, and how many may come at once, before the gateway answers 429. */
  throttle: { rateLimit: number; burstLimit: number };
  /** Where alarms are sent. */
  alarmEmail?: string | undefined;
};

/** @throws Error with one sentence that names the key, the value and what is allowed */
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
  // Only a name to compare with; the keys are never fetched over http.
  if (!isUrl(issuer, /^(https:\/\/|http:\/\/127\.0\.0\.1[:/])/)) {
    throw refused('issuer', issuer, 'an https:// URL without user, query or fragment (http:// on 127.0.0.1)');
  }
  const jwksUri = text(node, 'jwksUri') ?? `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`;
  // The keys that decide who gets in must not come over a connection that anyone can change.
  if (!isUrl(jwksUri, /^https:\/\//)) {
    throw refused('jwksUri', text(node, 'jwksUri'), 'an https:// URL without user, query or fragment');
  }
  const audience = text(node, 'audience');
  // Without it a token for any other API of the issuer would be let in (RFC 8725 section 3.9).
  if (audience === undefined) {
    throw refused('audience', audience, 'set together with issuer: the aud of its tokens, or none if they have no aud');
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
  // RFC 6749 section 3.3
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) throw refused('scope', scope, 'one scope, without spaces');
  // Cognito's way to write one.
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
  // Empty is what `-c audience=$AUDIENCE` gives where the variable is not set: not a wish for no audience.
  if (typeof value !== 'string' || value === '' || value !== value.trim()) {
    throw refused(key, value, 'a string that is not empty, without spaces around it');
  }
  return value;
};

/** The command line has digits, cdk.json may have a number. */
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
