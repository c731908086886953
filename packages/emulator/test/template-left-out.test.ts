/** Tests what readTemplate leaves out with the option `leaveOut`, and what it refuses all the same. */
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

  test.each([
    [{ Ref: 'Jobs' }, `https://sqs.${account.region}.amazonaws.com/${account.id}/Jobs`],
    [{ 'Fn::GetAtt': ['Jobs', 'QueueUrl'] }, `https://sqs.${account.region}.amazonaws.com/${account.id}/Jobs`],
    [{ 'Fn::Sub': 'to ${Jobs.Arn}' }, `to arn:aws:sqs:${account.region}:${account.id}:Jobs`],
    [{ 'Fn::GetAtt': ['Jobs', 'QueueName'] }, 'Jobs'],
  ])('gives functions a made-up value for %j', (value, expected) => {
    const { functions, leftOut } = read({ Jobs }, { Shop: { Environment: { Variables: { QUEUE: value } } } });
    expect(functions[0]?.environment).toEqual({ QUEUE: expected });
    expect(leftOut).toEqual([queue]);
  });

  test.each([
    [{ Ref: 'Alarms' }, `arn:aws:sns:${account.region}:${account.id}:Alarms`, 'Alarms (AWS::SNS::Topic)'],
    [arnOf('Logs'), `arn:aws:logs:${account.region}:${account.id}:Logs`, 'Arn of Logs (AWS::Logs::LogGroup)'],
    [{ Ref: 'Api' }, 'Api', 'Api (AWS::ApiGatewayV2::Api)'],
  ])('also makes up the value of %j, and says so', (value, expected, name) => {
    const { functions, leftOut } = read({}, { Shop: { Environment: { Variables: { VALUE: value } } } });
    expect(functions[0]?.environment).toEqual({ VALUE: expected });
    expect(leftOut).toEqual([{ resource: name, reason: 'only AWS knows its value' }]);
  });

  test('leaves out resources that would invoke a function without the API', () => {
    const { leftOut } = read({ Added: resource('AWS::SNS::Subscription', { Endpoint: arnOf('Shop') }) });
    const reason = 'it would invoke Shop (AWS::Lambda::Function), and functions get events from the HTTP API only';
    expect(leftOut).toEqual([{ resource: 'Added (AWS::SNS::Subscription)', reason }]);
  });

  const cannotRun: [properties: object, roleProperties: object, reason: string][] = [
    [{ VpcConfig: {} }, {}, 'its VpcConfig is not supported'],
    [{ Runtime: 'python3.13' }, {}, 'its Runtime "python3.13" is not supported'],
    [{}, { ManagedPolicyArns: ['arn:theirs'] }, 'its managed policy arn:theirs is unknown here'],
  ];

  test.each(cannotRun)('leaves out a function that no route needs and that cannot run here: %j %j', (...row) => {
    const [properties, roleProperties, reason] = row;
    const { functions, leftOut } = read(worker(properties, roleProperties));
    expect(functions.map(({ name }) => name)).toEqual(['Shop', 'the-guard']);
    expect(leftOut).toEqual([{ resource: 'Worker (AWS::Lambda::Function)', reason: expect.stringContaining(reason) }]);
  });

  test.each(['Shop', 'Guard'])('refuses the function %s, which a route needs, if it cannot run here', (id) => {
    for (const [properties, roleProperties, reason] of cannotRun) {
      const changed = { [id]: properties, [`${id}Role`]: roleProperties };
      expect(() => read({}, changed)).toThrow(`${reason}`);
    }
  });

  test.each([
    ['Orders', { ResourcePolicy: {} }, 'its ResourcePolicy is not supported'],
    ['ShopRole', { Unknown: 1 }, 'ShopRole (AWS::IAM::Role) cannot be served here: its Unknown is not supported'],
    ['GuardRole', { Unknown: 1 }, 'GuardRole (AWS::IAM::Role) cannot be served here: its Unknown is not supported'],
    ['ShopIntegration', { IntegrationSubtype: 'SQS-SendMessage' }, 'its IntegrationSubtype is not supported'],
    ['Shop', { Environment: { Variables: { POOL: arnOf('Pool') } } }, 'User pools are not emulated'],
    ['Shop', { Environment: { Variables: { NAME: { Ref: 'nothing' } } } }, 'refers to nothing, which is unknown here'],
  ])('refuses %s with %j', (id, properties, reason) => {
    expect(() => read({}, { [id]: properties })).toThrow(reason);
  });

  test('refuses a role with a Condition, if a function that a route needs has it', () => {
    const conditional = { ShopRole: { ...role({}), Condition: 'Always' } };
    expect(() => read(conditional)).toThrow('ShopRole (AWS::IAM::Role) cannot be served here: the condition Always');
  });
});
