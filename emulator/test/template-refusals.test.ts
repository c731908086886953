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

const set =
  (logicalId: string, properties: object): Change =>
  (resources) =>
    Object.assign(resources[logicalId]?.Properties ?? {}, properties);

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

/** A change after which the template cannot be served, and the error message that must follow. */
type Row = [change: Change, message: string];

const leaveOut =
  'Leave it out of the template: put it into another stack, or create it only if a context value of the app is set.';
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
    'Orders (AWS::DynamoDB::Table) cannot be served here: the condition Always decides whether it exists. Decide in the app that makes the template instead, and leave the Condition out.',
  ],
  [
    (resources) => Object.assign(resources['Orders'] ?? {}, { DependOn: 'Items' }),
    'Orders (AWS::DynamoDB::Table) cannot be served here: its attribute DependOn is unknown. Leave it out of the template.',
  ],
  [add('Odd', 'toString'), `Odd (toString) cannot be served here: ${onlyServed}. ${leaveOut}`],
  ...(
    [
      ['AWS::Cognito::UserPool', { LambdaConfig: { PreSignUp: { 'Fn::GetAtt': ['Shop', 'Arn'] } } }],
      ['AWS::SNS::Subscription', { Protocol: 'lambda', Endpoint: { 'Fn::GetAtt': 'Shop.Arn' } }],
      ['AWS::SNS::Topic', { Subscription: [{ Protocol: 'lambda', Endpoint: { 'Fn::Sub': '${Shop.Arn}' } }] }],
    ] as const
  ).map(
    ([type, withFunction]): Row => [
      add('Users', type, withFunction),
      `Users (${type}) cannot be served here: it would invoke Shop (AWS::Lambda::Function), and functions get events from the HTTP API only. Leave it out of the template, and hand its events to the function with \`invoke\`.`,
    ],
  ),
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
  property('Shop', 'AWS::Lambda::Function', 'constructor', {}),
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
    'parameter mapping of requests is not emulated',
  ),
  property('GetOrder', 'AWS::ApiGatewayV2::Route', 'ApiKeyRequired', true),
  [
    add('Name', 'AWS::ApiGatewayV2::DomainName', { MutualTlsAuthentication: {} }),
    `Name (AWS::ApiGatewayV2::DomainName) cannot be served here: its MutualTlsAuthentication is not supported: clients need no certificate here. ${leaveOutProperty}`,
  ],
  [
    add('Mapping', 'AWS::ApiGatewayV2::ApiMapping', { ApiId: { Ref: 'Api' }, ApiMappingKey: 'v1' }),
    `Mapping (AWS::ApiGatewayV2::ApiMapping) cannot be served here: its ApiMappingKey is not supported: the paths of requests have no such prefix here. ${leaveOutProperty}`,
  ],
  property(
    'Orders',
    'AWS::DynamoDB::Table',
    'ImportSourceSpecification',
    {},
    'the items to import are in S3, which is not emulated',
  ),
  property('Orders', 'AWS::DynamoDB::Table', 'KinesisStreamSpecification', {}),
  property(
    'Items',
    'AWS::DynamoDB::GlobalTable',
    'ResourcePolicy',
    {},
    "only the policies of the functions' roles are enforced here, not those of tables",
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
    `${inShop} Environment.Variables.NAME refers to ProviderName of Pool (AWS::Cognito::UserPool), which is unknown here. User pools are not emulated: give the property a literal value for another token issuer.`,
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
  ...['constructor', 'toString'].map(
    (name): Row => [
      variable({ Ref: name }),
      `${inShop} Environment.Variables.NAME refers to ${name}, which is unknown here. ${literal}`,
    ],
  ),
  [
    variable({ 'Fn::GetAtt': ['Orders', 'valueOf'] }),
    `${inShop} Environment.Variables.NAME refers to valueOf of Orders (AWS::DynamoDB::Table), which is unknown here. ${literal}`,
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
      `${inShop} Environment.Variables.NAME uses ${intrinsic}. Use only Ref, Fn::GetAtt, Fn::Join, Fn::Select, Fn::Split and Fn::Sub, or a literal value.`,
    ],
  ),
  ...[
    '{{resolve:ssm:key}}',
    { 'Fn::Join': ['', ['{{resolve:secretsmanager:', 'key', '}}']] },
    { 'Fn::Join': [':', ['{{resolve', 'ssm', 'key}}']] },
    { 'Fn::Sub': ['{{${Word}:ssm:key}}', { Word: 'resolve' }] },
  ].map(
    (dynamic): Row => [
      variable(dynamic),
      `${inShop} Environment.Variables.NAME has a dynamic reference ({{resolve:...}}), which only CloudFormation can look up. Give the property a literal value.`,
    ],
  ),
  ...(
    [
      [{ Ref: ['a'] }, '"LogicalId"'],
      [{ 'Fn::GetAtt': [['a']] }, '["LogicalId", "Attribute"]'],
      [{ 'Fn::Join': ['', 'text'] }, '["delimiter", [values]]'],
      [{ 'Fn::Select': [3, ['a']] }, '[index, [values]], with an index in the list'],
      [{ 'Fn::Split': ['-', ['a']] }, '["delimiter", "text"]'],
      [{ 'Fn::Sub': [['a']] }, '"text" or ["text", { variables }]'],
    ] as const
  ).map(
    ([malformed, form]): Row => [
      variable(malformed),
      `${inShop} Environment.Variables.NAME has a malformed ${Object.keys(malformed)[0]}. Write its value as ${form}.`,
    ],
  ),
  [variable(['a']), `${inShop} its Environment.Variables.NAME is not a string. Set it to a string.`],
];

const functions: Row[] = [
  [
    set('Shop', { Runtime: 'python3.13' }),
    `${inShop} its Runtime python3.13 is not supported. Use a Node.js runtime, such as nodejs24.x.`,
  ],
  [
    set('Shop', { PackageType: 'Image' }),
    `${inShop} its PackageType is "Image", and only "Zip" is supported. Deploy the code as a folder or a zip file.`,
  ],
  [
    set('Shop', { Code: { ZipFile: 'exports.handler = () => {}' } }),
    `${inShop} its Code is not a CDK asset. Deploy the code as a folder (in CDK: Code.fromAsset).`,
  ],
  [
    set('Shop', { LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'LOUD' } }),
    `${inShop} its LoggingConfig.ApplicationLogLevel "LOUD" is not supported. Use one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL.`,
  ],
  ...['soon', 0, -1, 901, 1.5].map(
    (value): Row => [
      set('Shop', { Timeout: value }),
      `${inShop} its Timeout ${JSON.stringify(value)} is not supported. Set it to a whole number from 1 to 900.`,
    ],
  ),
  ...[-1, 127, 10_241].map(
    (value): Row => [
      set('Shop', { MemorySize: value }),
      `${inShop} its MemorySize ${value} is not supported. Set it to a whole number from 128 to 10240.`,
    ],
  ),
  [
    set('Shop', { ReservedConcurrentExecutions: 0 }),
    `${inShop} its ReservedConcurrentExecutions 0 is not supported. Set it to a whole number of at least 1.`,
  ],
  ...['_HANDLER', 'AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SESSION_TOKEN', 'LAMBDA_TASK_ROOT'].map(
    (name): Row => [
      set('Shop', { Environment: { Variables: { [name]: 'mine' } } }),
      `${inShop} its Environment.Variables.${name} is reserved by Lambda. Rename the variable.`,
    ],
  ),
  [
    set('Shop', { Environment: { Variables: { AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:8000' } } }),
    `${inShop} its Environment.Variables.AWS_ENDPOINT_URL_DYNAMODB must be left to the emulator, which sets it to the address of the store. Leave it out of the template, and pass \`store: { endpoint }\`.`,
  ],
  [
    add('Shop2', 'AWS::Lambda::Alias', { FunctionName: 'elsewhere', FunctionVersion: '$LATEST', Name: 'live' }),
    'Shop2 (AWS::Lambda::Alias) cannot be served here: the template has no function elsewhere. Define that function in the same stack.',
  ],
  [
    add('Shop2', 'AWS::Lambda::Version', { FunctionName: 'elsewhere' }),
    'Shop2 (AWS::Lambda::Version) cannot be served here: the template has no function elsewhere. Define that function in the same stack.',
  ],
  [
    set('ShopLive', { FunctionVersion: '7' }),
    'ShopLive (AWS::Lambda::Alias) cannot be served here: the template has no version 7 of Shop. Refer to an AWS::Lambda::Version in the same stack (in CDK: currentVersion).',
  ],
  [
    remove('ShopVersion'),
    'ShopLive (AWS::Lambda::Alias) cannot be served here: FunctionVersion refers to Version of ShopVersion, which is unknown here. Give the property a literal value.',
  ],
  [
    add('GuardLive', 'AWS::Lambda::Alias', { FunctionName: 'the-guard', FunctionVersion: '1', Name: 'live' }),
    'GuardLive (AWS::Lambda::Alias) cannot be served here: the template has no version 1 of the-guard. Refer to an AWS::Lambda::Version in the same stack (in CDK: currentVersion).',
  ],
  [set('Shop', { Handler: undefined }), `${inShop} it has no Handler. Set its Handler.`],
  [set('Shop', { Handler: {} }), `${inShop} its Handler is not a string. Set it to a string.`],
];

const inIntegration = 'ShopIntegration (AWS::ApiGatewayV2::Integration) cannot be served here:';
const inAuthorizer = 'GuardAuthorizer (AWS::ApiGatewayV2::Authorizer) cannot be served here:';
const inApi = 'Api (AWS::ApiGatewayV2::Api) cannot be served here:';
const inRoute = 'GetOrder (AWS::ApiGatewayV2::Route) cannot be served here:';
const inStage = 'Stage (AWS::ApiGatewayV2::Stage) cannot be served here:';
const live = `${functionArn('Shop')}:live`;
const noPermission = `API Gateway has no permission to invoke ${live}. Add an AWS::Lambda::Permission for exactly that ARN, with the principal apigateway.amazonaws.com.`;

const api: Row[] = [
  [
    remove('Api', 'Stage', 'GetOrder', 'AnyPage', 'ShopIntegration', 'GuardAuthorizer'),
    'The template has no AWS::ApiGatewayV2::Api. Add an HTTP API (in CDK: HttpApi).',
  ],
  [
    add('Api2', 'AWS::ApiGatewayV2::Api', { ProtocolType: 'HTTP' }),
    'Api2 (AWS::ApiGatewayV2::Api) cannot be served here: the template has a second API, Api. Put one of them into another stack.',
  ],
  [
    set('Api', { ProtocolType: 'WEBSOCKET' }),
    'Api (AWS::ApiGatewayV2::Api) cannot be served here: its ProtocolType is "WEBSOCKET", and only "HTTP" is supported. Use an HTTP API (in CDK: HttpApi).',
  ],
  [
    set('GetOrder', { ApiId: 'abc123' }),
    `${inRoute} its ApiId is "abc123", and only "Api" is supported. Define the API in the same stack.`,
  ],
  [
    add('Mapping', 'AWS::ApiGatewayV2::ApiMapping', { ApiId: 'abc123' }),
    'Mapping (AWS::ApiGatewayV2::ApiMapping) cannot be served here: its ApiId is "abc123", and only "Api" is supported. Define the API in the same stack.',
  ],
  [
    remove('Stage'),
    'The template has no AWS::ApiGatewayV2::Stage. Add the stage $default (in CDK: createDefaultStage).',
  ],
  [
    add('Stage2', 'AWS::ApiGatewayV2::Stage', { ApiId: { Ref: 'Api' }, StageName: 'v1' }),
    'Stage2 (AWS::ApiGatewayV2::Stage) cannot be served here: the template has a second stage, Stage. Leave one of them out of the template.',
  ],
  [
    set('Stage', { StageName: 'v1' }),
    `${inStage} its StageName is "v1", and only "$default" is supported. Use the stage $default (in CDK: createDefaultStage).`,
  ],
  [
    set('Stage', { AutoDeploy: undefined }),
    `${inStage} it has no AutoDeploy, and only true is supported. Set it to true (in CDK: autoDeploy).`,
  ],
  ...['FETCH /orders', 'GET orders', 'GET /{id}x', 'GET /{path+}/x', 'GET /a//b', '$connect'].map(
    (routeKey): Row => [
      set('GetOrder', { RouteKey: routeKey }),
      `${inRoute} its RouteKey "${routeKey}" is not supported. Write it as $default, or as METHOD /path, with parameters as whole segments: {name}, or {name+} at the end.`,
    ],
  ),
  [
    set('GetOrder', { Target: 'integrations/elsewhere' }),
    `${inRoute} its Target integrations/elsewhere is not an integration of the template. Define that integration in the same stack.`,
  ],
  ...['JWT', 'AWS_IAM'].map(
    (type): Row => [
      set('GetOrder', { AuthorizationType: type }),
      `${inRoute} its AuthorizationType is "${type}", and only "CUSTOM" is supported. Use a Lambda authorizer, or NONE.`,
    ],
  ),
  [
    set('GetOrder', { AuthorizerId: 'elsewhere' }),
    `${inRoute} its AuthorizerId is not an authorizer of the template. Define that authorizer in the same stack.`,
  ],
  [
    set('ShopIntegration', { IntegrationType: 'HTTP_PROXY' }),
    `${inIntegration} its IntegrationType is "HTTP_PROXY", and only "AWS_PROXY" is supported. Integrate a Lambda function (in CDK: HttpLambdaIntegration).`,
  ],
  [
    set('ShopIntegration', { ConnectionType: 'VPC_LINK' }),
    `${inIntegration} its ConnectionType is "VPC_LINK", and only "INTERNET" is supported. Leave that property out of the template.`,
  ],
  [
    set('ShopIntegration', { PayloadFormatVersion: '1.0' }),
    `${inIntegration} its PayloadFormatVersion is "1.0", and only "2.0" is supported. Set it to 2.0, so that the function gets events in payload format 2.0.`,
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
    `${inAuthorizer} its AuthorizerPayloadFormatVersion is "1.0", and only "2.0" is supported. Set it to 2.0, so that the authorizer gets events in payload format 2.0.`,
  ],
  [
    set('GuardAuthorizer', { EnableSimpleResponses: false }),
    `${inAuthorizer} its EnableSimpleResponses is false, and only true is supported. Set it to true (in CDK: responseTypes), and return isAuthorized instead of a policy.`,
  ],
  [
    set('GuardAuthorizer', { AuthorizerResultTtlInSeconds: 300 }),
    `${inAuthorizer} its AuthorizerResultTtlInSeconds is 300, and only 0 is supported. Set it to 0 (in CDK: resultsCacheTtl).`,
  ],
  ...[49, 30_001, 60_000].map(
    (value): Row => [
      set('ShopIntegration', { TimeoutInMillis: value }),
      `${inIntegration} its TimeoutInMillis ${value} is not supported. Set it to a whole number from 50 to 30000.`,
    ],
  ),
  [
    set('Api', { CorsConfiguration: { AllowCredentials: true, AllowOrigins: ['https://shop.example', '*'] } }),
    `${inApi} its CorsConfiguration allows credentials and every origin (*). Name the origins in AllowOrigins, or leave AllowCredentials out.`,
  ],
  [
    set('Api', { CorsConfiguration: { AllowCredentials: 'yes' } }),
    `${inApi} its CorsConfiguration.AllowCredentials "yes" is not supported. Set it to true or false.`,
  ],
  ...['soon', -2, 86_401].map(
    (value): Row => [
      set('Api', { CorsConfiguration: { MaxAge: value } }),
      `${inApi} its CorsConfiguration.MaxAge ${JSON.stringify(value)} is not supported. Set it to a whole number from -1 to 86400.`,
    ],
  ),
  [
    set('Api', { CorsConfiguration: { AllowOrigins: [{ a: 'b' }] } }),
    `${inApi} its CorsConfiguration.AllowOrigins is not a list of strings. Set it to a list of strings.`,
  ],
  [
    set('Stage', { DefaultRouteSettings: { ThrottlingBurstLimit: 'many' } }),
    `${inStage} its DefaultRouteSettings.ThrottlingBurstLimit "many" is not supported. Set it to a whole number of at least 0.`,
  ],
  [
    set('Stage', { DefaultRouteSettings: { ThrottlingRateLimit: -0.5 } }),
    `${inStage} its DefaultRouteSettings.ThrottlingRateLimit -0.5 is not supported. Set it to a number of at least 0.`,
  ],
  [
    set('GuardAuthorizer', { IdentitySource: ['$request.header.a', '$context.identity.sourceIp'] }),
    `${inAuthorizer} its IdentitySource $context.identity.sourceIp is not supported. Use $request.header.NAME or $request.querystring.NAME.`,
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
    `${inPolicy} its PolicyDocument.Statement.0.Effect is neither Allow nor Deny. Set it to one of them.`,
  ],
  [
    statement({ Action: '*', Resource: { 'Fn::GetAtt': ['Logs', 'Arn'] } }),
    `${inPolicy} PolicyDocument.Statement.0.Resource refers to Arn of Logs (AWS::Logs::LogGroup), which is unknown here. ${literal}`,
  ],
  [
    statement({ Action: 'dynamodb:GetItem', Resource: 'arn:aws:dynamodb:*:*:table/${aws:username}' }),
    `${inPolicy} its PolicyDocument.Statement.0.Resource has a policy variable, \${aws:username}. Write the resource without policy variables.`,
  ],
  [
    statement({ Action: '*:*', NotResource: 'a' }),
    `${inPolicy} its PolicyDocument.Statement.0.NotResource is not supported. ${leaveOutProperty}`,
  ],
  ...[
    undefined,
    { Statement: [{ Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'ec2.amazonaws.com' } }] },
    { Statement: [{ Effect: 'Deny', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } }] },
    { Statement: { Effect: 'Allow', Action: 'sts:TagSession', Principal: { Service: 'lambda.amazonaws.com' } } },
  ].map(
    (document): Row => [
      set('ShopRole', { AssumeRolePolicyDocument: document }),
      `${inRole} its AssumeRolePolicyDocument does not let Lambda assume the role. Allow sts:AssumeRole to the service lambda.amazonaws.com.`,
    ],
  ),
  [
    set('ShopRole', { ManagedPolicyArns: ['arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess'] }),
    `${inRole} its managed policy arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess is unknown here. Copy its statements into a policy in the same stack.`,
  ],
  [
    set('ShopRole', { PermissionsBoundary: 'arn' }),
    `${inRole} its PermissionsBoundary is not supported. ${leaveOutProperty}`,
  ],
  [
    set('Shop', { Role: `arn:aws:iam::${account.id}:role/theirs` }),
    `${inShop} its Role arn:aws:iam::${account.id}:role/theirs is not in the template. Define that role in the same stack.`,
  ],
];

const route = (RouteKey: string) => ({ ApiId: { Ref: 'Api' }, RouteKey, Target: 'integrations/ShopIntegration' });

const duplicates: Row[] = [
  ...['GET /orders/{id}', 'GET /orders/{number}'].map(
    (routeKey): Row => [
      add('Second', 'AWS::ApiGatewayV2::Route', route(routeKey)),
      'Second (AWS::ApiGatewayV2::Route) cannot be served here: GetOrder has the same route, GET /orders/{}. Leave one of them out of the template.',
    ],
  ),
  [
    set('Shop', { FunctionName: 'the-guard' }),
    'Guard (AWS::Lambda::Function) cannot be served here: Shop has the same name, the-guard. Rename one of them.',
  ],
  [
    add('Second', 'AWS::Lambda::Alias', { FunctionName: 'Shop', FunctionVersion: '1', Name: 'live' }),
    `Second (AWS::Lambda::Alias) cannot be served here: ShopLive has the same ARN, ${live}. Rename one of them.`,
  ],
  [
    set('Orders', { TableName: 'items' }),
    'Items (AWS::DynamoDB::GlobalTable) cannot be served here: Orders has the same name, items. Rename one of them.',
  ],
];

const tables: Row[] = ['T1', 'a/b', 'x'.repeat(256)].map((name) => [
  set('Orders', { TableName: name }),
  `Orders (AWS::DynamoDB::Table) cannot be served here: its TableName "${name}" is not valid. Use 3 to 255 letters, digits, _, - and dots.`,
]);

describe('readTemplate refuses', () => {
  test.each(
    [types, properties, references, functions, api, roles, duplicates, tables]
      .flat()
      .map(([change, message]) => [message, change] as const),
  )('a template that cannot be served, with the message: %s', (message, change) => {
    expect(messageOf(ordersTemplate(change))).toBe(message);
  });

  test('several unknown types and properties at once, in a message with a line for each', () => {
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

  test('a template with a `Transform`, which only CloudFormation can apply', () => {
    const template = { ...ordersTemplate(), Transform: 'AWS::Serverless-2016-10-31' };
    expect(messageOf(template)).toBe(
      'The template has the Transform "AWS::Serverless-2016-10-31", which only CloudFormation can apply. Serve the transformed template.',
    );
  });
});
