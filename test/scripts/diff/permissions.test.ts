import { describe, expect, test } from 'vitest';
import { findPermissions } from '../../../scripts/diff/permissions.ts';
import { type Template, withoutHashes } from '../../../scripts/diff/template.ts';

const table = { 'Fn::GetAtt': ['Table', 'Arn'] };
const allow = (Action: unknown, Resource: unknown, more: object = {}) => ({
  Effect: 'Allow',
  Action,
  Resource,
  ...more,
});

const invoke = {
  Action: 'lambda:InvokeFunction',
  FunctionName: { Ref: 'Live' },
  Principal: 'apigateway.amazonaws.com',
};

/**
 * Returns a template with a role that may read and put items, and with a permission for an API to invoke a function.
 */
const template = ({
  statements = [allow(['dynamodb:GetItem', 'dynamodb:PutItem'], table)] as object[],
  role = {} as object,
  permission = { ...invoke, SourceArn: 'arn:api' } as object,
  more = {} as Template['Resources'],
} = {}): Template => {
  const trust = { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } };
  return {
    Resources: {
      Role: { Type: 'AWS::IAM::Role', Properties: { AssumeRolePolicyDocument: { Statement: [trust] }, ...role } },
      Policy: {
        Type: 'AWS::IAM::Policy',
        Properties: { PolicyDocument: { Statement: statements }, Roles: [{ Ref: 'Role' }] },
      },
      Invoke: { Type: 'AWS::Lambda::Permission', Properties: { ...permission } },
      ...more,
    },
  };
};

type Parts = Parameters<typeof template>[0];

const added = (after: Parts, before: Parts = {}): string[] =>
  findPermissions(template(before), template(after)).map(({ what }) => what);

const trustOf = (...services: string[]) => ({
  AssumeRolePolicyDocument: {
    Statement: { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: services } },
  },
});

/** Returns the given functions, each with its role. Also returns one more role, which may read from S3. */
const reader = (...functions: [id: string, role: unknown][]): Template['Resources'] => ({
  Reader: {
    Type: 'AWS::IAM::Role',
    Properties: {
      Policies: [{ PolicyDocument: { Statement: allow('s3:GetObject', '*') } }],
      ...trustOf('lambda.amazonaws.com'),
    },
  },
  ...Object.fromEntries(
    functions.map(([id, Role]) => [id, { Type: 'AWS::Lambda::Function', Properties: { Role } }] as const),
  ),
});
const arnOf = (role: string) => ({ 'Fn::GetAtt': [role, 'Arn'] });

const group = (name: string, users: object[]): Template['Resources'] => ({
  Group: {
    Type: 'AWS::IAM::Group',
    Properties: { Policies: [{ PolicyDocument: { Statement: allow('s3:GetObject', '*') } }] },
  },
  Addition: { Type: 'AWS::IAM::UserToGroupAddition', Properties: { GroupName: { Ref: name }, Users: users } },
});

const logPolicy = (PolicyDocument: unknown): Template['Resources'] => ({
  Logs: { Type: 'AWS::Logs::ResourcePolicy', Properties: { PolicyName: 'logs', PolicyDocument } },
});
const toLogs = (resource: string) =>
  JSON.stringify({
    Statement: [{ Effect: 'Allow', Principal: { Service: 'es.amazonaws.com' }, Action: 'logs:*', Resource: resource }],
  });
const onlyIf = (Action: string) => ({ 'Fn::If': ['IsProd', allow(Action, '*'), { Ref: 'AWS::NoValue' }] });

const onlyOwn = { Condition: { StringEquals: { 'aws:SourceAccount': '1' } } };

describe('findPermissions reports a new permission', () => {
  test.each<[what: string, says: string, after: Parts, before?: Parts]>([
    [
      'a statement has one action more',
      'Role may now dynamodb:DeleteItem on Table.Arn.',
      { statements: [allow(['dynamodb:GetItem', 'dynamodb:DeleteItem'], table)] },
    ],
    [
      'a statement is for more resources',
      'Role may now dynamodb:GetItem on *.',
      { statements: [allow('dynamodb:GetItem', '*')] },
    ],
    ['an action gets a *', 'Role may now dynamodb:* on Table.Arn.', { statements: [allow('dynamodb:*', table)] }],
    [
      'a condition is removed',
      'Role may now dynamodb:GetItem on Table.Arn.',
      { statements: [allow('dynamodb:GetItem', table)] },
      { statements: [allow('dynamodb:GetItem', table, onlyOwn)] },
    ],
    [
      'a statement excludes actions',
      'Role may now all but "iam:PassRole" on *.',
      { statements: [{ Effect: 'Allow', NotAction: 'iam:PassRole', Resource: '*' }] },
    ],
    [
      'a statement no longer denies',
      'Role would no longer be denied dynamodb:Scan on *.',
      {},
      {
        statements: [
          allow(['dynamodb:GetItem', 'dynamodb:PutItem'], table),
          { Effect: 'Deny', Action: 'dynamodb:Scan', Resource: '*' },
        ],
      },
    ],
    [
      'a role gets an inline policy',
      'Role may now s3:GetObject on *.',
      { role: { Policies: [{ PolicyDocument: { Statement: allow('s3:GetObject', '*') } }] } },
    ],
    [
      'the role has a managed policy',
      'Role may now do what arn:aws:iam::aws:policy/AdministratorAccess allows on any resource.',
      { role: { ManagedPolicyArns: ['arn:aws:iam::aws:policy/AdministratorAccess'] } },
    ],
    [
      'somebody else may have the role',
      'Service ec2.amazonaws.com may now sts:AssumeRole on Role.',
      { role: trustOf('ec2.amazonaws.com', 'lambda.amazonaws.com') },
    ],
    [
      'anybody may invoke the function',
      '* may now lambda:InvokeFunction on Live.',
      { permission: { ...invoke, Principal: '*' } },
    ],
    [
      'any API may invoke the function',
      'apigateway.amazonaws.com may now lambda:InvokeFunction on Live.',
      { permission: invoke },
    ],
    [
      'another API may invoke the function',
      'apigateway.amazonaws.com may now lambda:InvokeFunction on Live if SourceArn is arn:other.',
      { permission: { ...invoke, SourceArn: 'arn:other' } },
    ],
    [
      'another role has the policy',
      'Other may now dynamodb:GetItem on Table.Arn.',
      {
        more: {
          Second: {
            Type: 'AWS::IAM::Policy',
            Properties: {
              PolicyDocument: { Statement: [allow('dynamodb:GetItem', table)] },
              Roles: [{ Ref: 'Other' }],
            },
          },
        },
      },
    ],
    [
      'a queue admits everyone',
      '* may now sqs:SendMessage on Queue.',
      {
        more: {
          Queue: {
            Type: 'AWS::SQS::QueuePolicy',
            Properties: {
              PolicyDocument: { Statement: [{ Effect: 'Allow', Principal: '*', Action: 'sqs:SendMessage' }] },
            },
          },
        },
      },
    ],
    [
      'a function gets the role of another one',
      'First may now s3:GetObject on *.',
      { more: reader(['First', arnOf('Reader')], ['Second', arnOf('Reader')]) },
      { more: reader(['First', arnOf('Role')], ['Second', arnOf('Reader')]) },
    ],
    [
      'a function gets a role from elsewhere',
      'First may now do what arn:aws:iam::1:role/admin may on any resource.',
      { more: reader(['First', 'arn:aws:iam::1:role/admin']) },
      { more: reader(['First', arnOf('Reader')]) },
    ],
    [
      'a user joins a group',
      'User may now s3:GetObject on *.',
      { more: group('Group', [{ Ref: 'User' }]) },
      { more: group('Group', []) },
    ],
    [
      'a role loses its boundary',
      'Role would no longer be denied what arn:boundary does not allow on any resource.',
      {},
      { role: { PermissionsBoundary: 'arn:boundary' } },
    ],
    [
      'a policy is a JSON text',
      'Service es.amazonaws.com may now logs:* on *.',
      { more: logPolicy(toLogs('*')) },
      { more: logPolicy(toLogs('arn:own')) },
    ],
    [
      'a policy is joined from texts',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: That is how CloudFormation writes a reference.
      'Service es.amazonaws.com may now logs:* on ${Own.Arn}:*.',
      {
        more: logPolicy({
          'Fn::Join': [
            '',
            toLogs('(arn):*')
              .split('(arn)')
              .toSpliced(1, 0, arnOf('Own') as never),
          ],
        }),
      },
    ],
    [
      'a policy that cannot be read changes',
      'Logs may now do what Other allows on any resource.',
      { more: logPolicy({ Ref: 'Other' }) },
      { more: logPolicy({ Ref: 'Parameter' }) },
    ],
    [
      'a statement that cannot be read changes',
      `Role may now do what ${JSON.stringify(onlyIf('s3:GetObject'))} allows on any resource.`,
      { statements: [onlyIf('s3:GetObject')] },
      { statements: [onlyIf('s3:*')] },
    ],
    [
      'a statement excludes fewer actions',
      'Role may now all but "iam:PassRole" on *.',
      { statements: [{ Effect: 'Allow', NotAction: 'iam:PassRole', Resource: '*' }] },
      { statements: [{ Effect: 'Allow', NotAction: 'iam:*', Resource: '*' }] },
    ],
  ])('if %s', (_, says, after, before) => {
    expect(added(after, before)).toEqual([says]);
  });
});

describe('findPermissions reports no new permission', () => {
  test.each<[what: string, after: Parts, before?: Parts]>([
    ['nothing changes', {}],
    [
      'a statement is split in two',
      { statements: [allow('dynamodb:PutItem', [table]), allow(['dynamodb:GetItem'], table)] },
    ],
    ['an action is removed', { statements: [allow('dynamodb:GetItem', table)] }],
    ['a condition is new', { statements: [allow('dynamodb:GetItem', table, onlyOwn)] }],
    [
      'a * becomes one resource',
      { statements: [allow('s3:GetObject', 'arn:bucket/a')] },
      { statements: [allow('s3:Get*', 'arn:bucket/*')] },
    ],
    ['a statement denies more', { statements: [{ Effect: 'Deny', Action: '*', Resource: '*' }] }],
    [
      'the principals have another order',
      { role: trustOf('b.amazonaws.com', 'a.amazonaws.com') },
      { role: trustOf('a.amazonaws.com', 'b.amazonaws.com') },
    ],
    ['an API is the only one that may invoke', {}, { permission: invoke }],
    [
      'a function gets a role that may do less',
      { more: reader(['First', arnOf('Role')]), statements: [] },
      { more: reader(['First', arnOf('Reader')]), statements: [] },
    ],
    ['a function goes', { more: reader() }, { more: reader(['First', arnOf('Reader')]) }],
    ['a role gets a boundary', { role: { PermissionsBoundary: 'arn:boundary' } }],
    ['a policy that cannot be read stays', { more: logPolicy({ Ref: 'A' }) }, { more: logPolicy({ Ref: 'A' }) }],
    ['a policy text becomes an object', { more: logPolicy(JSON.parse(toLogs('*'))) }, { more: logPolicy(toLogs('*')) }],
  ])('if %s', (_, after, before) => {
    expect(added(after, before)).toEqual([]);
  });
});

type Resources = Template['Resources'];

const get = allow('dynamodb:GetItem', table);
const put = allow('dynamodb:PutItem', table);
const ofLambda = trustOf('lambda.amazonaws.com');

/** Returns a role for functions, whose permissions are inline. */
const role = (id: string, statements: object[], properties: object = {}): Resources => ({
  [id]: {
    Type: 'AWS::IAM::Role',
    Properties: { ...ofLambda, Policies: [{ PolicyDocument: { Statement: statements } }], ...properties },
  },
});

const usedBy = (id: string, ...functions: string[]): Resources =>
  Object.fromEntries(
    functions.map((each) => [each, { Type: 'AWS::Lambda::Function', Properties: { Role: arnOf(id) } }]),
  );

const integration = (id: string): Resources => ({
  Integration: { Type: 'AWS::ApiGatewayV2::Integration', Properties: { CredentialsArn: arnOf(id) } },
});

const [older, newer] = ['FirstRole4AF3C0010a1b2c3d', 'FirstRole4AF3C00112345678'];
const first = (id: string, statements: object[], properties?: object) => ({
  ...role(id, statements, properties),
  ...usedBy(id, 'First'),
});

/** Returns a function with its role, whose permissions are a separate policy, as in older versions of this project. */
const withDefaultPolicy = (...statements: object[]): Resources => ({
  FirstRole4AF3C001: { Type: 'AWS::IAM::Role', Properties: ofLambda },
  FirstRoleDefaultPolicy7C38E80E: {
    Type: 'AWS::IAM::Policy',
    Properties: { PolicyDocument: { Statement: statements }, Roles: [{ Ref: 'FirstRole4AF3C001' }] },
  },
  ...usedBy('FirstRole4AF3C001', 'First'),
});

describe("findPermissions compares what each function may do, whatever its role's id, and finds", () => {
  test.each<[finds: string, what: string, before: Resources, after: Resources, says: string[]]>([
    ['nothing', 'a separate policy becomes inline', withDefaultPolicy(get, put), first(newer, [put, get]), []],
    [
      'what is new',
      'a separate policy becomes a wider inline one',
      withDefaultPolicy(get),
      first(newer, [get, put]),
      ['First may now dynamodb:PutItem on Table.Arn.'],
    ],
    ['nothing', 'a grant is narrowed, which retires the older role', first(older, [get, put]), first(newer, [get]), []],
    [
      'what is new',
      'a grant is widened',
      first(older, [get]),
      first(newer, [allow('dynamodb:*', table)]),
      ['First may now dynamodb:* on Table.Arn.'],
    ],
    ['nothing', 'a grant gets a condition', first(older, [get]), first(newer, [{ ...get, ...onlyOwn }]), []],
    [
      'what is new',
      'a grant gets another condition',
      first(older, [{ ...get, ...onlyOwn }]),
      first(newer, [{ ...get, Condition: { Bool: {} } }]),
      ['First may now dynamodb:GetItem on Table.Arn if {"Bool":{}}.'],
    ],
    ['nothing', 'a role is renamed', first('OldRole', [get]), first('NewRole', [get]), []],
    [
      'nothing',
      'two functions no longer share a role',
      { ...role('Shared', [get, put]), ...usedBy('Shared', 'First', 'Second') },
      { ...first(newer, [get]), ...role('SecondRole', [put]), ...usedBy('SecondRole', 'Second') },
      [],
    ],
    [
      'what each of the two may newly do',
      'two functions swap their roles',
      { ...role('A', [get]), ...usedBy('A', 'First'), ...role('B', [put]), ...usedBy('B', 'Second') },
      { ...role('A', [get]), ...usedBy('A', 'Second'), ...role('B', [put]), ...usedBy('B', 'First') },
      ['Second may now dynamodb:GetItem on Table.Arn.', 'First may now dynamodb:PutItem on Table.Arn.'],
    ],
    [
      'what is new, once for both,',
      'two functions share a role that is widened',
      { ...role('Shared', [get]), ...usedBy('Shared', 'First', 'Second') },
      { ...role('Shared', [get, put]), ...usedBy('Shared', 'First', 'Second') },
      ['First and Second may now dynamodb:PutItem on Table.Arn.'],
    ],
    [
      'what is new, and who may have its role,',
      'a function is new',
      {},
      first(newer, [get]),
      [
        'Service lambda.amazonaws.com may now sts:AssumeRole on the role of First.',
        'First may now dynamodb:GetItem on Table.Arn.',
      ],
    ],
    [
      'what is new, and who may have its role,',
      'a new function gets the role of another one',
      reader(['First', arnOf('Reader')]),
      reader(['First', arnOf('Reader')], ['Second', arnOf('Reader')]),
      [
        'Second may now s3:GetObject on *.',
        'Service lambda.amazonaws.com may now sts:AssumeRole on the role of Second.',
      ],
    ],
    [
      'that boundary',
      'the new role lacks the boundary of the older one',
      first(older, [get], { PermissionsBoundary: 'arn:boundary' }),
      first(newer, [get]),
      ['First would no longer be denied what arn:boundary does not allow on any resource.'],
    ],
    [
      'that trust',
      'Lambda may assume the new role without a condition',
      first(older, [get], {
        AssumeRolePolicyDocument: { Statement: { ...ofLambda.AssumeRolePolicyDocument.Statement, ...onlyOwn } },
      }),
      first(newer, [get]),
      ['Service lambda.amazonaws.com may now sts:AssumeRole on the role of First.'],
    ],
    [
      'nothing',
      'only Lambda may still assume a role',
      first('FirstRole', [get], trustOf('ec2.amazonaws.com', 'lambda.amazonaws.com')),
      first('FirstRole', [get]),
      [],
    ],
    [
      "the role's permissions and trust",
      'another service may assume the new role, too',
      first('OldRole', [get]),
      first('NewRole', [get], trustOf('ec2.amazonaws.com', 'lambda.amazonaws.com')),
      [
        'Service ec2.amazonaws.com and Service lambda.amazonaws.com may now sts:AssumeRole on NewRole.',
        'NewRole may now dynamodb:GetItem on Table.Arn.',
      ],
    ],
    [
      "the role's permissions and trust",
      'a user may assume the new role',
      first('OldRole', [get]),
      first('NewRole', [get], {
        AssumeRolePolicyDocument: { Statement: allow('sts:AssumeRole', undefined, { Principal: { AWS: 'arn:user' } }) },
      }),
      ['AWS arn:user may now sts:AssumeRole on NewRole.', 'NewRole may now dynamodb:GetItem on Table.Arn.'],
    ],
    [
      "the role's permissions and trust",
      'it cannot be read who may assume the new role',
      first('OldRole', [get]),
      first('NewRole', [get], { AssumeRolePolicyDocument: { Ref: 'Trust' } }),
      [
        'NewRole and First may now do what Trust allows on any resource.',
        'NewRole may now dynamodb:GetItem on Table.Arn.',
      ],
    ],
    [
      "the role's permissions and trust",
      'no function of the template has the new role',
      first('FirstRole', [get]),
      { ...first('FirstRole', [get]), ...role('Spare', [get]) },
      ['Service lambda.amazonaws.com may now sts:AssumeRole on Spare.', 'Spare may now dynamodb:GetItem on Table.Arn.'],
    ],
    [
      "the role's permissions and trust",
      'no function, but another resource of the template has the new role',
      { ...role('OldRole', [get], trustOf('apigateway.amazonaws.com')), ...integration('OldRole') },
      { ...role('NewRole', [get]), ...integration('NewRole') },
      [
        'Service lambda.amazonaws.com may now sts:AssumeRole on NewRole.',
        'NewRole may now dynamodb:GetItem on Table.Arn.',
        'Service lambda.amazonaws.com may now sts:AssumeRole on the role of Integration.',
      ],
    ],
    [
      'what the role is no longer denied',
      'its function leaves it',
      first('OldRole', [get], { PermissionsBoundary: 'arn:boundary' }),
      { ...role('OldRole', [get]), ...first('NewRole', [get], { PermissionsBoundary: 'arn:boundary' }) },
      ['OldRole would no longer be denied what arn:boundary does not allow on any resource.'],
    ],
  ])('%s if %s', (_finds, _what, before, after, says) => {
    const whats = (then: Template, now: Template) => findPermissions(then, now).map(({ what }) => what);
    const [then, now] = [{ Resources: before }, { Resources: after }];
    expect(whats(then, now)).toEqual(says);
    expect(whats(withoutHashes(then), withoutHashes(now))).toEqual(says);
  });
});

test("findPermissions lists a role's new permission only once, for the function that has the role", () => {
  const more = reader(['First', arnOf('Role')]);
  expect(added({ more, statements: [allow('dynamodb:*', table)] }, { more })).toEqual([
    'First may now dynamodb:* on Table.Arn.',
  ]);
});
