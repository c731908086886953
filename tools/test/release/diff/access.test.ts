import { expect, test } from 'vitest';
import { findPermissions, findRoutes } from '../../../release/diff/access.ts';
import { type Resource, type Template, withoutHashes } from '../../../release/diff/template.ts';

type Resources = Template['Resources'];

const arnOf = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
const allow = (Action: unknown, Resource: unknown = '*') => ({ Effect: 'Allow', Action, Resource });
const deny = (Action: string) => ({ Effect: 'Deny', Action, Resource: '*' });
const get = allow('dynamodb:GetItem', arnOf('Table'));
const put = allow('dynamodb:PutItem', arnOf('Table'));
const read = allow('s3:GetObject');
const allBut = (NotAction: string) => ({ Effect: 'Allow', NotAction, Resource: '*' });
const onlyOwn = { Condition: { StringEquals: { 'aws:SourceAccount': '1' } } };
const onlyProd = { 'Fn::If': ['IsProd', read, { Ref: 'AWS::NoValue' }] };

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
const managed = { ManagedPolicyArns: ['arn:Admin'] };
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
const joined = { 'Fn::Join': ['', ['{"Resource":"', arnOf('Own'), '"}']] };

const [older, newer] = ['FirstRole4AF3C0010a1b2c3d', 'FirstRole4AF3C00112345678'];
const old = first('OldRole', [get]);
const shared = { ...role('Shared', [get, put]), ...usedBy('Shared', 'First', 'Second') };
const integration = (id: string) => one('AWS::ApiGatewayV2::Integration', { CredentialsArn: arnOf(id) });

/** A role that may get items and has the first function, and a role that may put items and has the second. */
const pair = (getter: string, putter: string) => ({
  ...{ ...role('A', [get]), ...usedBy('A', getter) },
  ...{ ...role('B', [put]), ...usedBy('B', putter) },
});

const mayGet = (who: string) => `${who} may now dynamodb:GetItem on Table.Arn.`;
const mayPut = (who: string) => `${who} may now dynamodb:PutItem on Table.Arn.`;
const mayRead = (who: string) => `${who} may now s3:GetObject on *.`;
const hasRole = (name: string) => `Service lambda.amazonaws.com may now sts:AssumeRole on ${name}.`;
const isUnbounded = (who: string) =>
  `${who} would no longer be denied what arn:boundary does not allow on any resource.`;
const mayAll = (who: string, what: unknown) => `${who} may now do what ${what} on any resource.`;

const whats = (before: Resources, after: Resources): string[] =>
  findPermissions({ Resources: before }, { Resources: after }).map(({ what }) => what);

test.each<[what: string, before: Resources, after: Resources, says: string]>([
  ['an action', policy(get), policy(get, put), mayPut('Role')],
  ['all resources', policy(allow('s3:GetObject', 'arn:bucket/a')), policy(read), mayRead('Role')],
  ['a call without a condition', policy({ ...read, ...onlyOwn }), policy(read), mayRead('Role')],
  ['all but an action', {}, policy(allBut('iam:PassRole')), 'Role may now all but "iam:PassRole" on *.'],
  ['what was denied', policy(get, deny('s3:*')), policy(get), 'Role would no longer be denied s3:* on *.'],
  ['the right to call', {}, permission({ Principal: '*' }), '* may now lambda:InvokeFunction on Live.'],
  ['a managed policy', role('A', []), role('A', [], managed), mayAll('A', 'arn:Admin allows')],
  ['what a queue says', {}, one('AWS::SQS::QueuePolicy', statementsOf({ ...read, Principal: '*' })), mayRead('*')],
  ["another stack's role", {}, one('AWS::Lambda::Function', { Role: 'arn:Admin' }), mayAll('One', 'arn:Admin may')],
  ["a group's", inGroup(), inGroup({ Ref: 'User' }), mayRead('User')],
  ['a policy as text', logs({ Ref: 'A' }), logs(joined), mayAll('One', `{"Resource":"\${Own.Arn}"} allows`)],
  [
    'an unreadable statement',
    policy({ 'Fn::If': [] }),
    policy(onlyProd),
    mayAll('Role', `${JSON.stringify(onlyProd)} allows`),
  ],
])('findPermissions reports %s as a new permission', (_, before, after, says) => {
  expect(whats(before, after)).toEqual([says]);
});

test.each<[what: string, before: Resources, after: Resources]>([
  ['nothing changes', policy(get), policy(get)],
  ['statements are split', policy(allow(['s3:Get*', 's3:Put*'], ['*'])), policy(allow('s3:Put*'), allow(['s3:Get*']))],
  ['a condition is new', policy(get), policy({ ...get, ...onlyOwn })],
  ['a * becomes narrower', policy(allow('s3:Get*', 'arn:bucket/*')), policy(allow('s3:GetObject', 'arn:bucket/a'))],
  ['a statement denies more', policy(get), policy(get, deny('*'))],
  ['principals are in another order', role('A', [], services('b', 'a')), role('A', [], services('a', 'b'))],
  ['only one API may still invoke', permission({}), permission({ SourceArn: 'arn:api' })],
  ['a role gets a boundary', first(newer, [get]), first(newer, [get], boundary)],
])('findPermissions reports no new permission if %s', (_, before, after) => {
  expect(whats(before, after)).toEqual([]);
});

/** Gives the only resource a Condition. */
const ifProd = ({ One }: Resources): Resources => ({ One: { ...(One as Resource), Condition: 'IsProd' } });

test('findPermissions takes what depends on a condition for less than the same without one', () => {
  expect(whats(ifProd(policy(get)), policy(get))).toEqual([mayGet('Role')]);
  expect(whats(policy(get), ifProd(policy(get)))).toEqual([]);
  const denied = 'Role would no longer be denied s3:* on *.';
  expect(whats(policy(deny('s3:*')), ifProd(policy(deny('s3:*'))))).toEqual([denied]);
  expect(whats(ifProd(policy(deny('s3:*'))), policy(deny('s3:*')))).toEqual([]);
});

test('findPermissions reports a statement that depends on a condition whose definition changes', () => {
  const template = (stage: string): Template => ({
    Conditions: { IsProd: { 'Fn::Equals': [{ Ref: 'AWS::StackName' }, stage] } },
    Resources: policy(onlyProd),
  });
  expect(findPermissions(template('prod'), template('prod'))).toEqual([]);
  expect(findPermissions(template('prod'), template('live'))).toHaveLength(1);
});

const conditional = trust({ Service: 'lambda.amazonaws.com' }, onlyOwn);
const unreadable = { AssumeRolePolicyDocument: { Ref: 'Trust' } };

test.each<[what: string, before: Resources, after: Resources, says: string[]]>([
  ['a separate policy becomes a wider inline one', apart(get), first(newer, [get, put]), [mayPut('First')]],
  ['a grant is widened', first(older, [get]), first(newer, [get, put]), [mayPut('First')]],
  ['two functions no longer share a role', shared, pair('First', 'Second'), []],
  ['two functions swap roles', pair('First', 'Second'), pair('Second', 'First'), [mayGet('Second'), mayPut('First')]],
  [
    'a role of two is widened',
    shared,
    { ...shared, ...role('Shared', [get, put, read]) },
    [mayRead('First and Second')],
  ],
  ['a function is new', {}, first(newer, [put]), [hasRole('the role of First'), mayPut('First')]],
  ['the new role lacks a boundary', first(older, [get], boundary), first(newer, [get]), [isUnbounded('First')]],
  ['a trust loses its condition', first(older, [], conditional), first(newer, []), [hasRole('the role of First')]],
  [
    'it cannot be read who may assume the new role',
    old,
    first('NewRole', [get], unreadable),
    [mayAll('NewRole and First', 'Trust allows'), mayGet('NewRole')],
  ],
  [
    'another resource has the new role',
    { ...role('OldRole', [], services('apigateway')), ...integration('OldRole') },
    { ...role('NewRole', []), ...integration('NewRole') },
    [hasRole('NewRole'), hasRole('the role of One')],
  ],
  [
    'a function leaves a role that is no longer denied anything',
    first('OldRole', [get], boundary),
    { ...role('OldRole', [get]), ...first('NewRole', [get], boundary) },
    [isUnbounded('OldRole')],
  ],
])('findPermissions compares functions, whatever the ids of their roles: if %s', (_, before, after, says) => {
  expect(whats(before, after)).toEqual(says);
  const short = (Resources: Resources) => withoutHashes({ Resources }).Resources;
  expect(whats(short(before), short(after))).toEqual(says);
});

const route = (RouteKey: string, more: object): Resource => ({
  Type: 'AWS::ApiGatewayV2::Route',
  Properties: { ApiId: { Ref: 'Api' }, RouteKey, ...more },
});
const guarded = { AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'Authorizer' } };
const authorizer = (AuthorizerResultTtlInSeconds: number): Resource => ({
  Type: 'AWS::ApiGatewayV2::Authorizer',
  Properties: { AuthorizerResultTtlInSeconds },
});
const api = (properties: object): Resource => ({
  Type: 'AWS::ApiGatewayV2::Api',
  Properties: { DisableExecuteApiEndpoint: true, ...properties },
});
const url = (AuthType: unknown): Resource => ({
  Type: 'AWS::Lambda::Url',
  Properties: { AuthType, TargetFunctionArn: { 'Fn::GetAtt': ['Function', 'Arn'] } },
});

const before = { Api: api({}), Authorizer: authorizer(0), Get: route('GET /things', guarded) };
const open = { Put: route('PUT /things', {}) };

const changes = (after: Template['Resources'], more: Template['Resources'] = {}): string[] =>
  findRoutes({ Resources: { ...before, ...more } }, { Resources: after }).map(({ rule, what }) => `${rule}: ${what}`);

test.each<[says: string, after: Template['Resources']]>([
  ['route: PUT /things of Api would be new.', { Put: route('PUT /things', guarded) }],
  ['open-route: PUT /things of Api would be open to everyone.', open],
  ['open-route: GET /things of Api would be open to everyone.', { Get: route('GET /things', {}) }],
  [
    'route: GET /things of Api would be guarded in another way.',
    { Get: route('GET /things', { AuthorizationType: 'AWS_IAM' }) },
  ],
  ['route: GET /things of Api would be guarded in another way.', { Authorizer: authorizer(300) }],
  ['route: The URL of Function.Arn would be new.', { Url: url('AWS_IAM') }],
  ['open-route: The URL of Function.Arn would be open to everyone.', { Url: url('NONE') }],
  ['open-route: $default of Api would be open to everyone.', { Api: api({ Target: 'arn:function' }) }],
  ['route: The execute-api address of Api would be new.', { Api: api({ DisableExecuteApiEndpoint: false }) }],
  ['route: The execute-api address of Api would be new.', { Api: api({ DisableExecuteApiEndpoint: 'false' }) }],
  ['route: The execute-api address of Api would be new.', { Api: api({ DisableExecuteApiEndpoint: { Ref: 'Off' } }) }],
  [
    'open-route: GET /things of Api would be open to everyone.',
    { Get: route('GET /things', { AuthorizationType: { 'Fn::If': ['IsProd', 'CUSTOM', 'NONE'] } }) },
  ],
  ['open-route: The URL of Function.Arn would be open to everyone.', { Url: url({ Ref: 'AuthType' }) }],
  [
    'route: GET /things of Api would be guarded in another way.',
    { Authorizer: { ...authorizer(0), Condition: 'IsProd' } },
  ],
])('findRoutes reports "%s"', (says, after) => {
  expect(changes({ ...before, ...after })).toEqual([says]);
});

test('findRoutes reports nothing if a route goes, gets another logical id, or was open before', () => {
  const { Get, ...others } = before;
  expect(changes({ ...others })).toEqual([]);
  expect(changes({ ...others, Other: Get })).toEqual([]);
  expect(changes({ ...before, ...open }, open)).toEqual([]);
});
