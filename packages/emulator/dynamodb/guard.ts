import type { IncomingHttpHeaders } from 'node:http';
import { type Policy, readPolicy } from '../policy.ts';
import { type Account, type FunctionSpec, tableArn } from '../served-stack.ts';

/** The body of a response with status 400, with which DynamoDB refuses a request. */
export type Refusal = { __type: string; message: string } | { __type: string; Message: string };

/**
 * Decides by its headers whether the store may read a request.
 * @returns the refusal, or a function that checks the body: it returns a refusal, or undefined if the request is allowed
 */
export type Guard = (headers: IncomingHttpHeaders) => Refusal | BodyGuard;

type BodyGuard = (body: string) => Refusal | undefined;

/**
 * A function that calls the store. `principal` is the ARN by which error messages name the function. Temporary
 * credentials are valid only with their session token:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_Credentials.html
 */
export type Caller = { account: Account; principal: string; policies: Record<string, Policy>; sessionToken: string };

/**
 * Makes a guard that lets each caller do only what its role allows. The emulator itself, whose access key id is
 * `ownKey`, may do everything. The guard does not check signatures.
 * @param callers the callers by access key id; callers may be added to the map later
 */
export const makeGuard =
  (callers: ReadonlyMap<string, Caller>, ownKey: string): Guard =>
  (headers) => {
    const operation =
      headers['x-amz-target']?.toString().replace('DynamoDB_20120810.', '') ?? 'operations without a name';
    if (!operations.has(operation)) return unknownOperation(operation);

    // The Authorization header contains the caller's access key id (SigV4):
    // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-authentication-methods.html
    const [, key = ''] = /Credential=([^/]+)/.exec(headers.authorization ?? '') ?? [];
    if (key === ownKey) return () => undefined;
    const caller = callers.get(key);
    if (caller === undefined || headers['x-amz-security-token'] !== caller.sessionToken) return unrecognizedClient;
    return (body) => firstRefusal(caller, `dynamodb:${operation}`, resourcesOf(operation, parse(body), caller.account));
  };

export const callerOf = ({ name, account, role, boundary, roleName }: FunctionSpec, sessionToken: string): Caller => ({
  account,
  sessionToken,
  principal: `arn:aws:sts::${account.id}:assumed-role/${roleName}/${name}`,
  policies: {
    'identity-based policy': readPolicy(role),
    ...(boundary && { 'permissions boundary': readPolicy(boundary) }),
  },
});

/** Parses a request body. A body that is not a JSON object counts as an empty object, which the store refuses later. */
const parse = (body: string): object => {
  try {
    return Object(JSON.parse(body));
  } catch {
    return {};
  }
};

/**
 * Returns a refusal for the first resource that the role does not allow, in the words that AWS uses:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
 */
const firstRefusal = ({ principal, policies }: Caller, action: string, resources: string[]): Refusal | undefined => {
  for (const resource of resources) {
    const decisions = Object.entries(policies).map(([kind, decide]) => ({ kind, decision: decide(action, resource) }));
    const denied = decisions.find(({ decision }) => decision === 'explicitly denied');
    const { kind } = denied ?? decisions.find(({ decision }) => decision !== 'allowed') ?? {};
    if (kind === undefined) continue;
    const why = denied
      ? `with an explicit deny in ${kind.startsWith('i') ? 'an' : 'a'} ${kind}`
      : `because no ${kind} allows the ${action} action`;
    return {
      __type: 'com.amazon.coral.service#AccessDeniedException',
      Message: `User: ${principal} is not authorized to perform: ${action} on resource: ${resource} ${why}`,
    };
  }
  return undefined;
};

const unrecognizedClient: Refusal = {
  __type: 'com.amazon.coral.service#UnrecognizedClientException',
  message: 'The security token included in the request is invalid.',
};

/** Refuses an operation that dynalite does not support. (dynalite's own refusal would have no message.) */
const unknownOperation = (operation: string): Refusal => ({
  __type: 'com.amazon.coral.service#UnknownOperationException',
  message:
    `The embedded store (dynalite) does not support ${operation}. Use a DynamoDB that does, such as DynamoDB Local: ` +
    'pass `store: { endpoint }` (the commands: AWS_ENDPOINT_URL_DYNAMODB).',
});

/** The fields of a request to DynamoDB that name tables and indexes. The embedded store checks their types later. */
type Body = { TableName?: unknown; IndexName?: unknown; RequestItems?: unknown; ResourceArn?: unknown };

/**
 * The resources that IAM checks for an operation, which needs permission for all of them.
 * https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html
 */
const resourcesOf = (operation: string, body: Body, account: Account): string[] => {
  if (operation === 'ListTables') return ['*'];
  const { TableName, IndexName, RequestItems, ResourceArn } = body;
  const names = [TableName ?? [], ResourceArn ?? [], Object.keys(RequestItems ?? {})].flat();
  // The name of a table may be its ARN.
  const arns = names
    .filter((name) => typeof name === 'string')
    .map((name) => (name.startsWith('arn:') ? name : tableArn(account, name)));
  const isOfIndex = ['Query', 'Scan'].includes(operation) && IndexName !== undefined;
  return isOfIndex ? arns.map((arn) => `${arn}/index/${IndexName}`) : arns;
};

/** The operations that dynalite supports. */
const operations: ReadonlySet<string> = new Set([
  ...['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'BatchGetItem', 'BatchWriteItem', 'Query', 'Scan'],
  ...['CreateTable', 'DescribeTable', 'DescribeTimeToLive', 'UpdateTable', 'DeleteTable', 'ListTables'],
  ...['TagResource', 'UntagResource', 'ListTagsOfResource'],
]);
