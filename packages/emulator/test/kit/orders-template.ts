// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of Fn::Sub
import type { Template } from '../../template/read-template.ts';
import {
  arnOf,
  authorizer,
  hash,
  integration,
  number,
  permission,
  policy,
  range,
  resource,
  role,
  route,
  stage,
  text,
} from './template-parts.ts';

/** A hash as long as the hash that the CDK gives to an asset: 64 digits, all of them the same. */
export const assetHash = (digit: string): string => digit.repeat(64);

const managedPolicy = (name: string) => ({
  'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, `:iam::aws:policy/${name}`]],
});

/**
 * Makes the template of a small shop: two functions, an alias, two tables with indexes, an authorizer, CORS. Some parts
 * are written as the CDK generates them, and others as only people write them.
 * @param change receives the resources, and may change them
 */
export const ordersTemplate = (change: (resources: Record<string, ChangedResource>) => void = () => {}): Template => {
  const template = structuredClone(original);
  change(template.Resources);
  return template;
};

export type ChangedResource = { Type: string; Properties: Record<string, unknown>; Condition?: string };

const api = {
  Api: resource('AWS::ApiGatewayV2::Api', {
    ProtocolType: 'HTTP',
    CorsConfiguration: {
      AllowCredentials: true,
      AllowHeaders: ['content-type'],
      AllowMethods: ['GET', 'POST'],
      AllowOrigins: { Ref: 'Origins' },
      MaxAge: 600,
    },
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
  Shop: resource('AWS::Lambda::Function', {
    Code: { S3Bucket: { 'Fn::Sub': 'assets-${AWS::AccountId}' }, S3Key: `${assetHash('a')}.zip` },
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
    Handler: 'index.handler',
    Layers: [{ Ref: 'ShopLayer' }],
    MemorySize: 256,
    Role: arnOf('ShopRole'),
    Runtime: 'nodejs24.x',
    Timeout: { Ref: 'Seconds' },
    LoggingConfig: { LogGroup: { Ref: 'Logs' } },
  }),
  ShopLayer: resource('AWS::Lambda::LayerVersion', { Content: { S3Bucket: 'assets', S3Key: `${assetHash('c')}.zip` } }),
  ShopVersion: resource('AWS::Lambda::Version', { FunctionName: { Ref: 'Shop' } }),
  ShopLive: resource('AWS::Lambda::Alias', {
    FunctionName: arnOf('Shop'),
    FunctionVersion: { 'Fn::GetAtt': ['ShopVersion', 'Version'] },
    Name: 'live',
  }),
  ShopPermission: permission({ Ref: 'ShopLive' }),
  Guard: resource('AWS::Lambda::Function', {
    Code: { S3Bucket: 'assets', S3Key: `assets/${assetHash('b')}.zip` },
    FunctionName: 'the-guard',
    Handler: 'guard.check',
    Role: arnOf('GuardRole'),
    Runtime: 'nodejs22.x',
    LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'WARN', LogGroup: { Ref: 'Logs' } },
  }),
  GuardPermission: permission({ Ref: 'Guard' }),
};

const tables = {
  Orders: resource('AWS::DynamoDB::Table', {
    KeySchema: [hash('id')],
    AttributeDefinitions: [text('id'), number('day')],
    GlobalSecondaryIndexes: [
      {
        IndexName: 'byDay',
        KeySchema: [hash('day')],
        Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['total'] },
        ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 },
      },
    ],
  }),
  Items: resource('AWS::DynamoDB::GlobalTable', {
    TableName: 'items',
    KeySchema: [hash('order'), range('number')],
    AttributeDefinitions: [text('order'), number('number'), number('price')],
    LocalSecondaryIndexes: [
      { IndexName: 'byPrice', KeySchema: [hash('order'), range('price')], Projection: { ProjectionType: 'ALL' } },
    ],
    Replicas: [{ Region: { Ref: 'AWS::Region' }, DeletionProtectionEnabled: true }],
  }),
};

const allow = (Action: string | string[], Resource: unknown, more: object = {}) =>
  policy({ Effect: 'Allow', Action, Resource, ...more });

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
  ReadItems: resource('AWS::IAM::ManagedPolicy', {
    PolicyDocument: allow('dynamodb:GetItem', { 'Fn::Sub': '${Items.Arn}' }),
  }),
  GuardRole: role({ RoleName: 'guard', ManagedPolicyArns: [managedPolicy('AWSXRayDaemonWriteAccess')] }),
  OthersPolicy: resource('AWS::IAM::Policy', { PolicyDocument: allow('*', '*'), Roles: ['another-role'] }),
};

const original = {
  Parameters: {
    Seconds: { Type: 'Number', Default: '7' },
    NoDefault: { Type: 'String' },
    FromSsm: { Type: 'AWS::SSM::Parameter::Value<String>', Default: '/shop/name' },
    Origins: { Type: 'CommaDelimitedList', Default: 'https://shop.example, https://www.shop.example' },
  },
  Mappings: { Sizes: { small: { width: 7 } } },
  Conditions: {
    Always: { 'Fn::Equals': [{ Ref: 'Seconds' }, 7] },
    Never: { 'Fn::Not': [{ 'Fn::Or': [{ Condition: 'Always' }, { 'Fn::Equals': ['a', 'b'] }] }] },
    Unclear: { 'Fn::And': [{ Condition: 'Always' }, { 'Fn::Equals': [{ Ref: 'NoDefault' }, 'a'] }] },
    Malformed: { Ref: 'Seconds' },
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
  } as Record<string, ChangedResource>,
};
