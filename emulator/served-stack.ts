/** The types that the emulator's folders share. They describe what a template says to serve. */
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';

/**
 * One Lambda function. `name` is its FunctionName, or its logical id if the template gives none. `folder` contains its
 * code; `timeout` is in milliseconds.
 */
export type FunctionSpec = {
  name: string;
  folder: string;
  /** The handler, written as FILE.EXPORT. */
  handler: string;
  environment: Record<string, string>;
  timeout: number;
  memoryMegabytes: number;
  /** The least severe level that is logged: ApplicationLogLevel (by default INFO) if LogFormat is JSON, else TRACE. */
  logLevel: LogLevel;
  /** The statements of all policies of the function's role. */
  role: Statement[];
  /** The RoleName of the function's role, or the role's logical id if the template gives no RoleName. */
  roleName: string;
};

export type LogLevel = 'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | 'FATAL';

/** A statement of an IAM policy. Actions and resources may contain the wildcards `*` and `?`. */
export type Statement = { effect: 'Allow' | 'Deny'; actions: string[]; resources: string[] };

/** What API Gateway invokes: a function, or one of its versions or aliases. `version` is a number or $LATEST. */
export type Target = { functionName: string; arn: string; version: string };

/** A Lambda authorizer with simple responses. Identity sources are written as in the template: $request.header.NAME. */
export type AuthorizerSpec = { target: Target; identitySources: string[] };

/** The rate (requests a second) and the burst (requests) that a stage allows. */
export type Throttle = { rate: number; burst: number };

/** `routeKey` is written as METHOD /path, ANY /path or $default; `timeout` is the integration's, in milliseconds. */
export type RouteSpec = {
  routeKey: string;
  target: Target;
  timeout: number;
  authorizer?: AuthorizerSpec;
  throttle?: Throttle;
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

export type ApiSpec = { routes: RouteSpec[]; cors?: CorsSpec };

/** The part of a table's definition that the store needs to create it. */
export type TableSpec = Required<Pick<CreateTableCommandInput, 'TableName' | 'KeySchema' | 'AttributeDefinitions'>> &
  Pick<CreateTableCommandInput, 'GlobalSecondaryIndexes' | 'LocalSecondaryIndexes'>;

export type ServedStack = { api: ApiSpec; functions: FunctionSpec[]; tables: TableSpec[] };
