/** Parts of CloudFormation templates, and two stacks that are made of them: a small one, and that of a shop. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of Fn::Sub
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Account, TableSpec } from '../../served-stack.ts';
import type { Template } from '../../template/read-template.ts';

/** Not the default account, so that tests notice if it is used instead of a stack's own. */
export const account: Account = { id: '123456789012', region: 'eu-west-1' };

type Attribute = TableSpec['AttributeDefinitions'] & unknown[];
type Key = TableSpec['KeySchema'] & unknown[];

export const text = (AttributeName: string): Attribute[number] => ({ AttributeName, AttributeType: 'S' });
export const number = (AttributeName: string): Attribute[number] => ({ AttributeName, AttributeType: 'N' });
export const hash = (AttributeName: string): Key[number] => ({ AttributeName, KeyType: 'HASH' });
export const range = (AttributeName: string): Key[number] => ({ AttributeName, KeyType: 'RANGE' });

/** The key of a table: one attribute, `id`, which is a number. */
export const key = { KeySchema: [hash('id')], AttributeDefinitions: [number('id')] };

export const arnOf = (logicalId: string) => ({ 'Fn::GetAtt': [logicalId, 'Arn'] });

export const policy = (...statements: object[]) => ({ Version: '2012-10-17', Statement: statements });

const lambdaService = { Service: { 'Fn::Sub': 'lambda.${AWS::URLSuffix}' } };
const lambdaMayAssume = policy({ Effect: 'Allow', Action: 'sts:AssumeRole', Principal: lambdaService });

type ResourceOf = { Type: string; Properties: Record<string, unknown>; Condition?: string };

export const resource = (Type: string, Properties: object = {}): ResourceOf => ({
  Type,
  Properties: { ...Properties },
});

/** A role that Lambda may assume. */
export const role = (Properties: object) =>
  resource('AWS::IAM::Role', { AssumeRolePolicyDocument: lambdaMayAssume, ...Properties });

/** A hash as long as the hash that the CDK gives to an asset: 64 digits, all of them the same. */
export const assetHash = (digit: string): string => digit.repeat(64);

/** A function whose code is the asset with this hash. */
export const lambda = (hash: string, roleId: string, Properties: object = {}) =>
  resource('AWS::Lambda::Function', {
    Code: { S3Bucket: { 'Fn::Sub': 'assets-${AWS::AccountId}' }, S3Key: `${hash}.zip` },
    Handler: 'index.handler',
    Role: arnOf(roleId),
    Runtime: 'nodejs24.x',
    ...Properties,
  });

const mayInvoke = { Action: 'lambda:InvokeFunction', Principal: 'apigateway.amazonaws.com' };
export const permission = (FunctionName: object) => resource('AWS::Lambda::Permission', { ...mayInvoke, FunctionName });

const inApi = (part: string, Properties: object) =>
  resource(`AWS::ApiGatewayV2::${part}`, { ApiId: { Ref: 'Api' }, ...Properties });

export const stage = (Properties: object = {}) =>
  inApi('Stage', { StageName: '$default', AutoDeploy: true, ...Properties });

export const route = (RouteKey: string, Target: object, Properties: object = {}) =>
  inApi('Route', { RouteKey, Target, ...Properties });

export const integration = (IntegrationUri: object, TimeoutInMillis: number) =>
  inApi('Integration', { IntegrationType: 'AWS_PROXY', IntegrationUri, PayloadFormatVersion: '2.0', TimeoutInMillis });

const simple = { AuthorizerPayloadFormatVersion: '2.0', AuthorizerType: 'REQUEST', EnableSimpleResponses: true };
export const authorizer = (AuthorizerUri: object, Properties: object = {}) =>
  inApi('Authorizer', { ...simple, AuthorizerResultTtlInSeconds: 0, AuthorizerUri, ...Properties });

const fromHeader = { AuthorizerType: 'JWT', IdentitySource: ['$request.header.Authorization'] };
export const jwtAuthorizer = (Issuer: unknown, Audience: unknown) =>
  inApi('Authorizer', { ...fromHeader, JwtConfiguration: { Audience, Issuer } });

/**
 * By the logical id of a resource: properties to set, a resource to add or to put in its place, or undefined to remove
 * it.
 */
export type Changes = Record<string, object | undefined>;

const apply = (changes: Changes, resources: Template['Resources']): void => {
  for (const [id, change] of Object.entries(changes)) {
    if (change === undefined) delete resources[id];
    else if ('Type' in change) resources[id] = change as ResourceOf;
    else Object.assign(resources[id]?.Properties ?? {}, change);
  }
};

export type SmallStack = {
  /** The code of each function by its name. Each function except Authorizer gets the route GET /NAME. */
  functions: Record<string, string>;
  /** What the role of all functions allows. */
  statements?: object[];
  /** What else is in the stack, besides the API, its functions and their role. */
  changes?: Changes;
};

/**
 * Makes a stack's template, and writes the code of its functions to the folder `assets`. If a function is named
 * Authorizer, it is the authorizer of each route.
 */
export const smallStack = async (
  assets: string,
  { functions, statements = [], changes = {} }: SmallStack,
): Promise<{ template: Template; assets: string }> => {
  const Resources: Template['Resources'] = {
    Api: resource('AWS::ApiGatewayV2::Api', { ProtocolType: 'HTTP' }),
    Stage: stage(),
    Role: role({ Policies: [{ PolicyName: 'Own', PolicyDocument: policy(...statements) }] }),
  };
  const isGuarded = functions['Authorizer'] !== undefined;
  for (const [name, code] of Object.entries(functions)) {
    Resources[name] = lambda(await writeAsset(assets, code), 'Role', { Timeout: 900 });
    Resources[`${name}Permission`] = permission(arnOf(name));
    if (name === 'Authorizer') {
      Resources['AuthorizerOfApi'] = authorizer(arnOf(name));
    } else {
      const target = { 'Fn::Join': ['/', ['integrations', { Ref: `${name}Integration` }]] };
      const guarded = { AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'AuthorizerOfApi' } };
      Resources[`${name}Integration`] = integration(arnOf(name), 30_000);
      Resources[`${name}Route`] = route(`GET /${name}`, target, isGuarded ? guarded : {});
    }
  }
  apply(changes, Resources);
  return { template: { Resources }, assets };
};

/** Writes a function's code as an asset. @returns the hash that the CDK would give to the asset */
const writeAsset = async (assets: string, code: string): Promise<string> => {
  const digest = createHash('sha256').update(code).digest('hex');
  const folder = path.join(assets, `asset.${digest}`);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, code.startsWith('import ') ? 'index.mjs' : 'index.js'), code);
  return digest;
};

const managedPolicy = (name: string) => ({ 'Fn::Sub': `arn:\${AWS::Partition}:iam::aws:policy/${name}` });

/**
 * Makes the template of a small shop: two functions, an alias, two tables with indexes, an authorizer, CORS. Some parts
 * are written as the CDK generates them, and others as only people write them.
 */
export const ordersTemplate = (changes: Changes = {}): Template & typeof original => {
  const template = structuredClone(original);
  apply(changes, template.Resources);
  return template;
};

const allowed = { AllowCredentials: true, AllowHeaders: ['content-type'], AllowMethods: ['GET', 'POST'], MaxAge: 600 };

const api = {
  Api: resource('AWS::ApiGatewayV2::Api', {
    ProtocolType: 'HTTP',
    CorsConfiguration: { ...allowed, AllowOrigins: { Ref: 'Origins' } },
  }),
  Stage: stage({ AccessLogSettings: { DestinationArn: arnOf('Logs') } }),
  ShopIntegration: integration({ Ref: 'ShopLive' }, 9_000),
  GuardAuthorizer: authorizer(
    { 'Fn::Sub': 'arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Guard.Arn}/invocations' },
    { IdentitySource: ['$request.header.Authorization', '$request.querystring.shop'] },
  ),
  GetOrder: route(
    'GET /orders/{id}',
    { 'Fn::Join': ['/', ['integrations', { Ref: 'ShopIntegration' }]] },
    { AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'GuardAuthorizer' } },
  ),
  AnyPage: route('ANY /{proxy+}', { 'Fn::Sub': 'integrations/${ShopIntegration}' }),
};

const functions = {
  Shop: lambda(assetHash('a'), 'ShopRole', {
    Environment: {
      Variables: {
        ORDERS: { Ref: 'Orders' },
        ITEMS_ARN: { 'Fn::GetAtt': 'Items.Arn' },
        GREETING: { 'Fn::Sub': ['${Word} from ${Orders} in ${AWS::Region}, ${!Name}', { Word: 'Hello' }] },
        PART: { 'Fn::Select': [1, { 'Fn::Split': ['-', 'a-b-c'] }] },
        GUARD: { Ref: 'Guard' },
        SIZE: 3,
        WIDTH: { 'Fn::FindInMap': ['Sizes', { 'Fn::Select': [0, ['small']] }, 'width'] },
        ALWAYS: { 'Fn::If': ['Always', 'yes', 'no'] },
        NEVER: { 'Fn::If': ['Never', { Ref: 'Pool' }, { Ref: 'Orders' }] },
        NOTHING: { Ref: 'AWS::NoValue' },
      },
    },
    MemorySize: 256,
    Timeout: { Ref: 'Seconds' },
    LoggingConfig: { LogGroup: { Ref: 'Logs' } },
  }),
  ShopVersion: resource('AWS::Lambda::Version', { FunctionName: { Ref: 'Shop' } }),
  ShopLive: resource('AWS::Lambda::Alias', {
    FunctionName: arnOf('Shop'),
    FunctionVersion: { 'Fn::GetAtt': ['ShopVersion', 'Version'] },
    Name: 'live',
  }),
  ShopPermission: permission({ Ref: 'ShopLive' }),
  Guard: lambda(`assets/${assetHash('b')}`, 'GuardRole', {
    FunctionName: 'the-guard',
    Handler: 'guard.check',
    Runtime: 'nodejs22.x',
    LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'WARN', LogGroup: { Ref: 'Logs' } },
  }),
  GuardPermission: permission({ Ref: 'Guard' }),
};

const inclusion = { ProjectionType: 'INCLUDE', NonKeyAttributes: ['total'] };
export const byDay = { IndexName: 'byDay', KeySchema: [hash('day')], Projection: inclusion };
const byPrice = { KeySchema: [hash('order'), range('price')], Projection: { ProjectionType: 'ALL' } };

const tables = {
  Orders: resource('AWS::DynamoDB::Table', {
    KeySchema: [hash('id')],
    AttributeDefinitions: [text('id'), number('day')],
    GlobalSecondaryIndexes: [{ ...byDay, ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 } }],
  }),
  Items: resource('AWS::DynamoDB::GlobalTable', {
    TableName: 'items',
    KeySchema: [hash('order'), range('number')],
    AttributeDefinitions: [text('order'), number('number'), number('price')],
    LocalSecondaryIndexes: [{ IndexName: 'byPrice', ...byPrice }],
    Replicas: [{ Region: { Ref: 'AWS::Region' }, DeletionProtectionEnabled: true }],
  }),
};

const allow = (Action: string | string[], Resource: unknown, more: object = {}) =>
  policy({ Effect: 'Allow', Action, Resource, ...more });

const itemsArn = { 'Fn::Sub': '${Items.Arn}' };

const roles = {
  ShopRole: role({
    ManagedPolicyArns: [managedPolicy('service-role/AWSLambdaBasicExecutionRole'), { Ref: 'ReadItems' }],
    Policies: [
      { PolicyName: 'Logs', PolicyDocument: allow('logs:*', arnOf('Logs'), { Condition: { Bool: {} } }) },
      { PolicyName: 'Never', PolicyDocument: policy({ Effect: 'Deny', Action: ['dynamodb:Scan'], Resource: '*' }) },
    ],
  }),
  ShopPolicy: resource('AWS::IAM::Policy', {
    PolicyDocument: allow(
      ['dynamodb:GetItem', 'dynamodb:Query'],
      [arnOf('Orders'), { 'Fn::Join': ['', [arnOf('Orders'), '/index/*']] }, { Ref: 'AWS::NoValue' }],
    ),
    Roles: [{ Ref: 'ShopRole' }],
  }),
  ReadItems: resource('AWS::IAM::ManagedPolicy', { PolicyDocument: allow('dynamodb:GetItem', itemsArn) }),
  GuardRole: role({ RoleName: 'guard', ManagedPolicyArns: [managedPolicy('AWSXRayDaemonWriteAccess')] }),
  OthersPolicy: resource('AWS::IAM::Policy', { PolicyDocument: allow('*', '*'), Roles: ['another-role'] }),
};

const original = {
  Parameters: {
    Seconds: { Type: 'Number', Default: '7' },
    NoDefault: { Type: 'String' },
    NoText: { Type: 'CommaDelimitedList', Default: { a: 1 } },
    FromSsm: { Type: 'AWS::SSM::Parameter::Value<String>', Default: '/shop/name' },
    Origins: { Type: 'CommaDelimitedList', Default: 'https://shop.example, https://www.shop.example' },
  },
  Mappings: { Sizes: { small: { width: 7 } } },
  Conditions: {
    Always: { 'Fn::Equals': [{ Ref: 'Seconds' }, 7] },
    Never: { 'Fn::Not': [{ 'Fn::Or': [{ Condition: 'Always' }, { 'Fn::Equals': ['a', 'b'] }] }] },
    Unclear: { 'Fn::And': [{ Condition: 'Always' }, { 'Fn::Equals': [{ Ref: 'NoDefault' }, 'a'] }] },
    Malformed: { Ref: 'Seconds' },
    Circular: { 'Fn::Not': [{ Condition: 'Circle' }] },
    Circle: { 'Fn::Or': [{ Condition: 'Never' }, { Condition: 'Circular' }] },
  },
  Resources: {
    ...api,
    ...functions,
    ...tables,
    ...roles,
    Logs: resource('AWS::Logs::LogGroup'),
    Alarms: resource('AWS::SNS::Topic'),
    Pool: resource('AWS::Cognito::UserPool'),
    Metadata: { ...resource('AWS::CDK::Metadata'), Condition: 'Always' },
  } as Record<string, ResourceOf>,
};
