import { describe, expect, test } from 'vitest';
import { defaultAccount, type FunctionSpec, functionArn, type JwtIssuer, tableArn } from '../served-stack.ts';
import type { Deployment } from '../template/cloud-assembly.ts';
import { typesWithoutEffect } from '../template/other-types.ts';
import { type ReadOptions, readTemplate } from '../template/read-template.ts';
import { served } from '../template/resource-types.ts';
import { namesIn } from '../template/template.ts';
import {
  account,
  arnOf,
  assetHash,
  byDay,
  type Changes,
  jwtAuthorizer,
  ordersTemplate,
  resource,
  route,
  stage,
} from './kit/templates.ts';

const read = (changes?: Changes, options: ReadOptions & Deployment = {}) =>
  readTemplate(ordersTemplate(changes), '/assets', { account, ...options });

const withVariables = (Variables: Record<string, unknown>) => ({ Shop: { Environment: { Variables } } });

const shop = { functionName: 'Shop', arn: `${functionArn(account, 'Shop')}:live`, version: '1' };

describe('readTemplate', () => {
  test('reads routes, their authorizers, and the CORS configuration', () => {
    expect(read().api).toEqual({
      account,
      stages: ['$default'],
      routes: [
        {
          routeKey: 'GET /orders/{id}',
          target: shop,
          timeout: 9_000,
          authorizer: {
            target: { functionName: 'the-guard', arn: functionArn(account, 'the-guard'), version: '$LATEST' },
            identitySources: ['$request.header.Authorization', '$request.querystring.shop'],
            format: '2.0',
            isSimple: true,
            ttl: 0,
          },
        },
        { routeKey: 'ANY /{proxy+}', target: shop, timeout: 9_000 },
      ],
      cors: {
        allowOrigins: ['https://shop.example', 'https://www.shop.example'],
        allowMethods: ['GET', 'POST'],
        allowHeaders: ['content-type'],
        exposeHeaders: [],
        allowCredentials: true,
        maxAge: 600,
      },
    });
  });

  test('reads functions, and replaces all references in their properties with values', () => {
    const [shopFunction, guard] = read().functions;
    expect(shopFunction).toEqual({
      name: 'Shop',
      account,
      folder: `/assets/asset.${assetHash('a')}`,
      handler: 'index.handler',
      runtime: 'nodejs24.x',
      environment: {
        ORDERS: 'Orders',
        ITEMS_ARN: tableArn(account, 'items'),
        GREETING: `Hello from Orders in ${account.region}, \${Name}`,
        PART: 'b',
        GUARD: 'the-guard',
        SIZE: '3',
        WIDTH: '7',
        ALWAYS: 'yes',
        NEVER: 'Orders',
      },
      timeout: 7_000,
      memoryMegabytes: 256,
      logLevel: undefined,
      role: expect.any(Array),
      roleName: 'ShopRole',
    });
    const defaults = { environment: {}, timeout: 3_000, memoryMegabytes: 128, role: [] };
    expect(guard).toMatchObject({ name: 'the-guard', logLevel: 'WARN', roleName: 'guard', ...defaults });
  });

  test("reads the statements about DynamoDB in all policies of a function's role", () => {
    const orders = tableArn(account, 'Orders');
    expect(read().functions[0]?.role).toEqual([
      { effect: 'Deny', actions: ['dynamodb:Scan'], resources: ['*'] },
      { effect: 'Allow', actions: ['dynamodb:GetItem'], resources: [tableArn(account, 'items')] },
      { effect: 'Allow', actions: ['dynamodb:GetItem', 'dynamodb:Query'], resources: [orders, `${orders}/index/*`] },
    ]);
  });

  const allowing = (...actions: string[]) => ({ effect: 'Allow', actions, resources: ['*'] });
  const ofPolicy = (...Action: string[]): Changes => ({
    ShopPolicy: { PolicyDocument: { Statement: { Effect: 'Allow', Action, Resource: '*' } } },
  });
  const limitedBy = (PermissionsBoundary: unknown): Changes => ({ ShopRole: { PermissionsBoundary } });
  const readItems = { ...allowing('dynamodb:GetItem'), resources: [tableArn(account, 'items')] };
  test.each<[changes: Changes, expected: Partial<FunctionSpec>]>([
    [{ Shop: { LoggingConfig: { LogFormat: 'JSON' } } }, { logLevel: 'INFO' }],
    [{ Shop: { LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'DEBUG' } } }, { logLevel: 'DEBUG' }],
    ...['*', '*:*', 'DynamoDB:GetItem'].map((action): [Changes, object] => [
      ofPolicy('s3:GetObject', action),
      { role: expect.arrayContaining([allowing('s3:GetObject', action)]) },
    ]),
    ...[
      ['AdministratorAccess', '*'],
      ['AmazonDynamoDBFullAccess', '*'],
      ['AmazonDynamoDBFullAccess_v2', '*'],
      ['AmazonDynamoDBReadOnlyAccess', 'BatchGetItem', 'Describe*', 'GetItem', 'List*', 'Query', 'Scan'],
    ].map(([name, ...actions]): [Changes, object] => [
      limitedBy(`arn:aws:iam::aws:policy/${name}`),
      { boundary: [allowing(...actions.map((action) => `dynamodb:${action}`))] },
    ]),
    [limitedBy({ Ref: 'ReadItems' }), { boundary: [readItems] } as object],
    [limitedBy('arn:aws:iam::aws:policy/AWSXRayDaemonWriteAccess'), { boundary: [] }],
  ])('with the changes %j reads, for the function Shop, %j', (changes, expected) => {
    const [shopFunction, guard] = read(changes).functions;
    expect(shopFunction).toMatchObject(expected);
    expect(guard).not.toHaveProperty('boundary');
  });

  test('replaces variables of a function by those in the option environment, which may be unknown in the template', () => {
    const changes = withVariables({ TOPIC: { Ref: 'Alarms' }, OTHER: 'same' });
    const { functions } = read(changes, { environment: { Shop: { TOPIC: 'mine', NEW: 'too' } } });
    expect(functions.map(({ environment }) => environment)).toEqual([{ TOPIC: 'mine', OTHER: 'same', NEW: 'too' }, {}]);
    expect(() => read(changes, { environment: { Guard: {} } })).toThrow(
      'The option environment names Guard, but the functions of the stack are Shop, the-guard.',
    );
  });

  const provider = (properties: object = {}) =>
    resource('AWS::Lambda::Function', { Runtime: 'python3.13', ...properties });
  const custom = (functionId: string, properties: object = {}) =>
    resource('Custom::LogRetention', { ServiceToken: arnOf(functionId), ...properties });

  const customResources = {
    Retention: custom('Framework', { LogGroupName: { Ref: 'Shop' } }),
    Framework: provider({ Environment: { Variables: { ON_EVENT: arnOf('OnEvent') } } }),
    OnEvent: provider(),
    OnEventPolicy: resource('AWS::IAM::Policy', { Roles: [], PolicyDocument: { Statement: arnOf('OnEvent') } }),
    Created: resource('AWS::CloudFormation::CustomResource', { ServiceToken: { Ref: 'Topic' } }),
  };
  test.each<[what: string, changes: Changes, names: string[]]>([
    ['functions that only custom resources use', customResources, ['Retention', 'Framework', 'OnEvent', 'Created']],
    ['another stage beside $default', { V1: stage({ StageName: 'v1' }) }, ['V1']],
  ])('ignores %s, and says so', (_, changes, names) => {
    const { withoutEffect, ...others } = read(changes);
    const { withoutEffect: before, ...same } = read();
    expect(others).toEqual(same);
    expect(before).toEqual(['Logs (AWS::Logs::LogGroup)', 'Alarms (AWS::SNS::Topic)', 'Pool (AWS::Cognito::UserPool)']);
    const ignored = names.map((name) => `${name} (${(changes[name] as { Type: string }).Type})`);
    expect(withoutEffect).toEqual([...before, ...ignored]);
  });

  test.each([
    ['Shop', { Retention: custom('Shop') }],
    ['Worker', { Worker: provider(), Retention: custom('Other', { Handler: arnOf('Worker') }) }],
    ['Worker', { Worker: provider() }],
  ])('serves the function %s, which not only custom resources use', (id, resources) => {
    expect(read(resources, { leaveOut: true }).withoutEffect).not.toContain(`${id} (AWS::Lambda::Function)`);
  });

  test('uses the default account unless the stack has one', () => {
    expect(readTemplate(ordersTemplate(), '/assets').account).toEqual(defaultAccount);
  });

  test('reads tables with their indexes', () => {
    const { Orders, Items } = ordersTemplate().Resources;
    const { Replicas: _, ...items } = Items?.Properties ?? {};
    const orders = { TableName: 'Orders', ...Orders?.Properties, GlobalSecondaryIndexes: [byDay] };
    expect(read().tables).toEqual([orders, items]);
  });

  test('reads a table if its condition is true, and makes up a longer name if its logical id is too short', () => {
    const table = resource('AWS::DynamoDB::Table');
    const { tables } = read({
      More: { ...table, Condition: 'Always' },
      Less: { ...table, Condition: 'Never' },
      T1: table,
    });
    expect(tables.map(({ TableName }) => TableName)).toEqual(['Orders', 'items', 'More', 'T1-table']);
  });

  test.each<[type: string, properties: Record<string, unknown>]>([
    ...[...typesWithoutEffect].map((type) => [type, { Any: arnOf('Shop') }] satisfies [string, object]),
    ['AWS::SNS::Subscription', { Endpoint: 'Shop@example.com' }],
    ['AWS::ApiGatewayV2::DomainName', { DomainName: 'api.shop.example' }],
    ['AWS::ApiGatewayV2::ApiMapping', { ApiId: { Ref: 'Api' }, Stage: { Ref: 'Stage' } }],
  ])('ignores a resource of the type %s with the properties %j', (type, properties) => {
    const changed = read({ Other: resource(type, properties) });
    expect({ ...changed, withoutEffect: [] }).toEqual({ ...read(), withoutEffect: [] });
  });

  test('ignores each property and each attribute that is listed as without effect', () => {
    const listed: Record<string, { withoutEffect: string }> = served;
    const attributes = { CreationPolicy: {}, DeletionPolicy: {}, DependsOn: 'Api', Metadata: {}, UpdatePolicy: {} };
    const changes = Object.entries(ordersTemplate().Resources).map(([id, { Properties, ...others }]) => {
      const ignored = namesIn(listed[others.Type]?.withoutEffect ?? '').map((name) => [name, {}]);
      return [id, { ...others, ...attributes, Properties: { ...Properties, ...Object.fromEntries(ignored) } }];
    });
    expect(read(Object.fromEntries(changes))).toEqual(read());
  });

  test.each([
    ['Shop', { MemorySize: 128, Timeout: 1, ReservedConcurrentExecutions: 1 }],
    ['Shop', { MemorySize: '10240', Timeout: 900 }],
    ['Shop', { Layers: [], VpcConfig: { Ref: 'AWS::NoValue' } }],
    ['Shop', { Layers: { Ref: 'AWS::NoValue' } }],
    ['ShopIntegration', { TimeoutInMillis: 50 }],
    ['Api', { CorsConfiguration: { MaxAge: -1, AllowCredentials: 'false', AllowOrigins: ['*'] } }],
  ])(
    'accepts values at a limit of the allowed range, or none, in the properties of %s: %j',
    (logicalId, properties) => {
      expect(() => read({ [logicalId]: properties })).not.toThrow();
    },
  );

  const paths = ['GET /', 'GET /orders/{id+}', 'POST /orders/{id}', 'GET /orders/id', 'PUT /~a.b:c/{d-e}'];
  const routeKeys = ['$default', ...paths];
  const identitySources = ['$request.header.Authorization', '$context.routeKey'];
  const asTheCdkMakesIt = {
    AuthorizerPayloadFormatVersion: '1.0',
    AuthorizerResultTtlInSeconds: 300,
    EnableSimpleResponses: undefined,
    IdentitySource: identitySources,
  };
  const invoking = (invoked: object): Changes => ({
    ShopIntegration: { IntegrationUri: invoked },
    ShopPermission: { FunctionName: invoked },
  });
  const targeting = (version: string) => ({ routes: [{}, { target: { functionName: 'Shop', version } }] });

  const severalStages = { Stage: stage({ StageName: 'dev' }), V1: stage({ StageName: 'v1' }) };
  const similarRoutes = routeKeys.map((key, index) => [`Route${index}`, route(key, { Ref: 'ShopIntegration' })]);
  const similar = { routes: [{}, {}, ...routeKeys.map((routeKey) => ({ routeKey }))] };
  const asMade = { identitySources, format: '1.0', isSimple: false, ttl: 300_000 };
  const noSources = { authorizer: { identitySources: [] } };
  const withoutTimeout = { TimeoutInMillis: undefined };
  const firstRoute = (expected: object) => ({ routes: [expected, {}] });

  test.each<[what: string, changes: Changes, expected: object]>([
    ['several stages, without $default', severalStages, { stages: ['dev', 'v1'] }],
    ['routes that differ in more than the names of their variables', Object.fromEntries(similarRoutes), similar],
    ['an integration without a timeout', { ShopIntegration: withoutTimeout }, firstRoute({ timeout: 30_000 })],
    ['an authorizer without sources', { GuardAuthorizer: { IdentitySource: undefined } }, firstRoute(noSources)],
    ['an authorizer as the CDK makes it', { GuardAuthorizer: asTheCdkMakesIt }, firstRoute({ authorizer: asMade })],
    ['an integration of a function', invoking(arnOf('Shop')), targeting('$LATEST')],
    ['an integration of a version', invoking({ Ref: 'ShopVersion' }), targeting('1')],
    ['an integration of an alias of $LATEST', { ShopLive: { FunctionVersion: '$LATEST' } }, targeting('$LATEST')],
  ])('reads %s', (_, changes, expected) => {
    expect(read(changes).api).toMatchObject(expected);
  });

  const ofPool = { Ref: 'Pool' };
  const poolUrl = { 'Fn::Join': ['', ['https://cognito-idp.', { Ref: 'AWS::Region' }, '.amazonaws.com/', ofPool]] };
  const literal = 'https://issuer.example';
  const local = { issuer: 'http://127.0.0.1:9', audience: ['me'], jwks: { keys: [] } };
  test.each<[what: string, Issuer: unknown, Audience: unknown[], jwt: JwtIssuer | undefined, expected: object]>([
    ['with known values', literal, ['shop'], undefined, { issuer: literal, audience: ['shop'] }],
    ['of another issuer than `jwt`', literal, ['shop'], local, { issuer: literal, audience: ['shop'] }],
    ['of the issuer in `jwt`', local.issuer, ['shop'], local, { ...local, audience: ['shop'] }],
    ['of a user pool', poolUrl, [ofPool], local, local],
    ['of a user pool, with a known audience', poolUrl, ['shop'], local, { ...local, audience: ['shop'] }],
    ['with an unknown audience', literal, ['shop', ofPool], local, { issuer: literal, audience: ['shop', 'me'] }],
  ])('reads a JWT authorizer %s: %j, %j, %j', (_, Issuer, Audience, jwt, expected) => {
    const GetOrder = { AuthorizationType: 'JWT', AuthorizationScopes: ['read'] };
    const changes = { GuardAuthorizer: jwtAuthorizer(Issuer, Audience), GetOrder };
    const [route] = read(changes, jwt && { jwt }).api.routes;
    expect(route).toMatchObject({ routeKey: 'GET /orders/{id}', scopes: ['read'] });
    expect(route?.authorizer).toEqual({ ...expected, identitySource: '$request.header.Authorization' });
  });

  test.each<[issuer: string, expected: object | undefined]>([
    ['https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Test', { POOL: 'eu-west-1_Test', CLIENT: 'me' }],
    ['https://issuer.example', undefined],
  ])('takes the ids of a user pool and of its client from the option jwt with the issuer %s', (issuer, expected) => {
    const Client = resource('AWS::Cognito::UserPoolClient');
    const changes = { ...withVariables({ POOL: { Ref: 'Pool' }, CLIENT: { Ref: 'Client' } }), Client };
    const reading = () => read(changes, { jwt: { issuer, audience: ['me'] } });
    if (expected) expect(reading().functions[0]?.environment).toEqual(expected);
    else expect(reading).toThrow('POOL refers to Pool (AWS::Cognito::UserPool), which is unknown here');
  });
});
