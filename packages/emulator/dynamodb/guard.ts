import type { IncomingHttpHeaders } from 'node:http';
import { account } from '../account.ts';
import type { FunctionSpec } from '../served-stack.ts';
import { resourcesOf } from './operations.ts';
import { type Role, readRole } from './role.ts';

/** The body of a response with status 400, with which DynamoDB refuses a request. */
export type Refusal = { __type: string; message: string } | { __type: string; Message: string };

/**
 * Decides by its headers whether the store may read a request.
 * @returns the refusal, or a function that checks the body: it returns a refusal, or undefined if the request is allowed
 */
export type Guard = (headers: IncomingHttpHeaders) => Refusal | BodyGuard;

type BodyGuard = (body: string) => Refusal | undefined;

/** A function that calls the store. `principal` is the ARN by which error messages name the function. */
export type Caller = { principal: string; role: Role };

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
    const resources = resourcesOf.get(operation);
    if (resources === undefined) return unknownOperation(operation);

    // The Authorization header contains the caller's access key id (SigV4):
    // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-authentication-methods.html
    const [, key = ''] = /Credential=([^/]+)/.exec(headers.authorization ?? '') ?? [];
    if (key === ownKey) return () => undefined;
    const caller = callers.get(key);
    if (caller === undefined) return unrecognizedClient;
    return (body) => firstRefusal(caller, `dynamodb:${operation}`, resources(parse(body)));
  };

export const callerOf = ({ name, role, roleName }: FunctionSpec): Caller => ({
  principal: `arn:aws:sts::${account.id}:assumed-role/${roleName}/${name}`,
  role: readRole(role),
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
const firstRefusal = ({ principal, role }: Caller, action: string, resources: string[]): Refusal | undefined => {
  for (const resource of resources) {
    const decision = role(action, resource);
    if (decision === 'allowed') continue;
    const why =
      decision === 'explicitly denied'
        ? 'with an explicit deny in an identity-based policy'
        : `because no identity-based policy allows the ${action} action`;
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
    'pass `store: { endpoint }` (npm start: AWS_ENDPOINT_URL_DYNAMODB).',
});
