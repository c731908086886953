/** Tests which calls to the store a function's role allows. */
import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, test } from 'vitest';
import { callerOf, makeGuard } from '../dynamodb/guard.ts';
import { readPolicy } from '../policy.ts';
import { type Statement, tableArn } from '../served-stack.ts';
import { functionSpec } from './kit/one-function.ts';
import { account } from './kit/templates.ts';

const orders = tableArn(account, 'Orders');
const index = `${orders}/index/byDay`;

const allow = (action: string, ...resources: string[]): Statement => ({
  effect: 'Allow',
  actions: [action],
  resources,
});
const deny = (action: string, resource: string): Statement => ({ ...allow(action, resource), effect: 'Deny' });
const all = allow('*', '*');

describe('a role', () => {
  const [no, denied] = ['implicitly denied', 'explicitly denied'];
  test.each<[statements: Statement[], action: string, resource: string, decision: string]>([
    [[], 'PutItem', orders, no],
    [[allow('dynamodb:PutItem', orders)], 'PutItem', orders, 'allowed'],
    [[allow('DYNAMODB:putitem', orders)], 'PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', orders)], 'PutItem', tableArn(account, 'orders'), no],

    [[allow('dynamodb:*Item', orders)], 'BatchGetItem', orders, 'allowed'],
    [[allow('dynamodb:*Item', orders)], 'Query', orders, no],
    [[allow('dynamodb:?etItem', orders)], 'GetItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', 'arn:aws:*:table/Orders')], 'PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', 'arn:aws:dyna*table/Orders')], 'PutItem', orders, no],
    [[allow('dynamodb:PutItem', 'arn:aws:*:ta*s')], 'PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', '*:d*b:*:t*/*s')], 'PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', '*:d*b:*:t*/*z')], 'PutItem', orders, no],
    [[allow('dynamodb:?*?', '*')], 'Put', orders, 'allowed'],
    // A RegExp would take minutes.
    [[allow('dynamodb:*', `${'*a'.repeat(200)}b`)], 'PutItem', 'a'.repeat(10_000), no],
    [[allow('dynamodb:*', `${'*:a'.repeat(200)}b`)], 'PutItem', 'x:a'.repeat(3_000), no],
    // A dot in a pattern matches only a dot.
    [[allow('dynamodb:PutItem', tableArn(account, 'Or.ers'))], 'PutItem', orders, no],

    [[allow('dynamodb:Query', orders)], 'Query', index, no],
    [[allow('dynamodb:Query', `${orders}/index/*`)], 'Query', index, 'allowed'],
    [[allow('dynamodb:Query', `${orders}/index/*`)], 'Query', orders, no],

    [[all, deny('dynamodb:PutItem', orders)], 'PutItem', orders, denied],
    [[all, deny('dynamodb:PutItem', tableArn(account, 'Items'))], 'PutItem', orders, 'allowed'],
  ])('with the statements %j: the action dynamodb:%s on %s is %s', (statements, action, resource, decision) => {
    expect(readPolicy(statements)(`dynamodb:${action}`, resource)).toBe(decision);
  });
});

const token = 'a session token';

const headersOf = (operation: string, key = functionSpec.name) => ({
  'x-amz-security-token': token,
  'x-amz-target': `DynamoDB_20120810.${operation}`,
  authorization: `AWS4-HMAC-SHA256 Credential=${key}/20261122/us-east-1/dynamodb/aws4_request, Signature=abc`,
});

/** What the guard says to a request of a function with this role. The function's access key id is its name. */
const check = (role: Statement[], headers: IncomingHttpHeaders, body: string, boundary?: Statement[]) => {
  const caller = callerOf({ ...functionSpec, role, ...(boundary && { boundary }) }, token);
  const guard = makeGuard(new Map([[functionSpec.name, caller]]), 'own');
  const checked = guard(headers);
  return typeof checked === 'function' ? checked(body) : checked;
};

const refused = (operation: string, resource: string, why: string) => ({
  __type: 'com.amazon.coral.service#AccessDeniedException',
  Message:
    `User: arn:aws:sts::${account.id}:assumed-role/FnRole/Fn is not authorized to perform: ` +
    `dynamodb:${operation} on resource: ${resource} ${why}`,
});

describe('a request to the emulated DynamoDB', () => {
  const Orders = { TableName: 'Orders' };
  const both = { RequestItems: { Orders: {}, Items: {} } };

  test.each<[operation: string, body: object, resources: string[]]>([
    ['PutItem', Orders, [orders]],
    ['PutItem', { TableName: orders }, [orders]],
    ['Query', { ...Orders, IndexName: 'byDay' }, [index]],
    // GetItem ignores IndexName: only Query and Scan read an index.
    ['GetItem', { ...Orders, IndexName: 'byDay' }, [orders]],
    ['BatchGetItem', both, [orders, tableArn(account, 'Items')]],
    ['ListTables', {}, ['*']],
    ['TagResource', { ResourceArn: orders }, [orders]],
  ])('for the operation %s with the body %j needs permission for each of %j', (operation, body, resources) => {
    const headers = headersOf(operation);
    expect(check([allow(`dynamodb:${operation}`, ...resources)], headers, JSON.stringify(body))).toBeUndefined();
    for (const missing of resources) {
      const role = [allow(`dynamodb:${operation}`, ...resources.filter((each) => each !== missing))];
      const why = `because no identity-based policy allows the dynamodb:${operation} action`;
      expect(check(role, headers, JSON.stringify(body))).toEqual(refused(operation, missing, why));
    }
  });

  // https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
  test.each<[role: Statement[], boundary: Statement[] | undefined, why: string | undefined]>([
    [[all, deny('dynamodb:PutItem', orders)], undefined, 'with an explicit deny in an identity-based policy'],
    [[all], [all], undefined],
    [[all], [], 'because no permissions boundary allows the dynamodb:PutItem action'],
    [[], [all], 'because no identity-based policy allows the dynamodb:PutItem action'],
    [[], [all, deny('dynamodb:*', orders)], 'with an explicit deny in a permissions boundary'],
  ])('with the policies %j and the boundary %j is refused in the words of AWS: %s', (role, boundary, why) => {
    const expected = why && refused('PutItem', orders, why);
    expect(check(role, headersOf('PutItem'), JSON.stringify(Orders), boundary)).toEqual(expected);
  });

  test.each(['', 'nonsense', 'null', '{}', '{"TableName":1}', '{"RequestItems":null}'])(
    'is passed on to dynalite, which refuses it, if its body is %j',
    (body) => {
      for (const operation of ['PutItem', 'Query', 'BatchGetItem', 'TagResource']) {
        expect(check([], headersOf(operation), body)).toBeUndefined();
      }
    },
  );

  test.each([
    headersOf('PutItem', 'somebody'),
    { 'x-amz-target': 'DynamoDB_20120810.PutItem' },
    { ...headersOf('PutItem'), 'x-amz-security-token': undefined },
    { ...headersOf('PutItem'), 'x-amz-security-token': 'of another function' },
  ])('with the headers %j, whose credentials are unknown or incomplete, is refused', (headers) => {
    const __type = 'com.amazon.coral.service#UnrecognizedClientException';
    expect(check([all], headers, '{}')).toMatchObject({ __type });
  });

  test.each([
    ['DynamoDB_20120810.TransactWriteItems', 'TransactWriteItems'],
    // An operation of DynamoDB's old API of 2011: dynalite would accept it, but the emulator does not.
    ['DynamoDB_20111205.PutItem', 'DynamoDB_20111205.PutItem'],
    [undefined, 'operations without a name'],
  ])('for the unsupported target %s is refused, and the error message says what to use instead', (target, name) => {
    expect(check([all], { ...headersOf(''), 'x-amz-target': target }, '{}')).toEqual({
      __type: 'com.amazon.coral.service#UnknownOperationException',
      message: `The embedded store (dynalite) does not support ${name}. Use a DynamoDB that does, such as DynamoDB Local: pass \`store: { endpoint }\` (the commands: AWS_ENDPOINT_URL_DYNAMODB).`,
    });
  });
});
