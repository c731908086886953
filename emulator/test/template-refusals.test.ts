// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of Fn::Sub
import { describe, expect, test } from 'vitest';
import { account, functionArn } from '../account.ts';
import { readTemplate, type Template } from '../template/read-template.ts';
import { type ChangedResource, ordersTemplate } from './kit/orders-template.ts';

type Change = (resources: Record<string, ChangedResource>) => void;

const messageOf = (template: Template): string => {
  try {
    readTemplate(template, '/assets');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'nothing was refused';
};

/** Adds properties to a resource. */
const set =
  (logicalId: string, properties: object): Change =>
  (resources) =>
    Object.assign(resources[logicalId]?.Properties ?? {}, properties);

/** Adds a resource. */
const add =
  (logicalId: string, Type: string, Properties: Record<string, unknown> = {}): Change =>
  (resources) => {
    resources[logicalId] = { Type, Properties };
  };

const remove =
  (...logicalIds: string[]): Change =>
  (resources) => {
    for (const logicalId of logicalIds) delete resources[logicalId];
  };

const variable = (value: unknown): Change => set('Shop', { Environment: { Variables: { NAME: value } } });

/** A change of the template, and what the message says about it. */
type Row = [change: Change, message: string];

const leaveOut = 'Leave it out of the template: put it into another stack, or let a context value of the app decide.';
const onlyServed = 'only HTTP APIs, Lambda functions and DynamoDB tables are served';
const leaveOutProperty = 'Leave that property out of the template.';

const types: Row[] = [
  [
    add('Queue4A7E3555', 'AWS::SQS::Queue'),
    `Queue4A7E3555 (AWS::SQS::Queue) cannot be served here: ${onlyServed}. ${leaveOut}`,
  ],
  [add('Nightly', 'Custom::Job'), `Nightly (Custom::Job) cannot be served here: ${onlyServed}. ${leaveOut}`],
  [
    add('Orders2', 'AWS::ApiGatewayV2::VpcLink'),
    `Orders2 (AWS::ApiGatewayV2::VpcLink) cannot be served here: ${onlyServed}. ${leaveOut}`,
  ],
  [
    add('ShopSource', 'AWS::Lambda::EventSourceMapping'),
    'ShopSource (AWS::Lambda::EventSourceMapping) cannot be served here: functions get events from the HTTP API only. Leave it out of the template, and hand its events to the function with `invoke`.',
  ],
  [
    add('Rest', 'AWS::ApiGateway::RestApi'),
    'Rest (AWS::ApiGateway::RestApi) cannot be served here: only HTTP APIs are served. Use AWS::ApiGatewayV2::Api (in CDK: HttpApi).',
  ],
  [
    (resources) => Object.assign(resources['Orders'] ?? {}, { Condition: 'Always' }),
    'Orders (AWS::DynamoDB::Table) cannot be served here: the condition Always decides whether it exists. Decide that in the app that makes the template.',
  ],
];

const property = (logicalId: string, type: string, name: string, value: unknown, reason = ''): Row => [
  set(logicalId, { [name]: value }),
  `${logicalId} (${type}) cannot be served here: its ${name} is not supported${reason && `: ${reason}`}. ${leaveOutProperty}`,
];

const properties: Row[] = [
  property('Shop', 'AWS::Lambda::Function', 'Layers', ['arn'], 'the files of a layer are not on this machine'),
  property(
    'Shop',
    'AWS::Lambda::Function',
    'VpcConfig',
    {},
    'this machine is not in that network, so the function would reach other hosts',
  ),
  property('Shop', 'AWS::Lambda::Function', 'Surprise', {}),
  property('ShopLive', 'AWS::Lambda::Alias', 'RoutingConfig', {}, 'the template has the code of one version only'),
  property(
    'Api',
    'AWS::ApiGatewayV2::Api',
    'Body',
    {},
    'routes are read from AWS::ApiGatewayV2::Route, not from an OpenAPI document',
  ),
  property(
    'Api',
    'AWS::ApiGatewayV2::Api',
    'Target',
    'arn',
    'routes are read from AWS::ApiGatewayV2::Route, not from a quick create',
  ),
  property(
    'Api',
    'AWS::ApiGatewayV2::Api',
    'RouteKey',
    '$default',
    'routes are read from AWS::ApiGatewayV2::Route, not from a quick create',
  ),
  property('Stage', 'AWS::ApiGatewayV2::Stage', 'StageVariables', {}, 'events have no stageVariables here'),
  property(
    'ShopIntegration',
    'AWS::ApiGatewayV2::Integration',
    'RequestParameters',
    {},
    'requests are not mapped here',
  ),
  property('GetOrder', 'AWS::ApiGatewayV2::Route', 'ApiKeyRequired', true),
  property('Orders', 'AWS::DynamoDB::Table', 'ImportSourceSpecification', {}, 'the items to import are in S3'),
  property('Orders', 'AWS::DynamoDB::Table', 'KinesisStreamSpecification', {}),
  property(
    'Items',
    'AWS::DynamoDB::GlobalTable',
    'ResourcePolicy',
    {},
    'only the policies of the functions are enforced here, not those of a table',
  ),
  [
    set('Items', { Replicas: [{ Region: 'us-east-1', ResourcePolicy: {} }] }),
    `Items (AWS::DynamoDB::GlobalTable) cannot be served here: its Replicas.0.ResourcePolicy is not supported. ${leaveOutProperty}`,
  ],
  [
    set('Orders', { GlobalSecondaryIndexes: [{ Vectors: 3 }] }),
    `Orders (AWS::DynamoDB::Table) cannot be served here: its GlobalSecondaryIndexes.0.Vectors is not supported. ${leaveOutProperty}`,
  ],
  [
    set('Api', { CorsConfiguration: { AllowPrivateNetwork: true } }),
    `Api (AWS::ApiGatewayV2::Api) cannot be served here: its CorsConfiguration.AllowPrivateNetwork is not supported. ${leaveOutProperty}`,
  ],
  [
    set('Stage', { RouteSettings: { 'GET /nowhere': {} } }),
    `Stage (AWS::ApiGatewayV2::Stage) cannot be served here: its RouteSettings.GET /nowhere is not supported. ${leaveOutProperty}`,
  ],
];

const inShop = 'Shop (AWS::Lambda::Function) cannot be served here:';
const literal = 'Give the property a literal value.';

const references: Row[] = [
  [
    variable({ Ref: 'Alarms' }),
    `${inShop} Environment.Variables.NAME refers to Alarms (AWS::SNS::Topic), which is unknown here. ${literal}`,
  ],
  [
    variable({ 'Fn::Sub': 'https://${Pool.ProviderName}/keys' }),
    `${inShop} Environment.Variables.NAME refers to ProviderName of Pool (AWS::Cognito::UserPool), which is unknown here. No user pool runs here: give the property the literal value of an issuer that does run.`,
  ],
  [
    variable({ 'Fn::GetAtt': ['Orders', 'StreamArn'] }),
    `${inShop} Environment.Variables.NAME refers to StreamArn of Orders (AWS::DynamoDB::Table), which is unknown here. ${literal}`,
  ],
  [
    variable({ 'Fn::GetAtt': ['Api', 'ApiEndpoint'] }),
    `${inShop} Environment.Variables.NAME refers to ApiEndpoint of Api (AWS::ApiGatewayV2::Api), which is unknown here. ${literal}`,
  ],
  [
    variable({ Ref: 'Api' }),
    `${inShop} Environment.Variables.NAME refers to Api (AWS::ApiGatewayV2::Api), which is unknown here. ${literal}`,
  ],
  [
    variable({ Ref: 'AWS::StackId' }),
    `${inShop} Environment.Variables.NAME refers to AWS::StackId, which is unknown here. ${literal}`,
  ],
  ...['NoDefault', 'FromSsm'].map(
    (parameter): Row => [
      variable({ 'Fn::Join': ['', [{ Ref: parameter }]] }),
      `${inShop} Environment.Variables.NAME refers to the parameter ${parameter}, which has no default value. Give the parameter a default, or the property a literal value.`,
    ],
  ),
  ...['Fn::ImportValue', 'Fn::If', 'Fn::FindInMap'].map(
    (intrinsic): Row => [
      variable({ [intrinsic]: ['a', 'b', 'c'] }),
      `${inShop} Environment.Variables.NAME uses ${intrinsic}. Only Ref, Fn::GetAtt, Fn::Join, Fn::Select, Fn::Split and Fn::Sub are evaluated here.`,
    ],
  ),
  ...['{{resolve:ssm:key}}', { 'Fn::Join': ['', ['{{resolve:secretsmanager:', 'key', '}}']] }].map(
    (dynamic): Row => [
      variable(dynamic),
      `${inShop} Environment.Variables.NAME has a dynamic reference ({{resolve:...}}), which only CloudFormation can look up. Give the property a literal value.`,
    ],
  ),
  ...[{ 'Fn::Join': ['', 'text'] }, { 'Fn::Select': [3, ['a']] }, { 'Fn::Sub': [['a']] }].map(
    (malformed): Row => [
      variable(malformed),
      `${inShop} Environment.Variables.NAME has a malformed ${Object.keys(malformed)[0]}. Correct it.`,
    ],
  ),
  [variable(['a']), `${inShop} its Environment.Variables.NAME is not text. Correct it.`],
];

const functions: Row[] = [
  [
    set('Shop', { Runtime: 'python3.13' }),
    `${inShop} its Runtime is python3.13. Only Node.js runs here: use nodejs24.x.`,
  ],
  [
    set('Shop', { PackageType: 'Image' }),
    `${inShop} its PackageType is "Image", and only "Zip" is supported. Deploy the code as a folder or a zip file.`,
  ],
  [
    set('Shop', { Code: { ZipFile: 'exports.handler = () => {}' } }),
    `${inShop} its Code is not an asset of the CDK. Deploy the code as a folder (in CDK: Code.fromAsset).`,
  ],
  [
    set('Shop', { LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'LOUD' } }),
    `${inShop} its LoggingConfig.ApplicationLogLevel is "LOUD". Use TRACE, DEBUG, INFO, WARN, ERROR, FATAL.`,
  ],
  [set('Shop', { Timeout: 'soon' }), `${inShop} its Timeout is not a number. Correct it.`],
  [set('Shop', { Handler: undefined }), `${inShop} it has no Handler. Set it.`],
  [set('Shop', { Handler: {} }), `${inShop} its Handler is not text. Correct it.`],
];

const inIntegration = 'ShopIntegration (AWS::ApiGatewayV2::Integration) cannot be served here:';
const inAuthorizer = 'GuardAuthorizer (AWS::ApiGatewayV2::Authorizer) cannot be served here:';
const inRoute = 'GetOrder (AWS::ApiGatewayV2::Route) cannot be served here:';
const inStage = 'Stage (AWS::ApiGatewayV2::Stage) cannot be served here:';
const live = `${functionArn('Shop')}:live`;
const noPermission = `API Gateway has no permission to invoke ${live}. Add an AWS::Lambda::Permission for exactly that ARN, with the principal apigateway.amazonaws.com.`;

const api: Row[] = [
  [
    remove('Api', 'Stage', 'GetOrder', 'AnyPage', 'ShopIntegration', 'GuardAuthorizer'),
    'The template has no AWS::ApiGatewayV2::Api. Only a stack with an HTTP API can be served.',
  ],
  [
    add('Api2', 'AWS::ApiGatewayV2::Api', { ProtocolType: 'HTTP' }),
    'Api2 (AWS::ApiGatewayV2::Api) cannot be served here: the template has a second API, Api. Put one of them into another stack.',
  ],
  [
    set('Api', { ProtocolType: 'WEBSOCKET' }),
    'Api (AWS::ApiGatewayV2::Api) cannot be served here: its ProtocolType is "WEBSOCKET", and only "HTTP" is supported. A WebSocket API cannot be served.',
  ],
  [
    set('GetOrder', { ApiId: 'abc123' }),
    `${inRoute} its ApiId is "abc123", and only "Api" is supported. Define the API in the same stack.`,
  ],
  [remove('Stage'), 'The template has no AWS::ApiGatewayV2::Stage. An API is served only with its stage $default.'],
  [
    add('Stage2', 'AWS::ApiGatewayV2::Stage', { ApiId: { Ref: 'Api' }, StageName: 'v1' }),
    'Stage2 (AWS::ApiGatewayV2::Stage) cannot be served here: the template has a second stage, Stage. Leave one of them out of the template.',
  ],
  [
    set('Stage', { StageName: 'v1' }),
    `${inStage} its StageName is "v1", and only "$default" is supported. The path of another stage would begin with its name.`,
  ],
  [
    set('Stage', { AutoDeploy: undefined }),
    `${inStage} it has no AutoDeploy, and only true is supported. The routes are served as the template has them now.`,
  ],
  ...['FETCH /orders', 'GET orders', 'GET /{id}x', 'GET /{path+}/x', 'GET /a//b', '$connect'].map(
    (routeKey): Row => [
      set('GetOrder', { RouteKey: routeKey }),
      `${inRoute} its RouteKey is "${routeKey}". Write it as $default, or as METHOD /path, with parameters as whole segments: {name}, or {name+} at the end.`,
    ],
  ),
  [
    set('GetOrder', { Target: 'integrations/elsewhere' }),
    `${inRoute} its Target integrations/elsewhere is not an integration of the template. Define it in the same stack.`,
  ],
  ...['JWT', 'AWS_IAM'].map(
    (type): Row => [
      set('GetOrder', { AuthorizationType: type }),
      `${inRoute} its AuthorizationType is "${type}", and only "CUSTOM" is supported. Use a Lambda authorizer, or NONE.`,
    ],
  ),
  [
    set('GetOrder', { AuthorizerId: 'elsewhere' }),
    `${inRoute} its AuthorizerId is not an authorizer of the template. Define it in the same stack.`,
  ],
  [
    set('ShopIntegration', { IntegrationType: 'HTTP_PROXY' }),
    `${inIntegration} its IntegrationType is "HTTP_PROXY", and only "AWS_PROXY" is supported. Only Lambda functions answer here.`,
  ],
  [
    set('ShopIntegration', { ConnectionType: 'VPC_LINK' }),
    `${inIntegration} its ConnectionType is "VPC_LINK", and only "INTERNET" is supported. This machine is not in that network.`,
  ],
  [
    set('ShopIntegration', { PayloadFormatVersion: '1.0' }),
    `${inIntegration} its PayloadFormatVersion is "1.0", and only "2.0" is supported. Let the function read payload format 2.0.`,
  ],
  [
    set('ShopIntegration', { IntegrationUri: functionArn('Elsewhere') }),
    `${inIntegration} the template has no function, version or alias ${functionArn('Elsewhere')}. Define it in the same stack.`,
  ],
  [remove('ShopPermission'), `${inIntegration} ${noPermission}`],
  [set('ShopPermission', { FunctionName: { Ref: 'Shop' } }), `${inIntegration} ${noPermission}`],
  [set('ShopPermission', { Principal: 'events.amazonaws.com' }), `${inIntegration} ${noPermission}`],
  [set('ShopPermission', { Action: 'lambda:GetFunction' }), `${inIntegration} ${noPermission}`],
  [
    set('GuardAuthorizer', { AuthorizerType: 'JWT' }),
    `${inAuthorizer} its AuthorizerType is "JWT", and only "REQUEST" is supported. Use a Lambda authorizer.`,
  ],
  [
    set('GuardAuthorizer', { AuthorizerPayloadFormatVersion: '1.0' }),
    `${inAuthorizer} its AuthorizerPayloadFormatVersion is "1.0", and only "2.0" is supported. Let the authorizer read payload format 2.0.`,
  ],
  [
    set('GuardAuthorizer', { EnableSimpleResponses: false }),
    `${inAuthorizer} its EnableSimpleResponses is false, and only true is supported. Let the authorizer return isAuthorized instead of a policy.`,
  ],
  [
    set('GuardAuthorizer', { AuthorizerResultTtlInSeconds: 300 }),
    `${inAuthorizer} its AuthorizerResultTtlInSeconds is 300, and only 0 is supported. Its results are not cached here.`,
  ],
  [
    set('GuardAuthorizer', { IdentitySource: ['$request.header.a', '$context.identity.sourceIp'] }),
    `${inAuthorizer} its IdentitySource is $context.identity.sourceIp. Use $request.header.NAME or $request.querystring.NAME.`,
  ],
];

const inPolicy = 'ShopPolicy (AWS::IAM::Policy) cannot be served here:';
const inRole = 'ShopRole (AWS::IAM::Role) cannot be served here:';
const statement = (fields: object): Change =>
  set('ShopPolicy', { PolicyDocument: { Statement: [{ Effect: 'Allow', Resource: '*', ...fields }] } });

const roles: Row[] = [
  ...['Condition', 'NotResource', 'Principal'].map(
    (field): Row => [
      statement({ Action: 'dynamodb:GetItem', [field]: {} }),
      `${inPolicy} its PolicyDocument.Statement.0.${field} is not supported. ${leaveOutProperty}`,
    ],
  ),
  [
    statement({ NotAction: 's3:*' }),
    `${inPolicy} its PolicyDocument.Statement.0.NotAction is not supported. ${leaveOutProperty}`,
  ],
  [
    statement({ Action: '*', Effect: 'Perhaps' }),
    `${inPolicy} its PolicyDocument.Statement.0.Effect is neither Allow nor Deny. Correct it.`,
  ],
  [
    statement({ Action: '*', Resource: { 'Fn::GetAtt': ['Logs', 'Arn'] } }),
    `${inPolicy} PolicyDocument.Statement.0.Resource refers to Arn of Logs (AWS::Logs::LogGroup), which is unknown here. ${literal}`,
  ],
  [
    set('ShopRole', { ManagedPolicyArns: ['arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess'] }),
    `${inRole} its managed policy arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess is unknown here. Write its statements as a policy of the same stack.`,
  ],
  [
    set('ShopRole', { PermissionsBoundary: 'arn' }),
    `${inRole} its PermissionsBoundary is not supported. ${leaveOutProperty}`,
  ],
  [
    set('Shop', { Role: `arn:aws:iam::${account.id}:role/theirs` }),
    `${inShop} its Role arn:aws:iam::${account.id}:role/theirs is not in the template. Define it in the same stack.`,
  ],
];

describe('readTemplate refuses', () => {
  test.each(
    [types, properties, references, functions, api, roles]
      .flat()
      .map(([change, message]) => [message, change] as const),
  )('%s', (message, change) => {
    expect(messageOf(ordersTemplate(change))).toBe(message);
  });

  test('every type and property that is on no list, with a line for each', () => {
    const template = ordersTemplate((resources) => {
      add('Queue', 'AWS::SQS::Queue')(resources);
      add('Topic', 'AWS::Kinesis::Stream')(resources);
      set('Shop', { Layers: [], VpcConfig: {} })(resources);
    });
    const lines = messageOf(template).split('\n');
    expect(lines.map((line) => line.split(' cannot')[0])).toEqual([
      'Shop (AWS::Lambda::Function)',
      'Shop (AWS::Lambda::Function)',
      'Queue (AWS::SQS::Queue)',
      'Topic (AWS::Kinesis::Stream)',
    ]);
  });

  test('a template with a transform', () => {
    const template = { ...ordersTemplate(), Transform: 'AWS::Serverless-2016-10-31' };
    expect(messageOf(template)).toBe(
      'The template has the Transform "AWS::Serverless-2016-10-31", which only CloudFormation can do. Serve the template that comes out of it.',
    );
  });
});
