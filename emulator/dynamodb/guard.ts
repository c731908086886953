import type { IncomingHttpHeaders } from 'node:http';
import { account } from '../account.ts';
import type { FunctionSpec } from '../served-stack.ts';
import { resourcesOf } from './operations.ts';
import { type Role, readRole } from './role.ts';

/** The body of DynamoDB's response to a request that it refuses, with status 400. */
export type Refusal = { __type: string; message: string } | { __type: string; Message: string };

/** Decides about a request to the store. @returns undefined if it is allowed */
export type Guard = (headers: IncomingHttpHeaders, body: string) => Refusal | undefined;

/** Who calls: `principal` is the ARN that AWS's errors name. */
type Caller = { principal: string; role: Role };

/**
 * Allows each function what its role allows, and everything to the owner of `ownKey`. The access key id of a function's
 * credentials is the function's name. Signatures are not checked.
 */
export const makeGuard = (functions: FunctionSpec[], ownKey: string): Guard => {
  const callers = new Map(functions.map((spec) => [spec.name, callerOf(spec)]));
  return (headers, body) => {
    const operation =
      headers['x-amz-target']?.toString().replace('DynamoDB_20120810.', '') ?? 'operations without a name';
    const resources = resourcesOf.get(operation);
    if (resources === undefined) return unknownOperation(operation);

    // https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-authentication-methods.html
    const [, key = ''] = /Credential=([^/]+)/.exec(headers.authorization ?? '') ?? [];
    if (key === ownKey) return undefined;
    const caller = callers.get(key);
    if (caller === undefined) return unrecognizedClient;
    return firstRefusal(caller, `dynamodb:${operation}`, resources(parse(body)));
  };
};

const callerOf = ({ name, role, roleName }: FunctionSpec): Caller => ({
  principal: `arn:aws:sts::${account.id}:assumed-role/${roleName}/${name}`,
  role: readRole(role),
});

/** A body that is not a JSON object is left to the store, which refuses it. */
const parse = (body: string): object => {
  try {
    return Object(JSON.parse(body));
  } catch {
    return {};
  }
};

/** AWS's words: https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html */
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

/** dynalite's own response has no message. */
const unknownOperation = (operation: string): Refusal => ({
  __type: 'com.amazon.coral.service#UnknownOperationException',
  message:
    `The embedded store (dynalite) does not have ${operation}. Use a DynamoDB that has it, such as DynamoDB Local: ` +
    'pass `store: { endpoint }` (npm start: AWS_ENDPOINT_URL_DYNAMODB).',
});
