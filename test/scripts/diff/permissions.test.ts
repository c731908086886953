import { expect, test } from 'vitest';
import { findPermissions } from '../../../scripts/diff/permissions.ts';
import { type Template, withoutHashes } from '../../../scripts/diff/template.ts';

type Resources = Template['Resources'];

const arnOf = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
const allow = (Action: unknown, Resource: unknown = '*') => ({ Effect: 'Allow', Action, Resource });
const deny = (Action: string) => ({ Effect: 'Deny', Action, Resource: '*' });
const get = allow('dynamodb:GetItem', arnOf('Table'));
const put = allow('dynamodb:PutItem', arnOf('Table'));
const read = allow('s3:GetObject');
const allBut = (NotAction: string) => ({ Effect: 'Allow', NotAction, Resource: '*' });
const onlyOwn = { Condition: { StringEquals: { 'aws:SourceAccount': '1' } } };
const onlyIf = (Action: string) => ({ 'Fn::If': ['IsProd', allow(Action), { Ref: 'AWS::NoValue' }] });

const one = (Type: string, Properties: Record<string, unknown>): Resources => ({ One: { Type, Properties } });

/** A policy of a role that is not in the template. */
const policy = (...Statement: object[]) =>
  one('AWS::IAM::Policy', { PolicyDocument: { Statement }, Roles: [{ Ref: 'Role' }] });

const invoke = { Action: 'lambda:InvokeFunction', FunctionName: { Ref: 'Live' } };
const permission = (properties: object) => one('AWS::Lambda::Permission', { ...invoke, ...properties });

const statementsOf = (Statement: unknown) => ({ PolicyDocument: { Statement } });
const trust = (Principal: unknown, more: object = {}) => ({
  AssumeRolePolicyDocument: { Statement: { Effect: 'Allow', Action: 'sts:AssumeRole', Principal, ...more } },
});
const services = (...names: string[]) => trust({ Service: names.map((name) => `${name}.amazonaws.com`) });
const boundary = { PermissionsBoundary: 'arn:boundary' };

/** A role, with inline permissions, that only Lambda may assume unless `properties` say otherwise. */
const role = (id: string, statements: object[], properties: object = {}): Resources => ({
  [id]: {
    Type: 'AWS::IAM::Role',
    Properties: { ...services('lambda'), Policies: [statementsOf(statements)], ...properties },
  },
});

const usedBy = (id: string, ...functions: string[]): Resources =>
  Object.fromEntries(
    functions.map((each) => [each, { Type: 'AWS::Lambda::Function', Properties: { Role: arnOf(id) } }]),
  );

/** The function `First` with its role. */
const first = (id: string, statements: object[], properties?: object) => ({
  ...role(id, statements, properties),
  ...usedBy(id, 'First'),
});

/** The same, but the permissions are a policy outside the role. */
const apart = (...statements: object[]): Resources => ({
  ...first('FirstRole4AF3C001', []),
  FirstRoleDefaultPolicy7C38E80E: {
    Type: 'AWS::IAM::Policy',
    Properties: { ...statementsOf(statements), Roles: [{ Ref: 'FirstRole4AF3C001' }] },
  },
});

const inGroup = (...Users: object[]): Resources => ({
  Group: { Type: 'AWS::IAM::Group', Properties: { Policies: [statementsOf(read)] } },
  Addition: { Type: 'AWS::IAM::UserToGroupAddition', Properties: { GroupName: { Ref: 'Group' }, Users } },
});

const logs = (PolicyDocument: unknown) => one('AWS::Logs::ResourcePolicy', { PolicyName: 'logs', PolicyDocument });
const onLogs = (resource: string) => JSON.stringify({ Statement: { ...allow('logs:*', resource), Principal: '*' } });
const [before = '', after = ''] = onLogs('(arn)').split('(arn)');
const joined = { 'Fn::Join': ['', [before, arnOf('Own'), after]] };

const [older, newer] = ['FirstRole4AF3C0010a1b2c3d', 'FirstRole4AF3C00112345678'];
const shared = { ...role('Shared', [get, put]), ...usedBy('Shared', 'First', 'Second') };
const [a, b] = [role('A', [get]), role('B', [put])];
const integration = (id: string) => one('AWS::ApiGatewayV2::Integration', { CredentialsArn: arnOf(id) });

const whats = (before: Resources, after: Resources): string[] =>
  findPermissions({ Resources: before }, { Resources: after }).map(({ what }) => what);

test.each<[what: string, before: Resources, after: Resources, says: string]>([
  ['an action', policy(get), policy(get, put), 'Role may now dynamodb:PutItem on Table.Arn.'],
  ['a wider resource', policy(read), policy(read, allow(get.Action)), 'Role may now dynamodb:GetItem on *.'],
  ['a wider action', policy(read), policy(allow('s3:*')), 'Role may now s3:* on *.'],
  ['a call without a condition', policy({ ...read, ...onlyOwn }), policy(read), 'Role may now s3:GetObject on *.'],
  ['all but an action', {}, policy(allBut('iam:PassRole')), 'Role may now all but "iam:PassRole" on *.'],
  [
    'a smaller exception',
    policy(allBut('iam:*')),
    policy(allBut('iam:Pass*')),
    'Role may now all but "iam:Pass*" on *.',
  ],
  ['what was denied', policy(get, deny('s3:*')), policy(get), 'Role would no longer be denied s3:* on *.'],
  ['the right to call', {}, permission({ Principal: '*' }), '* may now lambda:InvokeFunction on Live.'],
  [
    'the right of another API to call',
    permission({ Principal: 'api', SourceArn: 'arn:one' }),
    permission({ Principal: 'api', SourceArn: 'arn:other' }),
    'api may now lambda:InvokeFunction on Live if SourceArn is arn:other.',
  ],
  [
    'a managed policy',
    first(newer, [get]),
    first(newer, [get], { ManagedPolicyArns: ['arn:Admin'] }),
    'First may now do what arn:Admin allows on any resource.',
  ],
  [
    'a queue',
    {},
    one('AWS::SQS::QueuePolicy', statementsOf({ ...read, Principal: '*' })),
    '* may now s3:GetObject on *.',
  ],
  [
    "another function's role",
    { ...a, ...b, ...usedBy('A', 'First', 'Second') },
    { ...a, ...b, ...usedBy('A', 'Second'), ...usedBy('B', 'First') },
    'First may now dynamodb:PutItem on Table.Arn.',
  ],
  [
    "another stack's role",
    first(newer, [get]),
    { First: { Type: 'AWS::Lambda::Function', Properties: { Role: 'arn:role/admin' } } },
    'First may now do what arn:role/admin may on any resource.',
  ],
  ["a group's", inGroup(), inGroup({ Ref: 'User' }), 'User may now s3:GetObject on *.'],
  ['what a JSON text says', logs(onLogs('arn:own')), logs(onLogs('*')), '* may now logs:* on *.'],
  ['what joined texts say', logs(onLogs('arn:own')), logs(joined), `* may now logs:* on \${Own.Arn}.`],
  ['an unreadable policy', logs({ Ref: 'A' }), logs({ Ref: 'B' }), 'One may now do what B allows on any resource.'],
  [
    'an unreadable statement',
    policy(onlyIf('s3:*')),
    policy(onlyIf('s3:Get*')),
    `Role may now do what ${JSON.stringify(onlyIf('s3:Get*'))} allows on any resource.`,
  ],
])('findPermissions reports %s as a new permission', (_, before, after, says) => {
  expect(whats(before, after)).toEqual([says]);
});

test.each<[what: string, before: Resources, after: Resources]>([
  ['nothing changes', policy(get), policy(get)],
  ['statements are split', policy(allow(['s3:Get*', 's3:Put*'], ['*'])), policy(allow('s3:Put*'), allow(['s3:Get*']))],
  ['an action is removed', policy(get, put), policy(get)],
  ['a condition is new', policy(get), policy({ ...get, ...onlyOwn })],
  ['a * becomes narrower', policy(allow('s3:Get*', 'arn:bucket/*')), policy(allow('s3:GetObject', 'arn:bucket/a'))],
  ['a statement denies more', policy(get), policy(get, deny('*'))],
  ['principals are in another order', role('A', [], services('b', 'a')), role('A', [], services('a', 'b'))],
  ['only one API may still invoke', permission({}), permission({ SourceArn: 'arn:api' })],
  ['a function goes', first(newer, [get]), role(newer, [get])],
  ['a role gets a boundary', first(newer, [get]), first(newer, [get], boundary)],
  ['a policy that cannot be read stays', logs({ Ref: 'A' }), logs({ Ref: 'A' })],
  ['a policy text becomes an object', logs(onLogs('*')), logs(JSON.parse(onLogs('*')))],
])('findPermissions reports no new permission if %s', (_, before, after) => {
  expect(whats(before, after)).toEqual([]);
});

const mayPut = 'First may now dynamodb:PutItem on Table.Arn.';
const hasRole = (name: string) => `Service lambda.amazonaws.com may now sts:AssumeRole on ${name}.`;
const newRoleMayGet = 'NewRole may now dynamodb:GetItem on Table.Arn.';

test.each<[what: string, before: Resources, after: Resources, says: string[]]>([
  ['a separate policy becomes inline', apart(get, put), first(newer, [put, get]), []],
  ['a separate policy becomes a wider inline one', apart(get), first(newer, [get, put]), [mayPut]],
  ['a grant is narrowed', first(older, [get, put]), first(newer, [get]), []],
  ['a grant is widened', first(older, [get]), first(newer, [get, put]), [mayPut]],
  ['a grant gets a condition', first(older, [get]), first(newer, [{ ...get, ...onlyOwn }]), []],
  ['two functions no longer share a role', shared, { ...first(newer, [get]), ...b, ...usedBy('B', 'Second') }, []],
  [
    'two functions swap their roles',
    { ...a, ...usedBy('A', 'First'), ...b, ...usedBy('B', 'Second') },
    { ...a, ...usedBy('A', 'Second'), ...b, ...usedBy('B', 'First') },
    ['Second may now dynamodb:GetItem on Table.Arn.', mayPut],
  ],
  [
    'a role of two functions is widened',
    shared,
    { ...shared, ...role('Shared', [get, put, read]) },
    ['First and Second may now s3:GetObject on *.'],
  ],
  ['a function is new', {}, first(newer, [put]), [hasRole('the role of First'), mayPut]],
  [
    'the new role lacks the boundary of the older one',
    first(older, [get], boundary),
    first(newer, [get]),
    ['First would no longer be denied what arn:boundary does not allow on any resource.'],
  ],
  [
    'Lambda may assume the new role without a condition',
    first(older, [get], trust({ Service: 'lambda.amazonaws.com' }, onlyOwn)),
    first(newer, [get]),
    [hasRole('the role of First')],
  ],
  [
    'only Lambda may still assume a role',
    first('OldRole', [get], services('ec2', 'lambda')),
    first('OldRole', [get]),
    [],
  ],
  [
    'a user may assume the new role',
    first('OldRole', [get]),
    first('NewRole', [get], trust({ AWS: 'arn:user' })),
    ['AWS arn:user may now sts:AssumeRole on NewRole.', newRoleMayGet],
  ],
  [
    'it cannot be read who may assume the new role',
    first('OldRole', [get]),
    first('NewRole', [get], { AssumeRolePolicyDocument: { Ref: 'Trust' } }),
    ['NewRole and First may now do what Trust allows on any resource.', newRoleMayGet],
  ],
  ['no function has the new role', {}, role('NewRole', [get]), [hasRole('NewRole'), newRoleMayGet]],
  [
    'another resource has the new role',
    { ...role('OldRole', [get], services('apigateway')), ...integration('OldRole') },
    { ...role('NewRole', [get]), ...integration('NewRole') },
    [hasRole('NewRole'), newRoleMayGet, hasRole('the role of One')],
  ],
  [
    'a function leaves a role that is no longer denied anything',
    first('OldRole', [get], boundary),
    { ...role('OldRole', [get]), ...first('NewRole', [get], boundary) },
    ['OldRole would no longer be denied what arn:boundary does not allow on any resource.'],
  ],
])('findPermissions compares functions, whatever the ids of their roles: if %s', (_, before, after, says) => {
  expect(whats(before, after)).toEqual(says);
  const short = (Resources: Resources) => withoutHashes({ Resources }).Resources;
  expect(whats(short(before), short(after))).toEqual(says);
});
