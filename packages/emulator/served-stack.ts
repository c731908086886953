/**
 * What the emulator's folders share: the AWS account, and types that describe the API, the functions and the tables of
 * a template.
 */
import { randomUUID } from 'node:crypto';
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import type { JSONWebKeySet } from 'jose';
import type { LogLevel } from './lambda/reports.ts';

/** An AWS account and a region of it. ARNs contain both. Functions find the region in AWS_REGION. */
export type Account = { id: string; region: string };

/** Where the emulator pretends to run a stack that names neither its account nor its region. */
export const defaultAccount: Account = { id: '000000000000', region: process.env['AWS_REGION'] || 'us-east-1' };

export const functionArn = ({ id, region }: Account, name: string): string =>
  `arn:aws:lambda:${region}:${id}:function:${name}`;

export const tableArn = ({ id, region }: Account, name: string): string =>
  `arn:aws:dynamodb:${region}:${id}:table/${name}`;

/**
 * One Lambda function. `name` is its FunctionName or, if the template gives none, its logical id. `folder` contains its
 * code; `timeout` is in milliseconds.
 */
export type FunctionSpec = {
  name: string;
  account: Account;
  folder: string;
  /** The code, if it is in the template and not in a folder. */
  inlineCode?: string;
  /** The handler, written as FILE.EXPORT. */
  handler: string;
  /** Lambda's name of the runtime, such as nodejs24.x. */
  runtime: string;
  environment: Record<string, string>;
  timeout: number;
  memoryMegabytes: number;
  /** The least severe level that is logged. Undefined if the log format is Text, which has no levels. */
  logLevel: LogLevel | undefined;
  /** The statements of all policies of the function's role. */
  role: Statement[];
  /** The statements of the role's permissions boundary, if it has one: they limit what `role` allows. */
  boundary?: Statement[];
  /** The RoleName of the function's role or, if the template gives none, the role's logical id. */
  roleName: string;
};

/** A statement of an IAM policy. Actions and resources may contain the wildcards `*` and `?`. */
export type Statement = { effect: 'Allow' | 'Deny'; actions: string[]; resources: string[] };

/** What API Gateway invokes: a function, or one of its versions or aliases. `version` is a number or $LATEST. */
export type Target = { functionName: string; arn: string; version: string };

/**
 * A Lambda authorizer. `identitySources` are written like $request.header.NAME, `format` is that of the payload, and
 * `ttl` is how long results are cached, in milliseconds. If `isSimple`, it returns isAuthorized, otherwise an IAM policy.
 */
export type LambdaAuthorizerSpec = {
  target: Target;
  identitySources: string[];
  format: '1.0' | '2.0';
  isSimple: boolean;
  ttl: number;
};

/** A JWT authorizer. Without `jwks`, the keys of the issuer are fetched from it. */
export type JwtAuthorizerSpec = JwtIssuer & { target?: undefined; audience: string[]; identitySource: string };

/**
 * An issuer of tokens. Without `jwks`, its keys are fetched from it. `audience` is the aud or client_id of its tokens.
 */
export type JwtIssuer = { issuer: string; audience?: string[]; jwks?: JSONWebKeySet };

export type AuthorizerSpec = LambdaAuthorizerSpec | JwtAuthorizerSpec;

/** `routeKey` is written as METHOD /path, ANY /path or $default. `timeout` is the integration's, in milliseconds. */
export type RouteSpec = {
  routeKey: string;
  target: Target;
  timeout: number;
  authorizer?: AuthorizerSpec;
  /** The scopes of which a token needs one. */
  scopes?: string[];
  leftOut?: undefined;
};

/** A route that needs what is left out. `leftOut` says why. */
export type LeftOutRoute = { routeKey: string; leftOut: string } & {
  [Field in Exclude<keyof RouteSpec, 'routeKey' | 'leftOut'>]?: undefined;
};

/** The CORS configuration of an API. `maxAge` is in seconds. */
export type CorsSpec = {
  allowOrigins: string[];
  allowMethods: string[];
  allowHeaders: string[];
  exposeHeaders: string[];
  allowCredentials: boolean;
  maxAge?: number;
};

/** `stages` is $default alone, or names with which paths begin. */
export type ApiSpec = { account: Account; stages: string[]; routes: (RouteSpec | LeftOutRoute)[]; cors?: CorsSpec };

export const defaultStage = '$default';

/** What the paths of a stage begin with. */
export const stagePath = (stage = defaultStage): string => (stage === defaultStage ? '' : `/${stage}`);

/**
 * Returns `digits` random hex digits (at most 32). `randomUUID` takes a fraction of the time of `randomBytes`, because
 * Node makes UUIDs in advance.
 */
export const randomHex = (digits: number): string => randomUUID().replaceAll('-', '').slice(0, digits);

/** Makes the root of a new trace id: https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html */
export const newTraceRoot = (): string => `Root=1-${Math.floor(Date.now() / 1000).toString(16)}-${randomHex(24)}`;

/** The part of a table's definition that the store needs to create it. */
export type TableSpec = Required<Pick<CreateTableCommandInput, 'TableName' | 'KeySchema' | 'AttributeDefinitions'>> &
  Pick<CreateTableCommandInput, 'GlobalSecondaryIndexes' | 'LocalSecondaryIndexes'>;

/** A resource (or one of its values) that the emulator leaves out, such as Jobs (AWS::SQS::Queue), and why. */
export type LeftOut = { resource: string; reason: string };

export type ServedStack = {
  account: Account;
  api: ApiSpec;
  functions: FunctionSpec[];
  tables: TableSpec[];
  leftOut: LeftOut[];
  /** The names of the resources that have no effect here. */
  withoutEffect: string[];
};
