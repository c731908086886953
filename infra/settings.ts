import type { Node } from 'constructs';
import { defaultStage, nothing, number, partner, refused, refuseUnknownKeys, stages, text } from './context.ts';

/** The OpenID Connect issuer whose access tokens the API accepts. */
export type TrustedIssuer = {
  issuer: string;
  jwksUri: string;
  /** The `aud` that a token must have. `none` turns the check off, so the issuer's tokens for other APIs pass. */
  audience: string;
  /** The names of the claims that can contain scopes, as a list separated by commas, such as `scope,roles`. */
  scopeClaim: string;
};

/**
 * `prod` rolls out in steps, and keeps its data even if the stack is deleted. Other stages roll out at once, and their
 * data is deleted with their stack.
 */
export type Stage = 'prod' | 'dev' | `dev-${string}`;

/** A custom domain name for the API, instead of the default name that AWS generates. */
export type Domain = {
  domainName: string;
  /** An ACM certificate for the domain name, in the region of the stack. */
  certificateArn: string;
  /** The Route 53 zone that gets the DNS record of the domain. If absent, somebody must add the record by hand. */
  zone?: { hostedZoneId: string; zoneName: string };
};

/** Everything that a deployment can configure, through CDK context (`npx cdk deploy -c key=value`, or cdk.json). */
export type Settings = {
  stage: Stage;
  /** The issuer of the tokens. If absent, the stack creates a Cognito user pool as the issuer. */
  externalIssuer?: TrustedIssuer;
  /** The limits above which API Gateway answers 429: requests per second (rate), and requests in a burst. */
  throttle: { rateLimit: number; burstLimit: number };
  /** The origins whose pages may call the API from a browser (CORS). */
  allowOrigins: string[];
  domain?: Domain;
  /** Who gets the mail of alarms. If absent, nobody does. */
  alarmEmail?: string | undefined;
  /** The team that owns the stack: the tag `owner` of its resources. If absent, they do not get this tag. */
  owner?: string | undefined;
  /** Whether X-Ray traces the functions. docs/decisions/tracing.md says why the default is off. */
  tracing: boolean;
};

/**
 * Reads and checks the settings in the CDK context.
 * @throws ConfigurationError whose message names the key, its value and what is allowed
 */
export const readSettings = (node: Node): Settings => {
  refuseUnknownKeys(node);
  const [externalIssuer, domain] = [readIssuer(node), readDomain(node)];
  // In older versions, `scope` named the scope that a token must have. Whoever sets it may rely on it to keep callers
  // out, so say where the scopes are now.
  text(node, 'scope', nothing, 'left out: schemas/openapi.yaml has the scopes of each operation');
  const stage = (text(node, 'stage', stages, allowedStages) as Stage | undefined) ?? defaultStage;
  return {
    stage,
    ...(externalIssuer && { externalIssuer }),
    throttle: { rateLimit: number(node, 'rateLimit') ?? 500, burstLimit: number(node, 'burstLimit') ?? 1_000 },
    allowOrigins: text(node, 'allowOrigins', origins, allowedOrigins)?.split(',') ?? [],
    ...(domain && { domain }),
    alarmEmail: readAlarmEmail(node, stage),
    owner: text(node, 'owner', /^[\p{L}\p{N} _.:/=+@-]{1,256}$/u, 'at most 256 letters, digits, spaces or _.:/=+-@'),
    tracing: text(node, 'tracing', /^(on|off)$/, 'on or off') === 'on',
  };
};

const allowedStages = 'prod, dev, or dev-<name> with a name of 1 to 20 lower-case letters, digits and inner dashes';

const readAlarmEmail = (node: Node, stage: Stage): string | undefined => {
  const allowed = 'one email address, or to none if nobody wants mail';
  const address = text(node, 'alarmEmail', /^(none|[^\s@,;]+@[^\s@,;]+)$/, `set to ${allowed}`);
  // A deployment without the address would end the subscription, and nobody would notice until an outage.
  if (stage === 'prod' && address === undefined) throw refused('alarmEmail', address, `set in prod: to ${allowed}`);
  return address === 'none' ? undefined : address;
};

const readIssuer = (node: Node): TrustedIssuer | undefined => {
  // The issuer may have an http URL, because that URL is only compared with a token's `iss`. Keys never come over http.
  const schemes = 'an https:// URL, or an http:// URL on 127.0.0.1, without user, query or fragment';
  const issuer = text(node, 'issuer', url(/^(https:\/\/|http:\/\/127\.0\.0\.1[:/])/), schemes);
  if (issuer === undefined) {
    for (const key of ['audience', 'jwksUri', 'scopeClaim'] as const)
      text(node, key, nothing, 'set only together with issuer, for the same stages');
    return undefined;
  }
  // Fetch keys by https only: over http, anyone on the network could replace the keys, and so decide who gets in.
  const jwksUri = text(node, 'jwksUri') ?? `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`;
  if (!url(/^https:\/\//).test(jwksUri))
    throw refused('jwksUri', text(node, 'jwksUri'), 'an https:// URL without user, query or fragment');
  // Demand an audience: without it, tokens for the issuer's other APIs would be accepted (RFC 8725 section 3.9).
  const whichAudience = 'the aud of its tokens, or to "none" if they have no aud';
  const audience = partner(node, 'audience', 'issuer', whichAudience);
  const claims = 'names of claims, separated by commas without spaces';
  const scopeClaim = text(node, 'scopeClaim', /^[^\s,]+(,[^\s,]+)*$/, claims) ?? 'scope';
  return { issuer, jwksUri, audience, scopeClaim };
};

const readDomain = (node: Node): Domain | undefined => {
  const domainName = text(node, 'domainName', hostName, 'a host name in lower case, such as api.example.com');
  if (domainName === undefined) {
    for (const key of ['certificateArn', 'hostedZoneId', 'hostedZoneName'] as const)
      text(node, key, nothing, 'set only together with domainName, for the same stages');
    return undefined;
  }
  const aCertificate = 'the ARN of an ACM certificate in the region of the stack';
  const certificateArn = partner(node, 'certificateArn', 'domainName', aCertificate, certificate);
  if (text(node, 'hostedZoneId') === undefined && text(node, 'hostedZoneName') === undefined) {
    return { domainName, certificateArn };
  }
  const anId = 'the id of a Route 53 zone, such as Z0123456789ABC';
  const hostedZoneId = partner(node, 'hostedZoneId', 'hostedZoneName', anId, /^Z[A-Z\d]+$/);
  const isParent = { test: (zone: string) => `.${domainName}`.endsWith(`.${zone}`) };
  const aName = `the name of that zone: ${domainName} or a parent domain of it`;
  const zoneName = partner(node, 'hostedZoneName', 'hostedZoneId', aName, isParent);
  return { domainName, certificateArn, zone: { hostedZoneId, zoneName } };
};

const hostName = /^(?=.{1,253}$)([a-z\d]([a-z\d-]{0,61}[a-z\d])?\.)+[a-z][a-z\d-]{0,61}[a-z\d]$/;
const certificate = /^arn:aws[a-z-]*:acm:[a-z\d-]+:\d{12}:certificate\/[\w-]+$/;

/**
 * Accepts a list of origins only if each is spelled as browsers spell it, because API Gateway compares them as strings.
 * docs/deploy.md says why `*` is refused.
 */
const origins = {
  test: (text: string): boolean =>
    text.split(',').every((each) => origin.test(each) && URL.parse(each)?.origin === each),
};
const origin = /^(https:\/\/[^*]+|http:\/\/(localhost|127\.0\.0\.1)(:\d+)?)$/;
const allowedOrigins =
  'origins such as https://shop.example or http://localhost:5173, separated by commas, without * or a path';

const url = (scheme: RegExp) => ({
  test: (text: string): boolean => scheme.test(text) && /^[^\s?#@]+$/.test(text) && URL.canParse(text),
});
