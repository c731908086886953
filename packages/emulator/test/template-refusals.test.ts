/**
 * Tests what readTemplate refuses and, with the option `leaveOut`, leaves out. The cases about types and properties come
 * from the lists in template/.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of Fn::Sub
import { describe, expect, test } from 'vitest';
import { functionArn } from '../served-stack.ts';
import { leaveOutAdvice, onlyFromApi, refusedTypes, unknownType } from '../template/other-types.ts';
import { readTemplate, type Template } from '../template/read-template.ts';
import { served } from '../template/resource-types.ts';
import {
  account,
  arnOf,
  assetHash,
  type Changes,
  jwtAuthorizer,
  key,
  lambda,
  ordersTemplate,
  policy,
  resource,
  role,
} from './kit/templates.ts';

const messageOf = (template: Template): string => {
  try {
    return `served: ${JSON.stringify(readTemplate(template, '/assets', { account }))}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const messageAfter = (changes: Changes): string => messageOf(ordersTemplate(changes));

const leavingOut = (changes: Changes = {}) =>
  readTemplate(ordersTemplate(changes), '/assets', { leaveOut: true, account });

describe('readTemplate refuses a resource of the type', () => {
  test.each([
    ...Object.entries(refusedTypes),
    ['AWS::SQS::Queue', unknownType],
    // Types are looked up in records, which also inherit this name.
    ['toString', unknownType],
  ] as const)('%s', (type, [reason, advice]) => {
    expect(messageAfter({ Added: resource(type) })).toBe(
      `Added (${type}) cannot be served here: ${[`${reason}.`, advice].filter(Boolean).join(' ')}\n${leaveOutAdvice}`,
    );
  });
});

test.each(Object.keys(served).flatMap((type) => ['Unlisted', 'constructor'].map((name) => [type, name])))(
  'readTemplate refuses, in a resource of the type %s, the property %s',
  (type = '', name = '') => {
    expect(messageAfter({ Added: resource(type, { [name]: {} }) })).toBe(
      `Added (${type}) cannot be served here: its ${name} is not supported.\n${leaveOutAdvice}`,
    );
  },
);

/** Which properties of which resource are refused, and why. A reason that ends with a line break has no advice. */
type Row = [logicalId: string, properties: object, reason: string];

/** A property that must have another value. Its name and its value are in the message. */
const fixed: Row[] = (
  [
    ['Shop', 'PackageType', 'Image', '"Zip"'],
    ['Api', 'ProtocolType', 'WEBSOCKET', '"HTTP"'],
    ['GetOrder', 'ApiId', 'abc123', '"Api"'],
    ['GetOrder', 'AuthorizationType', 'AWS_IAM', '"CUSTOM" or "JWT"'],
    ['GetOrder', 'AuthorizationType', 'JWT', '"CUSTOM"'],
    ['Stage', 'AutoDeploy', false, 'true'],
    ['ShopIntegration', 'IntegrationType', 'HTTP_PROXY', '"AWS_PROXY"'],
    ['ShopIntegration', 'ConnectionType', 'VPC_LINK', '"INTERNET"'],
    ['ShopIntegration', 'PayloadFormatVersion', '1.0', '"2.0"'],
    ['GuardAuthorizer', 'AuthorizerType', 'AWS_IAM', '"REQUEST" or "JWT"'],
    ['GuardAuthorizer', 'AuthorizerPayloadFormatVersion', '3.0', '"2.0" or "1.0"'],
    ['GuardAuthorizer', 'EnableSimpleResponses', 'yes', 'true or false'],
  ] as const
).map(([id, name, value, only]) => [
  id,
  { [name]: value },
  `its ${name} is ${JSON.stringify(value)}, and only ${only} is supported.\n`,
]);

/** Values that are malformed or out of range, by the path of a property. */
const unsupported: Row[] = (
  [
    ['Shop', 'Timeout', 'soon', 0, 901, 1.5],
    ['Shop', 'MemorySize', 127],
    ['Shop', 'ReservedConcurrentExecutions', 0],
    ['ShopIntegration', 'TimeoutInMillis', 49],
    ['GuardAuthorizer', 'AuthorizerResultTtlInSeconds', 3_601, -1, undefined],
    ['GuardAuthorizer', 'IdentitySource', '$context.a'],
    ['Orders', 'TableName', 'T1', 'a/b', 'x'.repeat(256)],
    ['Shop', 'FunctionName', '../../x', 'a b', 'a\nb', 'x'.repeat(65)],
    ['ShopLive', 'Name', '../x', '7'],
    ['ShopRole', 'RoleName', 'a/b'],
    ['Stage', 'StageName', '../dev', '$other'],
    ['Api', 'CorsConfiguration.AllowCredentials', 'yes'],
    ['Api', 'CorsConfiguration.MaxAge', -2],
    ['GetOrder', 'RouteKey', 'FETCH /orders', 'GET orders', 'GET /{id}x', 'GET /{path+}/x', 'GET /a//b', '$connect'],
  ] as const
).flatMap(([id, path, ...invalid]) =>
  invalid.map((value): Row => {
    const inList = path === 'IdentitySource' ? [value] : value;
    const properties = path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), inList) as object;
    return [id, properties, `its ${path} ${JSON.stringify(value)} is not supported`];
  }),
);

const variable = (value: unknown, name = 'NAME') => ({ Environment: { Variables: { [name]: value } } });

const functions: Row[] = [
  ['Shop', variable('a', 'A=B'), 'its Environment.Variables.A=B has a name that AWS refuses'],
  ['Shop', { Environment: { Variables: { Ref: 'AWS::NoValue' } } }, 'its Environment.Variables is not an object'],
  ['Shop', { FunctionName: { Ref: 'Shop' } }, 'its FunctionName depends on itself, or on too much, by Shop.'],
  ['Orders', { TableName: { Ref: 'Orders' } }, 'its TableName depends on itself, or on too much, by Orders.\n'],
  ['Shop', variable(['a']), 'its Environment.Variables.NAME is not a string'],
  ['Shop', variable('mine', 'AWS_SESSION_TOKEN'), 'its Environment.Variables.AWS_SESSION_TOKEN is reserved by Lambda'],
  ['Shop', variable('a', 'AWS_ENDPOINT_URL_DYNAMODB'), 'its Environment.Variables.AWS_ENDPOINT_URL_DYNAMODB must'],
  ...[{ a: 1 }, null].map((ZipFile): Row => ['Shop', { Code: { ZipFile } }, 'its Code.ZipFile is not a string']),
  ['Shop', { Code: { S3Key: 'theirs.zip' } }, 'its Code is not a CDK asset'],
  ['Shop', { Code: { S3Bucket: { Ref: 'NoDefault' }, S3Key: { Ref: 'NoDefault' } } }, 'its Code.S3Key refers to the'],
  ['Shop', { LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'X' } }, 'its LoggingConfig.ApplicationLogLevel'],
  ['Shop', { Handler: undefined }, 'it has no Handler'],
  ['Shop', { Handler: {} }, 'its Handler is not a string'],
  ['ShopLive', { FunctionName: 'elsewhere' }, 'the template has no function elsewhere'],
  ['ShopLive', { FunctionVersion: '7' }, 'the template has no version 7 of Shop'],
  ['ShopLive', { FunctionName: 'the-guard' }, 'the template has no version 1 of the-guard'],
];

const literal = 'https://issuer.example';
const sources = (...IdentitySource: string[]) => ({ ...jwtAuthorizer(literal, []).Properties, IdentitySource });
const jwtConfiguration = 'its JwtConfiguration';
const unknownPool = 'refers to Pool (AWS::Cognito::UserPool), which is unknown here: pass `jwt: ';
const cors = (configuration: object) => ({ CorsConfiguration: configuration });

const api: Row[] = [
  ['Stage', { AutoDeploy: undefined }, 'it has no AutoDeploy, and only true is supported'],
  ['GetOrder', { Target: 'elsewhere' }, 'its Target elsewhere is not an integration of the template'],
  ['GetOrder', { AuthorizerId: 'elsewhere' }, 'its AuthorizerId is not an authorizer of the template'],
  ['ShopIntegration', { IntegrationUri: 'a' }, 'the template has no function, version or alias a.\n'],
  ['GuardAuthorizer', { AuthorizerPayloadFormatVersion: '1.0' }, 'its EnableSimpleResponses needs '],
  [
    'GuardAuthorizer',
    { AuthorizerResultTtlInSeconds: 1, IdentitySource: [] },
    'its AuthorizerResultTtlInSeconds needs an IdentitySource',
  ],
  ['GuardAuthorizer', { IdentitySource: [{ a: 1 }] }, 'its IdentitySource.0 is not a string'],
  ['GuardAuthorizer', jwtAuthorizer({ a: 1 }, []), `${jwtConfiguration}.Issuer is not a string`],
  ['GuardAuthorizer', jwtAuthorizer(literal, [{ a: 1 }]), `${jwtConfiguration}.Audience.0 is not a string`],
  ['GuardAuthorizer', { AuthorizerType: 'JWT' }, 'its JwtConfiguration is not an object'],
  ['GuardAuthorizer', jwtAuthorizer(literal, [{ Ref: 'Pool' }]), `${jwtConfiguration}.Audience ${unknownPool}`],
  [
    'GuardAuthorizer',
    jwtAuthorizer('http://a', []),
    `${jwtConfiguration}.Issuer "http://a" is not known here: pass \`jwt: `,
  ],
  ...[sources(), sources('$request.header.A', '$request.header.B'), sources('$context.routeKey')].map(
    (jwt): Row => ['GuardAuthorizer', jwt, 'it needs exactly one IdentitySource'],
  ),
  [
    'Api',
    cors({ AllowCredentials: true, AllowOrigins: ['https://shop.example', '*'] }),
    'its CorsConfiguration allows credentials and every origin (*)',
  ],
  ['Api', cors({ AllowOrigins: [7] }), 'its CorsConfiguration.AllowOrigins is not a list of strings'],
  [
    'Api',
    cors({ AllowMethods: [{ Ref: 'A' }] }),
    'its CorsConfiguration.AllowMethods refers to A, which is unknown here.\n',
  ],
  ['Items', { Replicas: [{ ResourcePolicy: {} }] }, 'its Replicas.0.ResourcePolicy is not supported'],
  ['Orders', { KeySchema: [null] }, 'its KeySchema.0 is not an object'],
  ['Orders', { GlobalSecondaryIndexes: [7] }, 'its GlobalSecondaryIndexes.0 is not an object'],
];

const statement = (fields: object) => ({
  PolicyDocument: policy({ Effect: 'Allow', Action: '*', Resource: '*', ...fields }),
});
const inStatement = 'PolicyDocument.Statement.0';
const roles: Row[] = [
  ['ShopPolicy', { PolicyDocument: { Statement: null } }, 'its PolicyDocument.Statement.0 is not an object'],
  ['ShopPolicy', { PolicyDocument: {} }, 'its PolicyDocument.Statement.0 is not an object'],
  ['ShopPolicy', statement({ Action: undefined, NotAction: 's3:*' }), `its ${inStatement}.NotAction is not supported`],
  ['ShopPolicy', statement({ Action: ['dynamodb:*', { a: 1 }] }), `its ${inStatement}.Action.1 is not a string`],
  ['ShopPolicy', statement({ Resource: [{ a: 1 }] }), `its ${inStatement}.Resource.0 is not a string`],
  ['ShopRole', { ManagedPolicyArns: [{ a: 1 }] }, 'its ManagedPolicyArns.0 is not a string'],
  ['ShopPolicy', statement({ Effect: 'Perhaps' }), `its ${inStatement}.Effect is neither Allow nor Deny`],
  ['ShopPolicy', statement({ Resource: { Ref: 'Logs' } }), `its ${inStatement}.Resource refers to Logs`],
  ['ShopPolicy', statement({ Resource: '${aws:a}' }), `its ${inStatement}.Resource has a policy variable, \${aws:a}`],
];

const alias = { FunctionName: 'Shop', FunctionVersion: '1', Name: 'live' };

/** The properties are a whole resource. */
const wholeResources: Row[] = [
  ['Second', { ...resource('AWS::DynamoDB::Table', key), DependOn: 'Items' }, 'its attribute DependOn is unknown'],
  ...['Unclear', 'Malformed', 'Unknown', 'Circular'].map(
    (Condition): Row => ['Second', { ...resource('AWS::DynamoDB::Table', key), Condition }, 'its Condition '],
  ),
  ['Second', resource('AWS::ApiGatewayV2::Api', { ProtocolType: 'HTTP' }), 'only Api is served'],
];

const noPermission = `API Gateway has no permission to invoke ${functionArn(account, 'Shop')}:live`;

/** The changes are in other resources than the one that is refused. */
const elsewhere: [logicalId: string, changes: Changes, reason: string][] = [
  ['ShopIntegration', { ShopPermission: undefined }, noPermission],
  ['ShopIntegration', { ShopPermission: { FunctionName: { Ref: 'Shop' } } }, noPermission],
  ['ShopIntegration', { ShopPermission: { Principal: 'events.amazonaws.com' } }, noPermission],
  ['ShopIntegration', { ShopPermission: { Action: 'lambda:GetFunction' } }, noPermission],
];

const expectRefusal = (logicalId: string, changes: Changes, reason: string): void => {
  const changed = ordersTemplate(changes);
  const expected = `${logicalId} (${changed.Resources[logicalId]?.Type}) cannot be served here: ${reason}`;
  const message = messageOf(changed);
  expect(message.slice(0, expected.length)).toBe(expected);
  // A line for each refusal, but none for what merely needs what is refused.
  const others = message.split('\n').slice(1);
  expect(others.filter((line) => line.includes('(') && !line.startsWith('The template'))).toEqual([]);
};

test.each([
  ...[fixed, unsupported, functions, api, roles, wholeResources]
    .flat()
    .map(([id, ...row]) => [id, { [id]: row[0] }, row[1]] as const),
  ...elsewhere,
])('readTemplate refuses %s after the changes %j: %s', expectRefusal);

/** A list in a list, and so on. */
const nested = (depth: number): unknown => (depth === 0 ? 'a' : [nested(depth - 1)]);
const chain = (length: number, of: (next: object) => object) =>
  Array.from({ length }, (_, index) => [`C${index}`, of({ Condition: `C${index + 1}` })]);

test.each<[what: string, changes: object]>([
  ['resource "Shop"', { Resources: { Shop: null } }],
  ...[{}, 5, ['AWS::SNS::Topic']].map((Type): [string, object] => [
    'resource "Shop"',
    { Resources: { Shop: { Type } } },
  ]),
  ['resource "Shop"', { Resources: { Shop: { Type: 'Custom::A\nServing at' } } }],
  ['resource "Shop"', { Resources: { Shop: { Type: 'AWS::Lambda::Function', Properties: null } } }],
  ['resource "Shop"', { Resources: { Shop: resource('AWS::Lambda::Function', { Code: nested(3_000) }) } }],
  ['resource "\\n../x"', { Resources: { '\n../x': resource('AWS::SQS::Queue') } }],
  ['section Conditions', { Conditions: { Deep: nested(3_000) } }],
  ['section Resources', { Resources: null }],
  ['section Outputs', { Outputs: { A: null } }],
  ['section Mappings', { Mappings: [] }],
  ['section Parameters', { Parameters: { Seconds: 7 } }],
])('readTemplate refuses a template whose %s is malformed, or nested too deeply', (what, changes) => {
  const template = { ...ordersTemplate(), ...changes } as Template;
  expect(messageOf(template)).toBe(`The ${what} of the template is malformed, or nested too deeply.`);
});

test.each([
  ['thousands of others', chain(9_999, (next) => next)],
  [
    'twice as many as the next one, and so on',
    chain(90, (next) => ({ 'Fn::And': [next, next] })).concat([['C90', { 'Fn::Equals': [1, 1] }]]),
  ],
])('readTemplate refuses a condition that needs %s', (_, conditions) => {
  const Conditions = { ...ordersTemplate().Conditions, ...Object.fromEntries(conditions) };
  const template = { ...ordersTemplate({ Queue: { ...resource('AWS::SQS::Queue'), Condition: 'C0' } }), Conditions };
  expect(messageOf(template)).toContain('Queue (AWS::SQS::Queue) cannot be served here: its Condition depends on');
});

test('a refusal is one line, even if a name in the template has several', () => {
  expect(messageAfter({ Shop: { 'a\nServing at': 1 } }).split('\n')).toEqual([
    'Shop (AWS::Lambda::Function) cannot be served here: its a\\nServing at is not supported.',
    leaveOutAdvice,
  ]);
});

/** The paths of all values in a value. */
const pathsIn = (value: unknown, path: string[] = []): string[][] =>
  value instanceof Object
    ? Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, [...path, key]).concat([[...path, key]]))
    : [];

test('readTemplate refuses or serves a template in which any part is null, a text or a circle', () => {
  for (const path of pathsIn(ordersTemplate())) {
    for (const value of [null, 'x', { Ref: 'Shop' }]) {
      const template = ordersTemplate();
      const parent = path.slice(0, -1).reduce<Record<string, unknown>>((inner, key) => Object(inner[key]), template);
      parent[path.at(-1) ?? ''] = value;
      try {
        readTemplate(template, '/assets', { leaveOut: true, account });
      } catch (error) {
        const isOurs = !(error instanceof TypeError) && !(error instanceof RangeError);
        expect(isOurs, `${path.join('.')} = ${JSON.stringify(value)}: ${error}`).toBe(true);
      }
    }
  }
});

test.each<[what: string, template: Template, message: string]>([
  ['no API', { Resources: {} }, 'The template has no AWS::ApiGatewayV2::Api that can be served.'],
  [
    'no stage',
    ordersTemplate({ Stage: undefined }),
    'The template has no AWS::ApiGatewayV2::Stage that can be served.',
  ],
  ['a Transform', { ...ordersTemplate(), Transform: 'Serverless' }, 'The template has the Transform "Serverless"'],
])('readTemplate refuses a template with %s', (_, template, message) => {
  expect(messageOf(template)).toContain(message);
});

test('readTemplate names several unknown types and properties at once, a line each, and then the option leaveOut', () => {
  const Shop = { FileSystemConfigs: [], ImageConfig: {} };
  const message = messageAfter({ Queue: resource('AWS::SQS::Queue'), Shop });
  expect(message.split('\n').map((line) => line.split(' (')[0])).toEqual(['Shop', 'Shop', 'Queue', leaveOutAdvice]);
});

/** A text that is 50 times as long as the next one, and so on. */
const repeated = (levels: number): unknown =>
  levels === 0 ? 'x' : { 'Fn::Sub': ['${a}'.repeat(50), { a: repeated(levels - 1) }] };

const { id, region } = account;
const arnIn = (service: string, name: string): string => `arn:aws:${service}:${region}:${id}:${name}`;

test.each<[value: unknown, reason: string, madeUp?: string]>([
  [
    { Ref: 'Alarms' },
    'refers to Alarms (AWS::SNS::Topic), which is unknown here. Set the variable with the option',
    arnIn('sns', 'Alarms'),
  ],
  [
    { 'Fn::Sub': '-${Pool.Arn}' },
    'refers to Arn of Pool (AWS::Cognito::UserPool), which is',
    `-${arnIn('cognito', 'Pool')}`,
  ],
  [
    { 'Fn::GetAtt': 'Orders.StreamArn' },
    'refers to StreamArn of Orders (AWS::DynamoDB::Table), which is',
    arnIn('dynamodb', 'Orders'),
  ],
  [{ Ref: 'Api' }, 'refers to Api (AWS::ApiGatewayV2::Api), which is unknown here', 'Api'],
  [{ Ref: 'AWS::StackId' }, 'refers to AWS::StackId, which is unknown here', 'AWS::StackId'],
  [{ Ref: 'constructor' }, 'refers to constructor, which is unknown here', 'constructor'],
  [{ Ref: 'NoDefault' }, 'refers to the parameter NoDefault, which has no default value', 'NoDefault'],
  [{ Ref: 'FromSsm' }, 'refers to the parameter FromSsm, which has no default value', 'FromSsm'],
  [{ 'Fn::Join': ['', ['-', { 'Fn::ImportValue': 'a' }]] }, 'imports a from another stack, which is not served', '-a'],
  [{ 'Fn::Base64': 'a' }, 'uses Fn::Base64', 'Fn::Base64'],
  [{ 'Fn::Join': [':', ['{{resolve', 'ssm:a}}']] }, 'has a dynamic reference ({{resolve:...}})', 'resolve:ssm:a'],
  [{ Ref: ['a'] }, 'has a malformed Ref.'],
  [{ 'Fn::GetAtt': [['a']] }, 'has a malformed Fn::GetAtt'],
  [{ 'Fn::Join': ['', 'text'] }, 'has a malformed Fn::Join'],
  [{ 'Fn::Select': [3, ['a']] }, 'has a malformed Fn::Select'],
  [{ 'Fn::Split': ['-', ['a']] }, 'has a malformed Fn::Split'],
  [{ 'Fn::Sub': [['a']] }, 'has a malformed Fn::Sub'],
  [repeated(8), 'has a Fn::Sub whose value is over 1,000,000 characters.\n'],
  [{ Ref: 'NoText' }, 'refers to the parameter NoText, whose Default is not a string'],
  [{ 'Fn::FindInMap': ['Sizes', 'small', 'height'] }, 'has a malformed Fn::FindInMap'],
])('readTemplate refuses the variable %j: it %s; with leaveOut, its value is %s', (value, reason, madeUp) => {
  const changes = { Shop: variable(value) };
  expectRefusal('Shop', changes, `its Environment.Variables.NAME ${reason}`);
  const { functions, leftOut } = leavingOut(changes);
  if (madeUp === undefined) return expect(functions.map(({ name }) => name)).toEqual(['the-guard']);
  expect(functions[0]?.environment).toEqual({ NAME: madeUp });
  expect(leftOut).toEqual([
    {
      resource: 'Environment.Variables.NAME of Shop (AWS::Lambda::Function)',
      reason: expect.stringMatching(/^it (refers to|uses|has|imports) .*, so its value is made up$/),
    },
  ]);
});

test.each<[id: string, properties: object, part: string, reason: string]>([
  ['Shop', { VpcConfig: {} }, 'VpcConfig', 'this machine is not in that network'],
  ['Shop', { Layers: ['arn:theirs', { Ref: 'Layer' }] }, 'Layers', 'bundle what the function needs'],
  ['Shop', { Role: 'arn:aws:iam::1:role/theirs' }, 'Role arn:aws:iam::1:role/theirs', 'its policies are not'],
  ['ShopRole', { ManagedPolicyArns: ['arn:theirs'] }, 'managed policy arn:theirs', 'it is unknown here'],
  ['ShopRole', { PermissionsBoundary: 'arn:theirs' }, 'PermissionsBoundary arn:theirs', 'it is unknown here'],
])('readTemplate refuses %s with %j; with leaveOut, %s has no effect: %s', (id, properties, part, reason) => {
  const changes = { [id]: properties };
  expectRefusal(id, changes, `its ${part} is not supported: ${reason}`);
  const { functions, leftOut, api } = leavingOut(changes);
  expect(functions.map(({ name }) => name)).toEqual(['Shop', 'the-guard']);
  expect(api).toEqual(leavingOut().api);
  const resource = expect.stringContaining(`${part} of ${id} (`);
  expect(leftOut).toEqual([{ resource, reason: expect.stringContaining(reason) }]);
});

describe('with leaveOut, readTemplate', () => {
  /** A function that no route invokes, and its alias. */
  const worker = (properties: object = {}, roleProperties: object = {}): Changes => ({
    Worker: lambda(assetHash('c'), 'WorkerRole', properties),
    WorkerLive: resource('AWS::Lambda::Alias', { ...alias, FunctionName: 'Worker', FunctionVersion: '$LATEST' }),
    WorkerRole: role(roleProperties),
  });

  const queueUrl = `https://sqs.${region}.amazonaws.com/${id}`;
  test.each<[type: string, properties: object, values: Record<string, string>, isKnown: boolean]>([
    ['Events::EventBus', { Name: 'news' }, { Ref: 'news', Arn: arnIn('events', 'event-bus/news') }, true],
    ['S3::Bucket', { BucketName: 'news' }, { Ref: 'news', Arn: 'arn:aws:s3:::news' }, true],
    ['S3::Bucket', { BucketName: 'news' }, { DomainName: 'news' }, false],
    ['SecretsManager::Secret', { Name: 'a' }, { Ref: arnIn('secretsmanager', 'secret:Other') }, false],
    ['SNS::Topic', { TopicName: { 'Fn::Sub': 'to-${Orders}' } }, { Ref: arnIn('sns', 'to-Orders') }, true],
    ['SQS::Queue', { QueueName: 'a.fifo' }, { QueueUrl: `${queueUrl}/a.fifo` }, true],
    ['SQS::Queue', {}, { Ref: `${queueUrl}/Other`, QueueUrl: `${queueUrl}/Other`, QueueName: 'Other' }, false],
    ['SSM::Parameter', { Name: '/shop/name' }, { Ref: '/shop/name' }, true],
    ['StepFunctions::StateMachine', { StateMachineName: 'a' }, { Ref: arnIn('states', 'stateMachine:a') }, true],
    ['Cognito::UserPool', {}, { Ref: `${region}_Other` }, false],
  ])('has, for an AWS::%s with the properties %j, the values %j; known: %j', (type, properties, values, isKnown) => {
    const references = Object.keys(values).map((name) =>
      name === 'Ref' ? { Ref: 'Other' } : { 'Fn::GetAtt': ['Other', name] },
    );
    const Other = resource(`AWS::${type}`, properties);
    const Variables = Object.fromEntries(references.map((each, index) => [`V${index}`, each]));
    const { functions, leftOut } = leavingOut({ Other, Shop: { Environment: { Variables } } });
    expect(Object.values(functions[0]?.environment ?? {})).toEqual(Object.values(values));
    const madeUp = leftOut.filter(({ resource }) => resource.startsWith('Environment'));
    expect(madeUp).toHaveLength(isKnown ? 0 : references.length);
  });

  test('gives a function with a role from elsewhere no permissions', () => {
    const { functions } = leavingOut({ Shop: { Role: 'arn:aws:iam::1:role/path/theirs' } });
    expect(functions[0]).toMatchObject({ role: [], roleName: 'theirs' });
  });

  const getOrder = ['GET /orders/{id}'];
  const withoutShop = [[...getOrder, 'ANY /{proxy+}'], ['the-guard']] as const;
  const withoutGuard = [getOrder, ['Shop']] as const;
  const withoutIntegration = [withoutShop[0], ['Shop', 'the-guard']] as const;
  const withoutRoute = [getOrder, withoutIntegration[1]] as const;
  type Left = readonly [routes: readonly string[], functions: readonly string[]];

  test.each<[id: string, properties: object, reason: string, left: Left]>([
    ['Shop', { Runtime: 'python3.13' }, 'its Runtime "python3.13" is not supported', withoutShop],
    ['ShopRole', { Policies: [7] }, 'its Policies.0 is not an object', withoutShop],
    ['ShopPolicy', statement({ Condition: {} }), `its ${inStatement}.Condition is not supported`, withoutShop],
    ...['ShopRole', 'ShopPolicy'].map((id): [string, object, string, Left] => [
      id,
      { Unknown: 1 },
      'its Unknown is not supported',
      withoutShop,
    ]),
    ['Guard', { Runtime: 'python3.13' }, 'its Runtime "python3.13" is not supported', withoutGuard],
    // The variables of Shop refer to the first table, and its policies to both.
    ['Orders', { ResourcePolicy: {} }, 'its ResourcePolicy is not supported', withoutShop],
    ['Items', { KeySchema: 'id' }, 'its KeySchema is not a list', withoutShop],
    ['GuardAuthorizer', jwtAuthorizer({ Ref: 'Pool' }, []), 'its JwtConfiguration.Issuer refers to Pool', withoutRoute],
    ['ShopIntegration', { IntegrationType: 'HTTP_PROXY' }, 'its IntegrationType is "HTTP_PROXY"', withoutIntegration],
    ['ShopLive', { RoutingConfig: {} }, 'its RoutingConfig is not supported', withoutIntegration],
    ['GetOrder', { Unknown: 1 }, 'its Unknown is not supported', withoutRoute],
  ])('leaves out the routes that need %s with %j, and says why', (id, properties, reason, [routeKeys, functions]) => {
    const changes = { [id]: properties };
    expectRefusal(id, changes, reason);
    const { api, leftOut, ...others } = leavingOut(changes);
    const left = api.routes.filter((route) => route.leftOut !== undefined);
    const why = new RegExp(`^${id} \\(AWS::\\w+::\\w+\\) cannot be served here: `);
    expect(left).toEqual(routeKeys.map((routeKey) => ({ routeKey, leftOut: expect.stringMatching(why) })));
    expect(left.map((route) => route.leftOut)).toEqual(routeKeys.map(() => expect.stringContaining(reason)));
    expect(others.functions.map(({ name }) => name)).toEqual(functions);
    expect(leftOut[0]?.reason).toContain(reason);
    expect(leftOut.map(({ resource }) => resource.split(' ')[0])).toEqual(expect.arrayContaining([id, 'GetOrder']));
  });

  const mayReceive = policy({ Effect: 'Allow', Action: 'sqs:ReceiveMessage', Resource: arnOf('Jobs') });
  const queueAndConsumer = {
    Jobs: resource('AWS::SQS::Queue'),
    JobsPolicy: resource('AWS::SQS::QueuePolicy', { Queues: [{ Ref: 'Jobs' }] }),
    ...worker({}, { Policies: [{ PolicyName: 'Own', PolicyDocument: mayReceive }] }),
    Source: resource('AWS::Lambda::EventSourceMapping', { FunctionName: { Ref: 'Worker' } }),
  };
  const ofOther = { ApiId: { Ref: 'Other' } };
  const secondApi = {
    Other: resource('AWS::ApiGatewayV2::Api', { ProtocolType: 'WEBSOCKET' }),
    OtherRoute: resource('AWS::ApiGatewayV2::Route', { ...ofOther, RouteKey: '$connect' }),
    OtherStage: resource('AWS::ApiGatewayV2::Stage', { ...ofOther, StageName: 'v1' }),
  };
  const notHttp = 'its ProtocolType is "WEBSOCKET", and only "HTTP" is supported';

  test.each<[what: string, changes: Changes, more: string[], left: Record<string, string>]>([
    [
      'a queue and its event source, but not the consumer',
      queueAndConsumer,
      ['Worker'],
      { Jobs: unknownType[0], JobsPolicy: unknownType[0], Source: onlyFromApi },
    ],
    ['a function that no route needs', worker({ Runtime: 'python3.13' }), [], { Worker: 'its Runtime "python3.13"' }],
    [
      'a second API with its parts',
      secondApi,
      [],
      { Other: notHttp, OtherRoute: 'its ApiId', OtherStage: 'its ApiId' },
    ],
  ])('leaves out %s, and reads all else', (_, changes, more, left) => {
    const { functions, leftOut, ...others } = leavingOut(changes);
    expect(functions.map(({ name }) => name)).toEqual(['Shop', 'the-guard', ...more]);
    const { functions: __, leftOut: nothing, ...same } = leavingOut();
    expect([others, nothing]).toEqual([same, []]);
    const reasons = Object.entries(left).map(([id, reason]) => {
      const name = `${id} (${(changes[id] as { Type: string }).Type})`;
      return { resource: name, reason: expect.stringContaining(reason) };
    });
    expect(leftOut).toEqual(reasons);
  });

  test.each([
    ['Stage', { StageVariables: {} }, 'its StageVariables is not supported'],
    ['Api', { ProtocolType: 'WEBSOCKET' }, 'The template has no AWS::ApiGatewayV2::Api that can be served.'],
  ])('refuses %s with %j, without which nothing is left', (id, properties, reason) => {
    expect(() => leavingOut({ [id]: properties })).toThrow(reason);
  });
});
