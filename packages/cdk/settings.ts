/** Reads the settings from the CDK context (`-c key=value`, or cdk.json). docs/deploy.md says what each means. */
import type { Node } from 'constructs';
import { z } from 'zod';
import { missingAccount } from './account.ts';

/** An error that the person who deploys must fix, such as a wrong setting. Its message says how. */
export class ConfigurationError extends Error {}

/** Only whoever names `prod` changes production. */
export const defaultStage = 'dev';

// A stage's name must be short, because CloudFormation makes it part of the names of functions and roles. Those names
// have at most 64 characters, and must also say what each function or role is for.
const stages = /^(prod|dev)(-[a-z\d]([a-z\d-]{0,18}[a-z\d])?)?$/;

const fitting = (pattern: RegExp, error: string) => z.string().regex(pattern, error);

// `-c audience=$AUDIENCE` passes an empty string if the variable is not set. That must not mean "no audience".
const text = fitting(/^\S(.*\S)?$/, 'must not be empty or have spaces around it');

const url = (pattern: RegExp, error: string) =>
  z.string().refine((value) => pattern.test(value) && URL.canParse(value), error);

const listOf = (what: string) => fitting(/^[^\s,]+(,[^\s,]+)*$/, `must be ${what}, separated by commas without spaces`);

// On the command line, each number is a string.
const wholeNumber = (from: number, to: number) => {
  const error = `must be a whole number from ${from} to ${to}`;
  return z
    .union([z.string(), z.number()], error)
    .refine((value) => /^(0|[1-9]\d*)$/.test(String(value)) && Number(value) >= from && Number(value) <= to, error)
    .transform(Number);
};
const count = wholeNumber(1, 999_999_999);

/** Origins as browsers spell them, because API Gateway compares strings. docs/deploy.md says why `*` is refused. */
const origins = z
  .string()
  .transform((list) => list.split(','))
  .refine(
    (list) => list.every((each) => origin.test(each) && URL.parse(each)?.origin === each),
    'must be origins such as https://shop.example or http://localhost:5173, separated by commas, without * or a path',
  );
const origin = /^(https:\/\/[^*]+|http:\/\/(localhost|127\.0\.0\.1)(:\d+)?)$/;

/** AWS's limits. The stack has two more tags, and IAM ignores case in the names of tags. */
const tags = z
  .string()
  .transform((list) => list.split(',').map((each) => each.split(/=(.*)/s)))
  .transform((list) => list.map(([name = '', value = '']): [string, string] => [name, value]))
  .refine(
    (list) =>
      list.every(([name, value]) => tagName.test(name) && tagValue.test(value)) &&
      new Set(list.map(([name]) => name.toLowerCase())).size === list.length &&
      list.length <= 48,
    'must be up to 48 tags, such as owner=team-a,cost-center=42: names of up to 128 characters, each once, but not ' +
      'service, stage or aws:…, with values of up to 256; of letters, digits, spaces or _.:/+-@, and = in a value',
  )
  .transform((list): Record<string, string> => Object.fromEntries(list));
const tagName = /^(?! |aws:|service$|stage$)[\p{L}\p{N} _.:/+@-]{1,128}(?<! )$/iu;
const tagValue = /^(?! )[\p{L}\p{N} _.:/=+@-]{1,256}(?<! )$/u;

const hostName = /^(?=.{1,253}$)([a-z\d]([a-z\d-]{0,61}[a-z\d])?\.)+[a-z][a-z\d-]{0,61}[a-z\d]$/;
const certificate = /^arn:aws[a-z-]*:acm:[a-z\d-]+:\d{12}:certificate\/[\w-]+$/;
const repository = /^([\w-]+@\d+\/[\w.-]+@\d+|[\w-]+\/[\w.-]+)$/;

const schema = z
  .object({
    stage: fitting(
      stages,
      'must be prod or dev, or one of them with -<name>: 1 to 20 lower-case letters, digits or inner dashes',
    ),
    // The issuer may have an http URL, because that URL is only compared with a token's `iss`.
    issuer: url(
      /^(https:\/\/|http:\/\/127\.0\.0\.1[:/])[^\s?#@]+$/,
      'must be an https:// URL, or an http:// URL on 127.0.0.1, without user, query or fragment',
    ),
    // Fetch keys by https only: over http, anyone on the network could replace the keys, and so decide who gets in.
    jwksUri: url(/^https:\/\/[^\s?#@]+(\?[^\s#]*)?$/, 'must be an https:// URL without user or fragment'),
    audience: text,
    clientIds: listOf('ids of clients'),
    scopeClaim: listOf('names of claims'),
    rateLimit: count,
    burstLimit: count,
    // AWS's limit.
    authorizerCache: wholeNumber(0, 3_600),
    alarmEmail: fitting(/^(none|[^\s@,;]+@[^\s@,;]+)$/, 'must be one email address, or none if nobody wants mail'),
    budget: count,
    tags,
    tracing: z.enum(['on', 'off'], 'must be on or off'),
    permissionsBoundary: fitting(/^[\w+=,.@-]{1,128}$/, 'must be the name of a policy in IAM, not its ARN'),
    allowOrigins: origins,
    domainName: fitting(hostName, 'must be a host name in lower case, such as api.example.com'),
    defaultAddress: z.enum(['on', 'off'], 'must be on or off'),
    certificateArn: fitting(certificate, 'must be the ARN of an ACM certificate in the region of the stack'),
    hostedZoneId: fitting(/^Z[A-Z\d]+$/, 'must be the id of a Route 53 zone, such as Z0123456789ABC'),
    hostedZoneName: text,
    github: fitting(
      repository,
      'must be <owner>@<id>/<repository>@<id>, or <owner>/<repository> if its tokens have no ids',
    ),
    githubProvider: z.literal('existing', 'must be existing, or not set'),
  })
  .partial();

type Context = z.infer<typeof schema>;
type Key = keyof Context;

export const keys = Object.keys(schema.shape) as Key[];

/** The keys with neither `@` nor `:` that the CDK itself reads or writes. */
export const cdkKeys = ['acknowledged-issue-numbers', 'assets-ecr-repository-name', 'cdk-migrate', 'cli-telemetry'];

/** For each setting, those that must be set together with it. */
const needed: Partial<Record<Key, Key[]>> = {
  // Demand an audience: without it, tokens for the issuer's other APIs would be accepted (RFC 8725 section 3.9).
  issuer: ['audience'],
  audience: ['issuer'],
  jwksUri: ['issuer'],
  scopeClaim: ['issuer'],
  domainName: ['certificateArn'],
  defaultAddress: ['domainName'],
  certificateArn: ['domainName'],
  hostedZoneId: ['hostedZoneName', 'domainName'],
  hostedZoneName: ['hostedZoneId', 'domainName'],
  // Without `github`, `cdk deploy` would deploy the service instead of the stack for GitHub.
  githubProvider: ['github'],
};

/** @throws ConfigurationError whose message names the key, its value and what is allowed */
export const readContext = (node: Node): Context => {
  refuseUnknownKeys(node);
  const { error, data: context } = schema.safeParse(Object.fromEntries(keys.map((key) => [key, settingOf(node, key)])));
  if (error) {
    const { path: [key = ''] = [], message = '' } = error.issues[0] ?? {};
    throw refused(key, settingOf(node, key as Key), message);
  }
  for (const [key, others] of Object.entries(needed) as [Key, Key[]][]) {
    const missing = others.find((other) => context[key] !== undefined && context[other] === undefined);
    const message = `must be set together with ${key}, for the same stages; or leave out ${key}`;
    if (missing) throw refused(missing, undefined, message);
  }
  const problem = missingAccount();
  if (problem !== undefined) throw new ConfigurationError(problem);
  return context;
};

export const refused = (key: PropertyKey, value: unknown, message: string): ConfigurationError =>
  new ConfigurationError(`The context value ${String(key)} is ${JSON.stringify(value) ?? 'not set'}: ${message}.`);

/** Refuses a key that nothing reads: if somebody misspelt a setting, its default would be deployed instead. */
const refuseUnknownKeys = (node: Node): void => {
  const known: string[] = [...keys, ...cdkKeys];
  const unknown = Object.keys(node.getAllContext()).find((key) => !/[@:]/.test(key) && !known.includes(key));
  if (unknown === undefined) return;
  throw new ConfigurationError(
    `The CDK context (-c, cdk.json, cdk.context.json or ~/.cdk.json) has the key ${unknown}, which is not a setting. ` +
      `The settings are ${keys.join(', ')}. Add a new setting to \`schema\` in settings.ts of @lambda-service/cdk, and a key that the ` +
      'CDK reads to `cdkKeys`.',
  );
};

/** Returns a setting's value. In cdk.json, a setting may be an object that has a value per stage: `{ "prod": 50 }`. */
const settingOf = (node: Node, key: Key): unknown => {
  const value: unknown = node.tryGetContext(key);
  if (key === 'stage' || Array.isArray(value) || !(value instanceof Object)) return value;
  if (!Object.keys(value).every((stage) => stages.test(stage))) {
    throw refused(key, value, 'must be one value, or an object that has a value for each of some stages');
  }
  return (value as Record<string, unknown>)[node.tryGetContext('stage') ?? defaultStage];
};

/** The kind of stage: `prod` for each `prod-<name>`, too. docs/deploy.md#stages says how they differ. */
export type Stage = 'prod' | 'dev';

export type Settings = ReturnType<typeof readSettings>;

export type TrustedIssuer = NonNullable<Settings['externalIssuer']>;

export type Domain = NonNullable<Settings['domain']>;

export const readSettings = (node: Node) => {
  const context = readContext(node);
  const stageName = context.stage ?? defaultStage;
  const stage: Stage = stageName.startsWith('prod') ? 'prod' : 'dev';
  const { alarmEmail, rateLimit = 500, burstLimit = 1_000, allowOrigins = [], tags = {}, tracing } = context;
  // A deployment without the address would end the subscription, and nobody would notice until an outage.
  if (stage === 'prod' && alarmEmail === undefined) {
    throw refused('alarmEmail', alarmEmail, 'must be set in prod: to one email address, or none if nobody wants mail');
  }
  const email = alarmEmail === 'none' ? undefined : alarmEmail;
  if (context.budget !== undefined && email === undefined) {
    throw refused('budget', context.budget, 'needs alarmEmail to be an address, to which AWS mails');
  }
  return {
    stage,
    /** The whole name of the stage, such as `dev-anna`, for the names of the stack and what must not clash. */
    stageName,
    /** If undefined, the stack creates a Cognito user pool as the issuer. */
    externalIssuer: issuerOf(context),
    /** More clients of that pool that may call the API, separated by commas. */
    clientIds: context.clientIds,
    throttle: { rateLimit, burstLimit },
    /** For how many seconds the gateway keeps the authorizer's result. */
    authorizerCache: context.authorizerCache ?? 0,
    allowOrigins,
    domain: domainOf(context),
    alarmEmail: email,
    budget: context.budget,
    tags,
    tracing: tracing === 'on',
    permissionsBoundary: context.permissionsBoundary,
  };
};

/**
 * Write units per second that a table accepts: one for each request that the gateway lets through, also in a burst, so
 * that items of up to 1 KB are never throttled. Larger items share it: docs/cost.md.
 */
export const maxWriteUnits = ({ rateLimit, burstLimit }: Settings['throttle']): number =>
  // An item of 400 KB takes 400. The maximum must be below the table's quota of 40,000.
  Math.min(Math.max(rateLimit + burstLimit, 400), 39_999);

/** An `audience` of `none` turns the check of `aud` off, `clientIds` of `any` that of the client. */
const issuerOf = ({ issuer, audience, jwksUri, clientIds, scopeClaim = 'scope' }: Context) => {
  if (issuer === undefined || audience === undefined) {
    if (clientIds === 'any')
      throw refused('clientIds', clientIds, 'must be ids of clients; only with the setting issuer may it be any');
    return undefined;
  }
  // Without both checks, the issuer's tokens for its other APIs would be accepted (RFC 8725 section 3.9).
  if (audience === 'none' && clientIds === undefined) {
    const ids = 'to the ids of the clients that may call the API, separated by commas';
    const message = `must be set if audience is none: ${ids}, or any if the issuer's tokens for every API and client may`;
    throw refused('clientIds', clientIds, message);
  }
  if (jwksUri === undefined && !issuer.startsWith('https:')) {
    throw refused('jwksUri', jwksUri, 'must be set to an https:// URL, because the issuer has none');
  }
  return {
    issuer,
    jwksUri: jwksUri ?? `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`,
    audience,
    clientIds: clientIds ?? 'any',
    scopeClaim,
  };
};

const domainOf = ({ domainName, defaultAddress, certificateArn, hostedZoneId, hostedZoneName: zoneName }: Context) => {
  if (domainName === undefined || certificateArn === undefined) return undefined;
  if (zoneName !== undefined && !`.${domainName}`.endsWith(`.${zoneName}`)) {
    throw refused('hostedZoneName', zoneName, `must be ${domainName} or a parent domain of it`);
  }
  const zone = hostedZoneId === undefined || zoneName === undefined ? undefined : { hostedZoneId, zoneName };
  return { domainName, defaultAddress, certificateArn, zone };
};
