/** Tests what readTemplate leaves out with the option `leaveOut`, and which routes then respond with 501. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of Fn::Sub
import { describe, expect, test } from 'vitest';
import { readTemplate } from '../template/read-template.ts';
import { assetHash, type ChangedResource, ordersTemplate } from './kit/orders-template.ts';
import { account, arnOf, policy, resource, role } from './kit/template-parts.ts';

const read = (added: Record<string, ChangedResource>, changed: Record<string, object> = {}) => {
  const change = (resources: Record<string, ChangedResource>) => {
    Object.assign(resources, added);
    for (const [id, properties] of Object.entries(changed)) Object.assign(resources[id]?.Properties ?? {}, properties);
  };
  return readTemplate(ordersTemplate(change), '/assets', { leaveOut: true, account });
};

/** A function that no route invokes, and its alias. */
const worker = (properties: object = {}, roleProperties: object = {}): Record<string, ChangedResource> => ({
  Worker: resource('AWS::Lambda::Function', {
    Code: { S3Bucket: 'assets', S3Key: `${assetHash('c')}.zip` },
    Handler: 'index.handler',
    Role: arnOf('WorkerRole'),
    Runtime: 'nodejs24.x',
    ...properties,
  }),
  WorkerLive: resource('AWS::Lambda::Alias', {
    FunctionName: { Ref: 'Worker' },
    FunctionVersion: '$LATEST',
    Name: 'live',
  }),
  WorkerRole: role(roleProperties),
});

const onlySomeTypes = 'only HTTP APIs, Lambda functions and DynamoDB tables are served';
const queue = { resource: 'Jobs (AWS::SQS::Queue)', reason: onlySomeTypes };
const Jobs = resource('AWS::SQS::Queue');

describe('with leaveOut, readTemplate', () => {
  test('leaves out a queue and its event source, and reads the consumer and all else', () => {
    const mayReceive = policy({ Effect: 'Allow', Action: 'sqs:ReceiveMessage', Resource: arnOf('Jobs') });
    const roleProperties = { Policies: [{ PolicyName: 'Own', PolicyDocument: mayReceive }] };
    const { functions, leftOut, ...others } = read({
      Jobs,
      JobsPolicy: resource('AWS::SQS::QueuePolicy', { Queues: [{ Ref: 'Jobs' }] }),
      ...worker({}, roleProperties),
      Source: resource('AWS::Lambda::EventSourceMapping', { FunctionName: { Ref: 'Worker' } }),
    });
    expect(functions.map(({ name }) => name)).toEqual(['Shop', 'the-guard', 'Worker']);
    const { functions: _, leftOut: nothing, ...same } = read({});
    expect(others).toEqual(same);
    expect(nothing).toEqual([]);
    expect(leftOut).toEqual([
      queue,
      { resource: 'JobsPolicy (AWS::SQS::QueuePolicy)', reason: onlySomeTypes },
      {
        resource: 'Source (AWS::Lambda::EventSourceMapping)',
        reason: 'functions get events from the HTTP API only',
      },
    ]);
  });

  const queueUrl = `https://sqs.${account.region}.amazonaws.com/${account.id}/Jobs`;

  // The reasons are tested with the refusals, which have the same.
  test.each([
    [{ Ref: 'Jobs' }, queueUrl],
    [{ 'Fn::GetAtt': ['Jobs', 'QueueUrl'] }, queueUrl],
    [{ 'Fn::Sub': 'to ${Jobs.Arn}' }, `to arn:aws:sqs:${account.region}:${account.id}:Jobs`],
    [{ 'Fn::GetAtt': ['Jobs', 'QueueName'] }, 'Jobs'],
    [{ Ref: 'Alarms' }, `arn:aws:sns:${account.region}:${account.id}:Alarms`],
    [arnOf('Logs'), `arn:aws:logs:${account.region}:${account.id}:Logs`],
    [{ 'Fn::GetAtt': ['NamedBucket', 'DomainName'] }, 'news'],
    [{ Ref: 'Secret' }, `arn:aws:secretsmanager:${account.region}:${account.id}:secret:Secret`],
    [{ Ref: 'Pool' }, `${account.region}_Pool`],
    [{ Ref: 'nothing' }, 'nothing'],
    [{ Ref: 'FromSsm' }, 'FromSsm'],
    [{ 'Fn::Join': ['', ['to ', { 'Fn::ImportValue': 'a' }]] }, 'to a'],
    ['-{{resolve:ssm:key}}', '-resolve:ssm:key'],
  ])('makes up the value of the variable %j, and says so', (value, expected) => {
    const others = {
      Jobs,
      NamedBucket: resource('AWS::S3::Bucket', { BucketName: 'news' }),
      Secret: resource('AWS::SecretsManager::Secret', { Name: 'secret' }),
    };
    const { functions, leftOut } = read(others, { Shop: { Environment: { Variables: { NAME: value } } } });
    expect(functions[0]?.environment).toEqual({ NAME: expected });
    const part = 'Environment.Variables.NAME of Shop (AWS::Lambda::Function)';
    const reason = expect.stringMatching(/^it (refers to|uses|has|imports) .*, so its value is made up$/);
    expect(leftOut).toContainEqual({ resource: part, reason });
  });

  const { id, region } = account;
  test.each<[type: string, properties: object, values: Record<string, string>]>([
    ['AWS::Events::EventBus', { Name: 'news' }, { Ref: 'news', Arn: `arn:aws:events:${region}:${id}:event-bus/news` }],
    ['AWS::S3::Bucket', { BucketName: 'news' }, { Ref: 'news', Arn: 'arn:aws:s3:::news' }],
    ['AWS::SNS::Topic', { TopicName: { 'Fn::Sub': 'to-${Orders}' } }, { Ref: `arn:aws:sns:${region}:${id}:to-Orders` }],
    ['AWS::SQS::Queue', { QueueName: 'a.fifo' }, { QueueUrl: `https://sqs.${region}.amazonaws.com/${id}/a.fifo` }],
    ['AWS::SSM::Parameter', { Name: '/shop/name' }, { Ref: '/shop/name' }],
    [
      'AWS::StepFunctions::StateMachine',
      { StateMachineName: 'pay' },
      { Ref: `arn:aws:states:${region}:${id}:stateMachine:pay` },
    ],
  ])('knows values of a resource of the type %s with the properties %j: %j', (type, properties, values) => {
    const references = Object.keys(values).map((name) =>
      name === 'Ref' ? { Ref: 'Other' } : { 'Fn::GetAtt': ['Other', name] },
    );
    const Other = resource(type, { ...properties });
    const { functions, leftOut } = read({ Other }, { Shop: { Environment: { Variables: { ...references } } } });
    expect(functions[0]?.environment).toEqual({ ...Object.values(values) });
    expect(leftOut.filter(({ resource }) => resource.startsWith('Environment'))).toEqual([]);
  });

  test('leaves out resources that would invoke a function without the API', () => {
    const { leftOut } = read({ Added: resource('AWS::SNS::Subscription', { Endpoint: arnOf('Shop') }) });
    const reason = 'it would invoke Shop (AWS::Lambda::Function), and functions get events from the HTTP API only';
    expect(leftOut).toEqual([{ resource: 'Added (AWS::SNS::Subscription)', reason }]);
  });

  test.each<[change: string, properties: object, part: string, reason: string]>([
    ['Shop', { VpcConfig: {} }, 'VpcConfig of Shop (AWS::Lambda::Function)', 'this machine is not in that network'],
    ['Shop', { Layers: ['arn:theirs', { Ref: 'ShopLayer' }] }, 'layer arn:theirs of Shop (', 'its files are not'],
    [
      'Shop',
      { Role: 'arn:aws:iam::1:role/theirs' },
      'Role arn:aws:iam::1:role/theirs of Shop (',
      'its policies are not',
    ],
    [
      'ShopRole',
      { ManagedPolicyArns: ['arn:theirs'] },
      'managed policy arn:theirs of ShopRole (',
      'it is unknown here',
    ],
    [
      'ShopRole',
      { PermissionsBoundary: 'arn:theirs' },
      'PermissionsBoundary arn:theirs of ShopRole (',
      'it is unknown',
    ],
  ])('serves the function Shop if %s has %j, and says what has no effect', (id, properties, part, reason) => {
    const { functions, leftOut, api } = read({}, { [id]: properties });
    expect(functions.map(({ name }) => name)).toEqual(['Shop', 'the-guard']);
    expect(api).toEqual(read({}).api);
    expect(leftOut).toEqual([{ resource: expect.stringContaining(part), reason: expect.stringContaining(reason) }]);
  });

  test('gives a function with a role from elsewhere no permissions', () => {
    const { functions } = read({}, { Shop: { Role: 'arn:aws:iam::1:role/path/theirs' } });
    expect(functions[0]).toMatchObject({ role: [], roleName: 'theirs' });
  });

  const shopOnly = [['GET /orders/{id}', 'ANY /{proxy+}'], ['the-guard']] as const;
  const guardOnly = [['GET /orders/{id}'], ['Shop']] as const;
  const routesOnly = [shopOnly[0], ['Shop', 'the-guard']] as const;
  const withCondition = { PolicyDocument: policy({ Effect: 'Allow', Action: '*', Resource: '*', Condition: {} }) };
  type Left = readonly [routes: readonly string[], functions: readonly string[]];

  test.each<[id: string, properties: object, reason: string, left: Left]>([
    ['Shop', { Runtime: 'python3.13' }, 'its Runtime "python3.13" is not supported', shopOnly],
    ['ShopRole', { AssumeRolePolicyDocument: {} }, 'its AssumeRolePolicyDocument does not let', shopOnly],
    ['ShopPolicy', withCondition, 'its PolicyDocument.Statement.0.Condition is not supported', shopOnly],
    ['Guard', { Runtime: 'python3.13' }, 'its Runtime "python3.13" is not supported', guardOnly],
    // The variables of Shop refer to the first table, and its policies to both.
    ['Orders', { ResourcePolicy: {} }, 'its ResourcePolicy is not supported', shopOnly],
    ['Items', { KeySchema: 'id' }, 'its KeySchema is not a list', shopOnly],
    [
      'GuardAuthorizer',
      { AuthorizerType: 'JWT', JwtConfiguration: { Issuer: { Ref: 'Pool' } } },
      'its JwtConfiguration.Issuer refers to Pool',
      [['GET /orders/{id}'], routesOnly[1]],
    ],
    ['ShopIntegration', { IntegrationType: 'HTTP_PROXY' }, 'its IntegrationType is "HTTP_PROXY"', routesOnly],
    ['ShopLive', { RoutingConfig: {} }, 'its RoutingConfig is not supported', routesOnly],
    ['GetOrder', { Unknown: 1 }, 'its Unknown is not supported', [['GET /orders/{id}'], routesOnly[1]]],
  ])('leaves out the routes that need %s with %j, and says why', (id, properties, reason, [routeKeys, functions]) => {
    const { api, leftOut, ...others } = read({}, { [id]: properties });
    const why = new RegExp(`^${id} \\(AWS::\\w+::\\w+\\) cannot be served here: `);
    const left = api.routes.filter((route) => route.leftOut !== undefined);
    expect(left).toEqual(routeKeys.map((routeKey) => ({ routeKey, leftOut: expect.stringMatching(why) })));
    expect(left.map((route) => route.leftOut)).toEqual(routeKeys.map(() => expect.stringContaining(reason)));
    expect(others.functions.map(({ name }) => name)).toEqual(functions);
    expect(leftOut[0]?.reason).toContain(reason);
    const listed = leftOut.map(({ resource }) => resource.split(' ')[0]);
    expect(listed).toEqual(expect.arrayContaining([id, ...(routeKeys.length > 0 ? ['GetOrder'] : [])]));
  });

  test('leaves out a function that no route needs and that cannot run here', () => {
    const { functions, leftOut } = read(worker({ Runtime: 'python3.13' }));
    expect(functions.map(({ name }) => name)).toEqual(['Shop', 'the-guard']);
    const reason = expect.stringContaining('its Runtime "python3.13" is not supported');
    expect(leftOut).toEqual([{ resource: 'Worker (AWS::Lambda::Function)', reason }]);
  });

  test('leaves out a second API with its parts', () => {
    const Other = resource('AWS::ApiGatewayV2::Api', { ProtocolType: 'WEBSOCKET' });
    const ofOther = { ApiId: { Ref: 'Other' } };
    const { api, leftOut } = read({
      Other,
      OtherRoute: resource('AWS::ApiGatewayV2::Route', { ...ofOther, RouteKey: '$connect' }),
      OtherStage: resource('AWS::ApiGatewayV2::Stage', { ...ofOther, StageName: 'v1' }),
    });
    expect(api).toEqual(read({}).api);
    expect(leftOut.map(({ resource }) => resource.split(' ')[0])).toEqual(['Other', 'OtherRoute', 'OtherStage']);
  });

  test.each([
    ['Stage', { StageVariables: {} }, 'its StageVariables is not supported'],
    ['Api', { ProtocolType: 'WEBSOCKET' }, 'The template has no AWS::ApiGatewayV2::Api that can be served.'],
  ])('refuses %s with %j, without which nothing is left', (id, properties, reason) => {
    expect(() => read({}, { [id]: properties })).toThrow(reason);
  });
});
