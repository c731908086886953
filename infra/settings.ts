import type { Node } from 'constructs';
import { type Context, defaultStage, readContext, refused } from './context.ts';

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
  /** Whether X-Ray traces the functions. docs/decisions/stack.md says why the default is off. */
  tracing: boolean;
};

export const readSettings = (node: Node): Settings => {
  const context = readContext(node);
  const stage = (context.stage ?? defaultStage) as Stage;
  const [externalIssuer, domain] = [issuerOf(context), domainOf(context)];
  const { alarmEmail, rateLimit = 500, burstLimit = 1_000, allowOrigins = [], owner, tracing } = context;
  // A deployment without the address would end the subscription, and nobody would notice until an outage.
  if (stage === 'prod' && alarmEmail === undefined) {
    throw refused('alarmEmail', alarmEmail, 'must be set in prod: to one email address, or none if nobody wants mail');
  }
  return {
    stage,
    ...(externalIssuer && { externalIssuer }),
    throttle: { rateLimit, burstLimit },
    allowOrigins,
    ...(domain && { domain }),
    alarmEmail: alarmEmail === 'none' ? undefined : alarmEmail,
    owner,
    tracing: tracing === 'on',
  };
};

const issuerOf = ({ issuer, audience, jwksUri, scopeClaim = 'scope' }: Context): TrustedIssuer | undefined => {
  if (issuer === undefined || audience === undefined) return undefined;
  if (jwksUri === undefined && !issuer.startsWith('https:')) {
    throw refused('jwksUri', jwksUri, 'must be set to an https:// URL, because the issuer has none');
  }
  return { issuer, jwksUri: jwksUri ?? `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`, audience, scopeClaim };
};

const domainOf = ({ domainName, certificateArn, hostedZoneId, hostedZoneName }: Context): Domain | undefined => {
  if (domainName === undefined || certificateArn === undefined) return undefined;
  if (hostedZoneId === undefined || hostedZoneName === undefined) return { domainName, certificateArn };
  if (!`.${domainName}`.endsWith(`.${hostedZoneName}`)) {
    throw refused('hostedZoneName', hostedZoneName, `must be ${domainName} or a parent domain of it`);
  }
  return { domainName, certificateArn, zone: { hostedZoneId, zoneName: hostedZoneName } };
};
