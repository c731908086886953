/** Tests what readTemplate refuses. The cases about types and properties come from the lists in template/. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of Fn::Sub
import { describe, expect, test } from 'vitest';
import { functionArn } from '../served-stack.ts';
import {
  invokeInstead,
  invokers,
  leaveOutAdvice,
  onlyFromApi,
  refusedTypes,
  unknownType,
} from '../template/other-types.ts';
import { readTemplate, type Template } from '../template/read-template.ts';
import { served } from '../template/resource-types.ts';
import { type ChangedResource, ordersTemplate } from './kit/orders-template.ts';
import { account, arnOf, resource } from './kit/template-parts.ts';

type Change = (resources: Record<string, ChangedResource>) => void;

const messageOf = (template: Template): string => {
  try {
    return `served: ${JSON.stringify(readTemplate(template, '/assets', { account }))}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const set =
  (logicalId: string, properties: object): Change =>
  (resources) =>
    Object.assign(resources[logicalId]?.Properties ?? {}, properties);

const add =
  (logicalId: string, Type: string, Properties: Record<string, unknown> = {}): Change =>
  (resources) => {
    resources[logicalId] = resource(Type, Properties);
  };

const remove =
  (logicalId: string): Change =>
  (resources) => {
    delete resources[logicalId];
  };

const messageAfter = (...changes: Change[]): string =>
  messageOf(ordersTemplate((resources) => changes.forEach((change) => void change(resources))));

describe('readTemplate refuses a resource of the type', () => {
  test.each([
    ...Object.entries(refusedTypes),
    ['AWS::SQS::Queue', unknownType],
    // Types are looked up in records, which also inherit this name.
    ['toString', unknownType],
  ] as const)('%s', (type, [reason, advice]) => {
    expect(messageAfter(add('Added', type))).toBe(
      `Added (${type}) cannot be served here: ${[`${reason}.`, advice].filter(Boolean).join(' ')}\n${leaveOutAdvice}`,
    );
  });

  const references = [arnOf('Shop'), { 'Fn::GetAtt': 'Shop.Arn' }, { 'Fn::Sub': '${Shop.Arn}' }];
  test.each(
    Object.entries(invokers).flatMap(([type, property]) => references.map((each) => [type, property, each] as const)),
  )('%s if its %s would invoke a function of the template: %j', (type, property, reference) => {
    expect(messageAfter(add('Added', type, { [property]: [{ Nested: reference }] }))).toBe(
      `Added (${type}) cannot be served here: it would invoke Shop (AWS::Lambda::Function), and ${onlyFromApi}. ${invokeInstead}\n${leaveOutAdvice}`,
    );
  });
});

type Listed = { read: string; refused?: Record<string, string> };

test.each(
  Object.entries<Listed>(served).flatMap(([type, { refused }]) =>
    Object.entries<string | undefined>({ ...refused, Unlisted: undefined, constructor: undefined }).map(
      ([name, reason]) => [type, name, reason] as const,
    ),
  ),
)('readTemplate refuses, in a resource of the type %s, the property %s: %s', (type, name, reason) => {
  expect(messageAfter(add('Added', type, { [name]: {} }))).toBe(
    `Added (${type}) cannot be served here: its ${name} is not supported${reason === undefined ? '' : `: ${reason}`}.\n${leaveOutAdvice}`,
  );
});

/** Which resource is refused after which change (or with which properties), and why. */
type Row = [logicalId: string, change: Change | object, reason: string];

const attributes: Row[] = [
  ['Orders', ({ Orders }) => Object.assign(Orders ?? {}, { DependOn: 'Items' }), 'its attribute DependOn is unknown'],
  ...['Unclear', 'Malformed', 'Unknown'].map(
    (Condition): Row => ['Orders', ({ Orders }) => Object.assign(Orders ?? {}, { Condition }), 'its Condition '],
  ),
];

/** A property that must have another value. Its name and its value are in the message. */
const fixed: Row[] = (
  [
    ['Shop', 'PackageType', 'Image'],
    ['Api', 'ProtocolType', 'WEBSOCKET'],
    ['GetOrder', 'ApiId', 'abc123'],
    ['GetOrder', 'AuthorizationType', 'AWS_IAM'],
    ['GetOrder', 'AuthorizationType', 'JWT'],
    ['Stage', 'AutoDeploy', false],
    ['ShopIntegration', 'IntegrationType', 'HTTP_PROXY'],
    ['ShopIntegration', 'ConnectionType', 'VPC_LINK'],
    ['ShopIntegration', 'PayloadFormatVersion', '1.0'],
    ['GuardAuthorizer', 'AuthorizerType', 'AWS_IAM'],
    ['GuardAuthorizer', 'AuthorizerPayloadFormatVersion', '3.0'],
    ['GuardAuthorizer', 'EnableSimpleResponses', 'yes'],
  ] as const
).map(([id, name, value]) => [id, { [name]: value }, `its ${name} is ${JSON.stringify(value)}, and only `]);

/** Values that are malformed or out of range, by the path of a property. */
const unsupported: Row[] = (
  [
    ['Shop', 'Timeout', 'soon', 0, 901, 1.5],
    ['Shop', 'MemorySize', 127],
    ['Shop', 'ReservedConcurrentExecutions', 0],
    ['ShopIntegration', 'TimeoutInMillis', 49],
    ['GuardAuthorizer', 'AuthorizerResultTtlInSeconds', 3_601, -1],
    ['Api', 'CorsConfiguration.AllowCredentials', 'yes'],
    ['Api', 'CorsConfiguration.MaxAge', -2],
    ['GetOrder', 'RouteKey', 'FETCH /orders', 'GET orders', 'GET /{id}x', 'GET /{path+}/x', 'GET /a//b', '$connect'],
  ] as const
).flatMap(([id, path, ...invalid]) =>
  invalid.map((value): Row => {
    const properties = path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;
    return [id, properties, `its ${path} ${JSON.stringify(value)} is not supported`];
  }),
);

const nested: Row[] = [
  ['Items', { Replicas: [{ ResourcePolicy: {} }] }, 'its Replicas.0.ResourcePolicy is not supported'],
  ['Orders', { GlobalSecondaryIndexes: [7] }, 'its GlobalSecondaryIndexes.0 is not an object'],
  ['Orders', { KeySchema: 'id' }, 'its KeySchema is not a list'],
];

const variable = (value: unknown, name = 'NAME') => ({ Environment: { Variables: { [name]: value } } });

const values = (
  [
    [{ Ref: 'Alarms' }, 'refers to Alarms (AWS::SNS::Topic), which is unknown here. Set the variable with the option'],
    [{ 'Fn::Sub': '${Pool.Arn}' }, 'refers to Arn of Pool (AWS::Cognito::UserPool), which is'],
    [{ 'Fn::GetAtt': ['Orders', 'StreamArn'] }, 'refers to StreamArn of Orders (AWS::DynamoDB::Table), which is'],
    [{ Ref: 'Api' }, 'refers to Api (AWS::ApiGatewayV2::Api), which is unknown here'],
    [{ Ref: 'AWS::StackId' }, 'refers to AWS::StackId, which is unknown here'],
    [{ Ref: 'constructor' }, 'refers to constructor, which is unknown here'],
    [{ Ref: 'NoDefault' }, 'refers to the parameter NoDefault, which has no default value'],
    [{ Ref: 'FromSsm' }, 'refers to the parameter FromSsm, which has no default value'],
    [{ 'Fn::ImportValue': 'a' }, 'imports a, which no stack of the same folder exports'],
    [{ 'Fn::Base64': 'a' }, 'uses Fn::Base64'],
    [{ 'Fn::Join': [':', ['{{resolve', 'ssm', 'key}}']] }, 'has a dynamic reference ({{resolve:...}})'],
    [{ Ref: ['a'] }, 'has a malformed Ref.'],
    [{ 'Fn::GetAtt': [['a']] }, 'has a malformed Fn::GetAtt'],
    [{ 'Fn::Join': ['', 'text'] }, 'has a malformed Fn::Join'],
    [{ 'Fn::Select': [3, ['a']] }, 'has a malformed Fn::Select'],
    [{ 'Fn::Split': ['-', ['a']] }, 'has a malformed Fn::Split'],
    [{ 'Fn::Sub': [['a']] }, 'has a malformed Fn::Sub'],
    [{ 'Fn::FindInMap': ['Sizes', 'small', 'height'] }, 'has a malformed Fn::FindInMap'],
  ] as const
).map(([value, reason]): Row => ['Shop', variable(value), `its Environment.Variables.NAME ${reason}`]);

const functions: Row[] = [
  ['Shop', variable(['a']), 'its Environment.Variables.NAME is not a string'],
  ['Shop', variable('mine', 'AWS_SESSION_TOKEN'), 'its Environment.Variables.AWS_SESSION_TOKEN is reserved by Lambda'],
  ['Shop', variable('a', 'AWS_ENDPOINT_URL_DYNAMODB'), 'its Environment.Variables.AWS_ENDPOINT_URL_DYNAMODB must'],
  ['Shop', { Runtime: 'python3.13' }, 'its Runtime "python3.13" is not supported'],
  ['Shop', { Code: { S3Key: 'theirs.zip' } }, 'its Code is not a CDK asset'],
  ['Shop', { Code: { S3Bucket: { Ref: 'NoDefault' }, S3Key: { Ref: 'NoDefault' } } }, 'its Code.S3Key refers to the'],
  [
    'Shop',
    { Layers: ['arn:of:another'] },
    'its layer arn:of:another is not supported: its files are not on this machine',
  ],
  ['ShopLayer', { Content: {} }, 'its Content is not a CDK asset'],
  ['Shop', { LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'X' } }, 'its LoggingConfig.ApplicationLogLevel'],
  ['Shop', { Handler: undefined }, 'it has no Handler'],
  ['Shop', { Handler: {} }, 'its Handler is not a string'],
  ['ShopLive', { FunctionName: 'elsewhere' }, 'the template has no function elsewhere'],
  ['ShopLive', { FunctionVersion: '7' }, 'the template has no version 7 of Shop'],
  ['ShopLive', { FunctionName: 'the-guard' }, 'the template has no version 1 of the-guard'],
];

const noPermission = `API Gateway has no permission to invoke ${functionArn(account, 'Shop')}:live`;
const credentialsForAll = { AllowCredentials: true, AllowOrigins: ['https://shop.example', '*'] };

const literal = 'https://issuer.example';
const pool = { Ref: 'Pool' };
const unknownPool = 'refers to Pool (AWS::Cognito::UserPool), which is unknown here';
const jwtOf = (Issuer: unknown, ...Audience: unknown[]) => ({ JwtConfiguration: { Audience, Issuer } });

const api: Row[] = [
  ['Api2', add('Api2', 'AWS::ApiGatewayV2::Api', { ProtocolType: 'HTTP' }), 'only Api is served'],
  ['Stage', { AutoDeploy: undefined }, 'it has no AutoDeploy, and only true is supported'],
  ['GetOrder', { Target: 'elsewhere' }, 'its Target elsewhere is not an integration of the template'],
  ['GetOrder', { AuthorizerId: 'elsewhere' }, 'its AuthorizerId is not an authorizer of the template'],
  ['ShopIntegration', { IntegrationUri: 'elsewhere' }, 'the template has no function, version or alias elsewhere'],
  ['ShopIntegration', remove('ShopPermission'), noPermission],
  ['ShopIntegration', set('ShopPermission', { FunctionName: { Ref: 'Shop' } }), noPermission],
  ['ShopIntegration', set('ShopPermission', { Principal: 'events.amazonaws.com' }), noPermission],
  ['ShopIntegration', set('ShopPermission', { Action: 'lambda:GetFunction' }), noPermission],
  ['GuardAuthorizer', { AuthorizerResultTtlInSeconds: undefined }, 'its AuthorizerResultTtlInSeconds undefined is'],
  ['GuardAuthorizer', { AuthorizerPayloadFormatVersion: '1.0' }, 'its EnableSimpleResponses needs '],
  [
    'GuardAuthorizer',
    { AuthorizerResultTtlInSeconds: 1, IdentitySource: [] },
    'its AuthorizerResultTtlInSeconds needs an IdentitySource',
  ],
  ...(
    [
      [{ JwtConfiguration: undefined }, 'its JwtConfiguration is not an object'],
      [jwtOf(pool), `its JwtConfiguration.Issuer ${unknownPool}: pass \`jwt: `],
      [jwtOf(literal, pool), `its JwtConfiguration.Audience ${unknownPool}: pass \`jwt: `],
      [jwtOf('http://127.0.0.1'), 'its JwtConfiguration.Issuer "http://127.0.0.1" is not known here: pass `jwt: '],
      [{ ...jwtOf(literal), IdentitySource: [] }, 'it needs exactly one IdentitySource'],
      [
        { ...jwtOf(literal), IdentitySource: ['$request.header.A', '$request.header.B'] },
        'it needs exactly one IdentitySource',
      ],
      [{ ...jwtOf(literal), IdentitySource: ['$context.routeKey'] }, 'it needs exactly one IdentitySource'],
    ] as const
  ).map(([properties, reason]): Row => {
    const jwt = { AuthorizerType: 'JWT', IdentitySource: ['$request.header.Authorization'], ...properties };
    return ['GuardAuthorizer', jwt, reason];
  }),
  ['GuardAuthorizer', { IdentitySource: ['$context.a'] }, 'its IdentitySource "$context.a" is not supported'],
  ['Api', { CorsConfiguration: credentialsForAll }, 'its CorsConfiguration allows credentials and every origin (*)'],
  ['Api', { CorsConfiguration: { AllowOrigins: [7] } }, 'its CorsConfiguration.AllowOrigins is not a list of strings'],
];

const statement = (fields: object) => ({
  PolicyDocument: { Statement: [{ Effect: 'Allow', Action: '*', Resource: '*', ...fields }] },
});
const inStatement = 'PolicyDocument.Statement.0';
const lambda = 'lambda.amazonaws.com';
const trusted = (Effect: string, Action = 'sts:AssumeRole', Principal: unknown = { Service: lambda }) => ({
  Effect,
  Action,
  Principal,
});
const onlyIf = { Condition: { StringEquals: { 'aws:SourceAccount': '123456789012' } } };
const trust = (...Statement: object[]) => ({ AssumeRolePolicyDocument: { Statement } });

const roles: Row[] = [
  ['ShopPolicy', statement({ Condition: {} }), `its ${inStatement}.Condition is not supported`],
  ['ShopPolicy', statement({ Action: undefined, NotAction: 's3:*' }), `its ${inStatement}.NotAction is not supported`],
  ['ShopPolicy', statement({ Effect: 'Perhaps' }), `its ${inStatement}.Effect is neither Allow nor Deny`],
  ['ShopPolicy', statement({ Resource: { Ref: 'Logs' } }), `its ${inStatement}.Resource refers to Logs`],
  ['ShopPolicy', statement({ Resource: '${aws:a}' }), `its ${inStatement}.Resource has a policy variable, \${aws:a}`],
  ...[
    { AssumeRolePolicyDocument: undefined },
    trust(trusted('Allow', 'sts:AssumeRole', { Service: 'ec2.amazonaws.com' })),
    trust(trusted('Deny')),
    trust(trusted('Allow'), trusted('Deny')),
    trust(trusted('Allow'), trusted('Deny', 'sts:*', '*')),
    trust(trusted('Allow', 'sts:TagSession')),
  ].map((change): Row => ['ShopRole', change, 'its AssumeRolePolicyDocument does not let Lambda assume the role']),
  ...[trust({ ...trusted('Allow'), ...onlyIf }), trust(trusted('Allow'), { ...trusted('Deny'), ...onlyIf })].map(
    (change): Row => ['ShopRole', change, 'a Condition in its AssumeRolePolicyDocument decides whether Lambda may'],
  ),
  ...['NotAction', 'NotPrincipal'].map((field): Row => {
    const change = trust(trusted('Allow'), { Effect: 'Deny', [field]: {} });
    return ['ShopRole', change, `its AssumeRolePolicyDocument.Statement.1.${field} is not supported`];
  }),
  ['Shop', { VpcConfig: {} }, 'its VpcConfig is not supported: this machine is not in that network'],
];

const secondAlias = { FunctionName: 'Shop', FunctionVersion: '1', Name: 'live' };
const secondRoute = { ApiId: 'Api', RouteKey: 'GET /orders/{number}', Target: 'integrations/ShopIntegration' };

test.each<[logicalId: string, properties: object, message: string]>([
  [
    'GetOrder',
    { AuthorizationType: 'AWS_IAM' },
    'its AuthorizationType is "AWS_IAM", and only "CUSTOM" or "JWT" is supported.',
  ],
  [
    'ShopIntegration',
    { PayloadFormatVersion: '1.0' },
    'its PayloadFormatVersion is "1.0", and only "2.0" is supported.',
  ],
  ['ShopIntegration', { IntegrationUri: 'elsewhere' }, 'the template has no function, version or alias elsewhere.'],
  [
    'Api',
    { CorsConfiguration: { AllowOrigins: [{ Ref: 'Alarms' }] } },
    'its CorsConfiguration.AllowOrigins refers to Alarms (AWS::SNS::Topic), which is unknown here.',
  ],
])(
  'readTemplate does not tell people to change an app that is right for AWS: %s with %j',
  (logicalId, properties, message) => {
    const [line] = messageAfter(set(logicalId, properties)).split('\n');
    expect(line?.endsWith(message), line).toBe(true);
  },
);

const names: Row[] = [
  ['Second', add('Second', 'AWS::ApiGatewayV2::Route', secondRoute), 'GetOrder has the same route, GET /orders/{}'],
  ['Guard', set('Shop', { FunctionName: 'the-guard' }), 'Shop has the same function name, the-guard'],
  ['Second', add('Second', 'AWS::Lambda::Alias', secondAlias), 'ShopLive has the same ARN, arn:aws:lambda:'],
  ['Items', set('Orders', { TableName: 'items' }), 'Orders has the same table name, items'],
  ...['T1', 'a/b', 'x'.repeat(256)].map(
    (TableName): Row => ['Orders', { TableName }, `its TableName "${TableName}" is not supported`],
  ),
];

test.each([attributes, fixed, unsupported, nested, values, functions, api, roles, names].flat())(
  'readTemplate refuses %s with %j: %s',
  (logicalId, change, reason) => {
    const changed = ordersTemplate(typeof change === 'function' ? (change as Change) : set(logicalId, change));
    const type = changed.Resources[logicalId]?.Type;
    const lines = messageOf(changed).split('\n');
    expect(lines[0]).toContain(`${logicalId} (${type}) cannot be served here: ${reason}`);
    // A line for each refusal, but none for what merely needs what is refused.
    expect(lines.slice(1).filter((line) => line.includes('(') && !line.startsWith('The template'))).toEqual([]);
  },
);

test.each<[what: string, template: Template, message: string]>([
  ['no API', { Resources: {} }, 'The template has no AWS::ApiGatewayV2::Api that can be served.'],
  ['no stage', ordersTemplate(remove('Stage')), 'The template has no AWS::ApiGatewayV2::Stage that can be served.'],
  ['a Transform', { ...ordersTemplate(), Transform: 'Serverless' }, 'The template has the Transform "Serverless"'],
])('readTemplate refuses a template with %s', (_, template, message) => {
  expect(messageOf(template)).toContain(message);
});

test('readTemplate names several unknown types and properties at once, a line each, and then the option leaveOut', () => {
  const message = messageAfter(
    add('Queue', 'AWS::SQS::Queue'),
    set('Shop', { FileSystemConfigs: [], ImageConfig: {} }),
  );
  expect(message.split('\n').map((line) => line.split(' (')[0])).toEqual(['Shop', 'Shop', 'Queue', leaveOutAdvice]);
});
