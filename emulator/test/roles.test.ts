import { globSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { account } from '../account.ts';
import { callerOf, makeGuard } from '../dynamodb/guard.ts';
import { resourcesOf } from '../dynamodb/operations.ts';
import { readRole } from '../dynamodb/role.ts';
import type { FunctionSpec, Statement } from '../served-stack.ts';
import { functionSpec } from './kit/function-spec.ts';

const arn = (resource: string, region = account.region): string =>
  `arn:aws:dynamodb:${region}:000000000000:${resource}`;
const orders = arn('table/Orders');

const allow = (actions: string | string[], ...resources: string[]): Statement => ({
  effect: 'Allow',
  actions: [actions].flat(),
  resources,
});
const deny = (action: string, ...resources: string[]): Statement => ({
  ...allow(action, ...resources),
  effect: 'Deny',
});

describe('a role', () => {
  test.each<[statements: Statement[], action: string, resource: string, decision: string]>([
    [[], 'dynamodb:PutItem', orders, 'implicitly denied'],
    [[allow('dynamodb:PutItem', orders)], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('DYNAMODB:putitem', orders)], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', orders)], 'dynamodb:GetItem', orders, 'implicitly denied'],
    [[allow(['dynamodb:GetItem', 'dynamodb:PutItem'], orders)], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', orders)], 'dynamodb:PutItem', arn('table/orders'), 'implicitly denied'],
    [[allow('dynamodb:PutItem', orders)], 'dynamodb:PutItem', arn('table/Orders2'), 'implicitly denied'],
    [[allow('dynamodb:PutItem', arn('table/Items'), orders)], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', orders)], 'dynamodb:PutItem', arn('table/Orders', 'elsewhere-1'), 'implicitly denied'],

    [[allow('*', '*')], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('dynamodb:*', orders)], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('dynamodb:Put*', orders)], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('dynamodb:*Item', orders)], 'dynamodb:BatchGetItem', orders, 'allowed'],
    [[allow('dynamodb:*Item', orders)], 'dynamodb:Query', orders, 'implicitly denied'],
    [[allow('dynamodb:?etItem', orders)], 'dynamodb:GetItem', orders, 'allowed'],
    [[allow('dynamodb:?etItem', orders)], 'dynamodb:etItem', orders, 'implicitly denied'],
    [[allow('sqs:*', '*')], 'dynamodb:PutItem', orders, 'implicitly denied'],
    [[allow('dynamodb:PutItem', arn('table/*'))], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', arn('table/Ord??s'))], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', arn('table/O*s'))], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', 'arn:aws:dynamodb:*:*:table/Orders')], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', 'arn:aws:dynamodb:*')], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', 'arn:aws:*:table/Orders')], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('dynamodb:PutItem', 'arn:aws:dyna*table/Orders')], 'dynamodb:PutItem', orders, 'implicitly denied'],
    // A dot in a pattern matches only a dot.
    [[allow('dynamodb:PutItem', arn('table/Or.ers'))], 'dynamodb:PutItem', orders, 'implicitly denied'],
    [[allow('dynamodb:PutItem', arn('table/a.*'))], 'dynamodb:PutItem', arn('table/a.b'), 'allowed'],

    [[allow('dynamodb:Query', orders)], 'dynamodb:Query', `${orders}/index/byDay`, 'implicitly denied'],
    [[allow('dynamodb:Query', `${orders}/index/*`)], 'dynamodb:Query', `${orders}/index/byDay`, 'allowed'],
    [[allow('dynamodb:Query', `${orders}/index/*`)], 'dynamodb:Query', orders, 'implicitly denied'],
    [[allow('dynamodb:Query', `${orders}*`)], 'dynamodb:Query', `${orders}/index/byDay`, 'allowed'],
    [[allow('dynamodb:ListTables', '*')], 'dynamodb:ListTables', '*', 'allowed'],
    [[allow('dynamodb:ListTables', orders)], 'dynamodb:ListTables', '*', 'implicitly denied'],

    [[allow('*', '*'), deny('dynamodb:PutItem', orders)], 'dynamodb:PutItem', orders, 'explicitly denied'],
    [[deny('dynamodb:PutItem', orders), allow('*', '*')], 'dynamodb:PutItem', orders, 'explicitly denied'],
    [[allow('*', '*'), deny('dynamodb:PutItem', arn('table/Items'))], 'dynamodb:PutItem', orders, 'allowed'],
    [[allow('*', '*'), deny('dynamodb:Delete*', '*')], 'dynamodb:PutItem', orders, 'allowed'],
    [[deny('dynamodb:Delete*', '*')], 'dynamodb:PutItem', orders, 'implicitly denied'],
  ])('with the statements %j: the action %s on %s is %s', (statements, action, resource, decision) => {
    expect(readRole(statements)(action, resource)).toBe(decision);
  });
});

const spec = { ...functionSpec, name: 'AddOrder', roleName: 'AddOrderRole' };

const headersOf = (operation: string, key = spec.name) => ({
  'x-amz-target': `DynamoDB_20120810.${operation}`,
  authorization: `AWS4-HMAC-SHA256 Credential=${key}/20261122/us-east-1/dynamodb/aws4_request, Signature=abc`,
});

/** Makes a guard that applies the functions' roles to calls to the store. A function's access key id is its name. */
const guardOf = (...specs: FunctionSpec[]) => {
  const guard = makeGuard(new Map(specs.map((each) => [each.name, callerOf(each)])), 'own');
  return (headers: IncomingHttpHeaders, body: string) => {
    const checked = guard(headers);
    return typeof checked === 'function' ? checked(body) : checked;
  };
};

/**
 * The error with which the store refuses an operation of a function with this role; undefined if the operation is
 * allowed.
 */
const refusal = (role: Statement[], operation: string, body: unknown) =>
  guardOf({ ...spec, role })(headersOf(operation), typeof body === 'string' ? body : JSON.stringify(body));

const user = 'User: arn:aws:sts::000000000000:assumed-role/AddOrderRole/AddOrder';
const nothingAllows = (operation: string, resource: string) => ({
  __type: 'com.amazon.coral.service#AccessDeniedException',
  Message:
    `${user} is not authorized to perform: dynamodb:${operation} on resource: ${resource} ` +
    `because no identity-based policy allows the dynamodb:${operation} action`,
});

describe('a request to the emulated DynamoDB', () => {
  const both = { RequestItems: { Orders: {}, Items: {} } };

  test.each<[operation: string, body: object, resources: string[]]>([
    ['PutItem', { TableName: 'Orders' }, [orders]],
    ['GetItem', { TableName: 'Orders' }, [orders]],
    ['UpdateItem', { TableName: 'Orders' }, [orders]],
    ['DeleteItem', { TableName: 'Orders' }, [orders]],
    ['Query', { TableName: 'Orders' }, [orders]],
    ['Query', { TableName: 'Orders', IndexName: 'byDay' }, [`${orders}/index/byDay`]],
    ['Scan', { TableName: 'Orders' }, [orders]],
    ['Scan', { TableName: 'Orders', IndexName: 'byDay' }, [`${orders}/index/byDay`]],
    // GetItem ignores IndexName: only Query and Scan read an index.
    ['GetItem', { TableName: 'Orders', IndexName: 'byDay' }, [orders]],
    ['BatchGetItem', both, [orders, arn('table/Items')]],
    ['BatchWriteItem', both, [orders, arn('table/Items')]],
    ['CreateTable', { TableName: 'Orders' }, [orders]],
    ['UpdateTable', { TableName: 'Orders' }, [orders]],
    ['DeleteTable', { TableName: 'Orders' }, [orders]],
    ['DescribeTable', { TableName: 'Orders' }, [orders]],
    ['DescribeTimeToLive', { TableName: 'Orders' }, [orders]],
    ['ListTables', {}, ['*']],
    ['TagResource', { ResourceArn: orders }, [orders]],
    ['UntagResource', { ResourceArn: orders }, [orders]],
    ['ListTagsOfResource', { ResourceArn: orders }, [orders]],
    ['PutItem', { TableName: orders }, [orders]],
  ])(
    'for the operation %s with the body %j needs permission for each of the resources %j',
    (operation, body, resources) => {
      expect(refusal([allow(`dynamodb:${operation}`, ...resources)], operation, body)).toBeUndefined();
      for (const missing of resources) {
        const others = resources.filter((each) => each !== missing);
        const role = [allow(`dynamodb:${operation}`, ...others), allow('dynamodb:Other', '*')];
        expect(refusal(role, operation, body)).toEqual(nothingAllows(operation, missing));
      }
    },
  );

  test('that a policy denies is refused in the words that AWS uses', () => {
    expect(refusal([allow('*', '*'), deny('dynamodb:PutItem', orders)], 'PutItem', { TableName: 'Orders' })).toEqual({
      __type: 'com.amazon.coral.service#AccessDeniedException',
      Message:
        'User: arn:aws:sts::000000000000:assumed-role/AddOrderRole/AddOrder is not authorized to perform: ' +
        `dynamodb:PutItem on resource: arn:aws:dynamodb:${account.region}:000000000000:table/Orders ` +
        'with an explicit deny in an identity-based policy',
    });
  });

  test('is judged by the role of the function that sends it, not by the role of another function', () => {
    const guard = guardOf(
      { ...spec, name: 'Reader', role: [allow('dynamodb:GetItem', orders)] },
      { ...spec, name: 'Writer', role: [allow('dynamodb:PutItem', orders)] },
    );
    const body = '{"TableName":"Orders"}';
    expect(guard(headersOf('PutItem', 'Writer'), body)).toBeUndefined();
    expect(guard(headersOf('PutItem', 'Reader'), body)).toHaveProperty('Message');
    expect(guard(headersOf('PutItem', 'own'), body)).toBeUndefined();
  });

  test.each(['', 'nonsense', 'null', '[]', '{}', '{"TableName":1}', '{"TableName":null}', '{"RequestItems":null}'])(
    'is passed on to dynalite, which refuses it, if its body is %j',
    (body) => {
      for (const operation of ['PutItem', 'Query', 'BatchGetItem', 'TagResource']) {
        expect(refusal([], operation, body)).toBeUndefined();
      }
    },
  );

  test.each<[what: string, headers: Record<string, string>]>([
    ['unknown credentials', headersOf('PutItem', 'somebody')],
    ['no credentials', { 'x-amz-target': 'DynamoDB_20120810.PutItem' }],
    ['an authorization of another kind', { ...headersOf('PutItem'), authorization: 'Bearer abc' }],
  ])('with %s is refused', (_, headers) => {
    expect(guardOf({ ...spec, role: [allow('*', '*')] })(headers, '{}')).toEqual({
      __type: 'com.amazon.coral.service#UnrecognizedClientException',
      message: 'The security token included in the request is invalid.',
    });
  });

  test.each([
    ['DynamoDB_20120810.TransactWriteItems', 'TransactWriteItems'],
    ['DynamoDB_20120810.ExecuteStatement', 'ExecuteStatement'],
    ['DynamoDB_20120810.constructor', 'constructor'],
    // An operation of DynamoDB's old API of 2011: dynalite would accept it, but the emulator does not.
    ['DynamoDB_20111205.PutItem', 'DynamoDB_20111205.PutItem'],
    [undefined, 'operations without a name'],
  ])('for the unsupported target %s is refused, and the error message says what to use instead', (target, name) => {
    const guard = guardOf({ ...spec, role: [allow('*', '*')] });
    expect(guard({ ...headersOf(''), 'x-amz-target': target }, '{}')).toEqual({
      __type: 'com.amazon.coral.service#UnknownOperationException',
      message: `The embedded store (dynalite) does not support ${name}. Use a DynamoDB that does, such as DynamoDB Local: pass \`store: { endpoint }\` (npm start: AWS_ENDPOINT_URL_DYNAMODB).`,
    });
  });
});

test('the list of DynamoDB operations that need a permission contains exactly the operations that dynalite supports', () => {
  const dynalite = path.dirname(createRequire(import.meta.url).resolve('dynalite/package.json'));
  const actions = globSync('actions/*.js', { cwd: dynalite }).map((file) => path.basename(file, '.js').toLowerCase());
  expect([...resourcesOf.keys()].map((operation) => operation.toLowerCase()).toSorted()).toEqual(actions.toSorted());
});
