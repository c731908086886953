import { expect, test } from 'vitest';
import type { Resource, Template } from '../../../app.ts';
import { findPermissions, findRoutes } from '../../../release/diff/access.ts';
import { withoutHashes } from '../../../release/diff/template.ts';

type Resources = Template['Resources'];

const arnOf = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
const allow = (Action: unknown, Resource: unknown = '*') => ({ Effect: 'Allow', Action, Resource });
const deny = (Action: string) => ({ Effect: 'Deny', Action, Resource: '*' });
const get = allow('dynamodb:GetItem', arnOf('Table'));
const put = allow('dynamodb:PutItem', arnOf('Table'));
const read = allow('s3:GetObject');
const allBut = (NotAction: string) => ({ Effect: 'Allow', NotAction, Resource: '*' });
const onlyOwn = { Condition: { StringEquals: { 'aws:SourceAccount': '1' } } };
const none = { Ref: 'AWS::NoValue' };
const inProd = (value: unknown) => ({ 'Fn::If': ['IsProd', value, none] });
const onlyProd = inProd(read);

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
  ['a policy as text', {}, logs(joined), mayAll('One', `{"Resource":"\${Own.Arn}"} allows`)],
  ['an unreadable statement', policy(get), policy(onlyProd), mayAll('Role', `${JSON.stringify(onlyProd)} allows`)],
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
  ['a property becomes no value', policy(deny('s3:*')), policy({ ...deny('s3:*'), Condition: none })],
  ['a list has no value', role('A', [], managed), role('A', [], { ManagedPolicyArns: ['arn:Admin', none] })],
  ['a role gets a boundary', first(newer, [get]), first(newer, [get], boundary)],
])('findPermissions reports no new permission if %s', (_, before, after) => {
  expect(whats(before, after)).toEqual([]);
});

const inlineOf = (Policies: unknown) => role('A', [], { Policies });
const documentOf = (PolicyDocument: unknown) => one('AWS::IAM::Policy', { PolicyDocument, Roles: [{ Ref: 'Role' }] });
const denyAll = deny('s3:*');
const [someInline, someDenied] = [read, denyAll].map((each) => inProd([statementsOf(each)]));
const [someDocument, noDocument] = [read, denyAll].map((each) => inProd({ Statement: each }));
const byEffect = { ...denyAll, Effect: { Ref: 'Effect' } };
const mayDeny = (who: string, what: unknown) =>
  `${who} would no longer be denied what ${JSON.stringify(what)} denies on any resource.`;
const notDenied = (who: string) => `${who} would no longer be denied s3:* on *.`;

test.each<[what: string, before: Resources, after: Resources, says: string[]]>([
  ['inline policies', inlineOf(someInline), role('A', [read]), [mayRead('A'), mayDeny('A', someInline)]],
  ['a document', documentOf(someDocument), policy(read), [mayRead('Role'), mayDeny('Role', someDocument)]],
  ['a statement', policy(read, onlyProd), policy(read), [mayDeny('Role', onlyProd)]],
  ['an effect', policy(read, byEffect), policy(read), [mayDeny('Role', byEffect)]],
  ['a text', logs({ Ref: 'A' }), {}, ['One would no longer be denied what A denies on any resource.']],
  [
    'inline policies that denied',
    role('A', [denyAll]),
    inlineOf(someDenied),
    [mayAll('A', `${JSON.stringify(someDenied)} allows`), notDenied('A')],
  ],
  [
    'a document that denied',
    policy(denyAll),
    documentOf(noDocument),
    [mayAll('Role', `${JSON.stringify(noDocument)} allows`), notDenied('Role')],
  ],
])(
  'findPermissions takes %s that only a deployment evaluates for less before, and more afterwards',
  (_, before, after, says) => {
    expect(whats(before, after)).toEqual(says);
    expect([...whats(before, before), ...whats(after, after)]).toEqual([]);
  },
);

const swapped = (...who: string[]) => trust({ 'Fn::If': ['IsProd', ...who.map((AWS) => ({ AWS }))] });

test('findPermissions reports that the principals of a condition change places', () => {
  expect(whats(role('A', [], swapped('arn:a', '*')), role('A', [], swapped('*', 'arn:a')))).toEqual([
    'Fn::If ["IsProd",{"AWS":"*"},{"AWS":"arn:a"}] may now sts:AssumeRole on A.',
  ]);
});

/** Gives one of the resources a Condition. */
const ifProd = (resources: Resources, id = 'One'): Resources => ({
  ...resources,
  [id]: { ...(resources[id] as Resource), Condition: 'IsProd' },
});

test('findPermissions takes what depends on a condition for less than the same without one', () => {
  expect(whats(ifProd(policy(get)), policy(get))).toEqual([mayGet('Role')]);
  expect(whats(policy(get), ifProd(policy(get)))).toEqual([]);
  expect(whats(policy(denyAll), ifProd(policy(denyAll)))).toEqual([notDenied('Role')]);
  expect(whats(ifProd(policy(denyAll)), policy(denyAll))).toEqual([]);
});

test('findPermissions takes a role or a group for less if who has it depends on a condition, but no denial that goes with its holder', () => {
  const group = inGroup({ Ref: 'User' });
  expect(whats(ifProd(group, 'Addition'), group)).toEqual([mayRead('User')]);
  const own = first('Own', [get], boundary);
  expect(whats(ifProd(own, 'First'), own)).toEqual([hasRole('the role of First'), mayGet('First')]);
  expect(whats(own, ifProd(ifProd(own, 'First'), 'Own'))).toEqual([]);
  const foreign = one('AWS::Lambda::Function', { Role: 'arn:Admin' });
  expect(whats(ifProd(foreign), foreign)).toEqual([mayAll('One', 'arn:Admin may')]);
});

test('findPermissions reports a statement that depends on a condition whose definition changes', () => {
  const template = (stage: string): Template => ({
    Conditions: { IsProd: { 'Fn::Equals': [{ Ref: 'AWS::StackName' }, stage] } },
    Resources: policy(onlyProd),
  });
  expect(findPermissions(template('prod'), template('prod'))).toEqual([]);
  expect(findPermissions(template('prod'), template('live'))).toHaveLength(2);
});

test.each<[what: string, resources: Resources]>([
  ['policy', documentOf({ Ref: 'Value' })],
  ['list of statements', documentOf({ Statement: { Ref: 'Value' } })],
  ['statement', policy(read, { Ref: 'Value' })],
])('findPermissions reports a %s that is a parameter whose default changes', (_, Resources) => {
  const template = (Default: string): Template => ({ Parameters: { Value: { Type: 'String', Default } }, Resources });
  expect(findPermissions(template('a'), template('a'))).toEqual([]);
  expect(findPermissions(template('a'), template('b'))).toHaveLength(2);
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
/** The route GET /things, with the logical id Get. */
const things = (more: object): Resources => ({ Get: route('GET /things', more) });
const guarded = { AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'Authorizer' } };
const caching = (AuthorizerResultTtlInSeconds: number): Resource => ({
  Type: 'AWS::ApiGatewayV2::Authorizer',
  Properties: { AuthorizerResultTtlInSeconds },
});
/** An authorizer whose function, behind an alias, has these variables. */
const authorizedBy = (Variables: object): Resources => ({
  Authorizer: {
    Type: 'AWS::ApiGatewayV2::Authorizer',
    Properties: { AuthorizerUri: { 'Fn::Join': ['', ['arn:', { Ref: 'Live' }, '/invocations']] } },
  },
  Live: { Type: 'AWS::Lambda::Alias', Properties: { FunctionName: { Ref: 'Check' }, Name: 'live' } },
  Check: { Type: 'AWS::Lambda::Function', Properties: { Environment: { Variables } } },
});
const api = (properties: object): Resources => ({
  Api: { Type: 'AWS::ApiGatewayV2::Api', Properties: { DisableExecuteApiEndpoint: true, ...properties } },
});
const endpoint = (DisableExecuteApiEndpoint: unknown) => api({ DisableExecuteApiEndpoint });
const url = (AuthType: unknown, id = 'Url', more: object = {}): Resources => ({
  [id]: { Type: 'AWS::Lambda::Url', Properties: { AuthType, TargetFunctionArn: arnOf('Function'), ...more } },
});
const urlOfAlias = url('AWS_IAM', 'Live', { Qualifier: 'live' });

const isOpen = (name: string) => `open-route: ${name} would be open to everyone.`;
const isNew = (name: string) => `route: ${name} would be new.`;
const isOther = (name: string) => `route: ${name} would be guarded in another way.`;
const [get1, url1, address] = ['GET /things of Api', 'The URL of Function.Arn', 'The execute-api address of Api'];

const before = { ...api({}), Authorizer: caching(0), ...things(guarded) };
const open = { Put: route('PUT /things', {}) };
const either = { AuthorizationType: { 'Fn::If': ['IsProd', 'CUSTOM', 'NONE'] } };

const saysOf = (then: Template, now: Template): string[] =>
  findRoutes(then, now).map(({ rule, what }) => `${rule}: ${what}`);
const changes = (after: Resources, more: Resources = {}): string[] =>
  saysOf({ Resources: { ...before, ...more } }, { Resources: after });

test.each<[says: string, after: Resources]>([
  [isNew('PUT /things of Api'), { Put: route('PUT /things', guarded) }],
  [isOpen('PUT /things of Api'), open],
  [isOpen(get1), things({})],
  [isOther(get1), things({ AuthorizationType: 'AWS_IAM' })],
  [isOther(get1), { Authorizer: caching(300) }],
  [isOther(get1), { Authorizer: { ...caching(0), Condition: 'IsProd' } }],
  [isOpen(get1), things(either)],
  [isNew(url1), url('AWS_IAM')],
  [isOpen(url1), url('NONE')],
  [isOpen(url1), url({ Ref: 'AuthType' })],
  [isOpen('$default of Api'), api({ Target: 'arn:function' })],
  [isOpen('$default of Api'), api({ Body: { paths: {} } })],
  [isOpen('$default of Api'), api({ BodyS3Location: { Key: 'api.json' } })],
  [isNew(address), endpoint(false)],
  [isNew(address), endpoint('false')],
  [isNew(address), endpoint({ Ref: 'Off' })],
])('findRoutes reports "%s" after the change %j', (says, after) => {
  expect(changes({ ...before, ...after })).toEqual([says]);
});

test.each<[name: string, now: object, says: string[]]>([
  ['ISSUER', { ISSUER: 'https://other' }, [isOther(get1)]],
  ['CLIENT_IDS', { CLIENT_IDS: 'any' }, [isOther(get1)]],
  ['BUNDLE_SHA256', { BUNDLE_SHA256: 'b' }, []],
])("findRoutes compares the authorizer's %s", (_, now, says) => {
  const then = { ISSUER: 'https://issuer', CLIENT_IDS: 'client', BUNDLE_SHA256: 'a' };
  expect(changes({ ...before, ...authorizedBy({ ...then, ...now }) }, authorizedBy(then))).toEqual(says);
});

const byValue = { Ref: 'Value' };
/** The route, guarded by an authorizer that is not simply named, and the authorizer A. */
const byA = (AuthorizerId: object, ttl: number) => ({ ...things({ ...guarded, AuthorizerId }), A: caching(ttl) });
const byTwo = { 'Fn::If': ['IsProd', { Ref: 'A' }, { Ref: 'B' }] };
const bySub = { 'Fn::Sub': `\${A}` };

/** `defaults` are those of the parameter Value, then and now. */
test.each<[says: string, then: Resources, now: Resources, defaults?: [then: string, now: string]]>([
  [isOpen(get1), things(either), things({})],
  [isOpen(get1), ifProd(things({}), 'Get'), things({})],
  [isOpen(get1), things(guarded), { ...things(guarded), ...ifProd({ Dev: route('GET /things', {}) }, 'Dev') }],
  [isOpen(get1), things({ AuthorizationType: byValue }), things({ AuthorizationType: byValue }), ['CUSTOM', 'NONE']],
  [isNew('The URL of Function.Arn:live'), url('AWS_IAM'), { ...url('AWS_IAM'), ...urlOfAlias }],
  [isOpen(url1), url(byValue), url(byValue), ['AWS_IAM', 'NONE']],
  [isOpen(url1), ifProd(url('NONE'), 'Url'), url('NONE')],
  [isNew(address), endpoint(byValue), endpoint(byValue), ['true', 'false']],
  [isNew(address), endpoint(byValue), endpoint(false)],
  [isNew(address), ifProd(endpoint(false), 'Api'), endpoint(false)],
  [isOther(get1), byA(byTwo, 0), byA(byTwo, 300)],
  [isOther(get1), byA(bySub, 0), byA(bySub, 300)],
  [isOpen('$default of Api'), api({ Target: inProd('arn:function') }), api({ Target: 'arn:function' })],
])('findRoutes takes what only a deployment evaluates for closed before, and open afterwards: "%s"', (...row) => {
  const [says, before, after, defaults = []] = row;
  const [then, now] = [before, after].map((Resources, index): Template => {
    const Default = defaults[index];
    return { ...(Default && { Parameters: { Value: { Type: 'String', Default } } }), Resources };
  }) as [Template, Template];
  expect(saysOf(then, now)).toEqual([says]);
  expect([...saysOf(then, then), ...saysOf(now, now)]).toEqual([]);
});

test('findRoutes reports nothing if a route goes, gets another logical id, or was open before', () => {
  const { Get, ...others }: Resources = before;
  expect(changes({ ...others })).toEqual([]);
  expect(changes({ ...others, Other: Get as Resource })).toEqual([]);
  expect(changes({ ...before, ...open }, open)).toEqual([]);
  expect(changes(ifProd({ ...before, ...open }, 'Put'), open)).toEqual([]);
  expect(changes({ ...before, ...api({ Target: none }) })).toEqual([]);
});
