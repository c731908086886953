/**
 * Rehearses the alarms on what docs/operate/runbook.md promises: when Page and Ticket go off, and for how long. Also
 * tests whom they notify, and what the dashboard shows.
 */
import { arn, ofType, orderTemplate, prod, propertiesOf, ref, resolve } from '@lambda-service/testing/stack';
import { check, rehearse, type Span, type Value } from '@lambda-service/testing/trial';
import { Duration } from 'aws-cdk-lib';
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { expect, inject, test } from 'vitest';
import { setBundle } from '../bundling.ts';
import { GuardedApi } from '../guarded-api.ts';
import { Monitoring } from '../monitoring.ts';
import { ServiceFunction } from '../service-function.ts';

const requests = 'AWS/ApiGateway Count Api';
const errors = 'AWS/ApiGateway 5xx Api';
const latency = 'AWS/ApiGateway Latency Api';

/** The values of a minute. `failing` and `slow` are shares of the requests. */
const traffic = (perMinute: number, { failing = 0, slow = 0 } = {}): Value[] => [
  [requests, 1, perMinute],
  [errors, 1, perMinute * failing],
  [latency, 2_400, perMinute * slow],
  [latency, 1_000, perMinute * (1 - slow)],
];

const [day, hour] = [24 * 60, 60];
const usual = traffic(100, { failing: 0.0005, slow: 0.005 });
const night = traffic(50 / hour);
const byDay = (...spans: Span[]): Span[] => [[day, usual], ...spans, [day, usual]];
const atNight = (...spans: Span[]): Span[] => [[day, night], ...spans, [day, night]];

/** What happens, and when each alarm goes off and when it ends: minutes after the first day, which is always good. */
const rows: [what: string, spans: Span[], notified: string[]][] = [
  ['a good day', byDay(), []],
  ['no traffic', [[3 * day, []]], []],
  ['no data but the count of requests', [[3 * day, traffic(100).slice(0, 1)]], []],
  ['no data of the count of requests', [[3 * day, traffic(100, { failing: 1, slow: 1 }).slice(1)]], []],
  ['0.9 % errors all day', byDay([day, traffic(100, { failing: 0.009 })]), ['Ticket 85–1779']],
  ['a p99 of 2.4 s all day', byDay([day, traffic(100, { slow: 0.015 })]), ['Ticket 721–1620']],
  ['1.4 % errors for two hours', byDay([2 * hour, traffic(100, { failing: 0.014 })]), ['Ticket 54–467']],
  ['1.5 % errors for two hours', byDay([2 * hour, traffic(100, { failing: 0.015 })]), ['Page 58–121', 'Ticket 50–468']],
  ['an outage of five minutes', byDay([5, traffic(100, { failing: 1 })]), ['Page 1–10', 'Ticket 1–365']],
  ['all responses slow for 20 minutes', byDay([20, traffic(100, { slow: 1 })]), ['Page 9–25', 'Ticket 8–379']],
  ['one failure at night', atNight([1, [...night, [errors, 1]]]), []],
  ['one slow response at night', atNight([1, [...night, [latency, 2_400]]]), []],
  ['four failures in a row at night', atNight([4, [...night, [errors, 1]]]), []],
  ['the check from outside fails twice', byDay([10, [...usual, [check, 1]]]), []],
  ['the check from outside fails for an hour', byDay([hour, [...usual, [check, 1]]]), ['Page 15–61']],
  ['the check from outside does not run for an hour', byDay([hour, [...usual, [check, 0, 0]]]), ['Page 25–61']],
  [
    'traffic stops after an outage',
    [
      [day, usual],
      [5, traffic(100, { failing: 1 })],
      [day, []],
    ],
    ['Page 1–20', 'Ticket 1–1085'],
  ],
  ['an outage at night', atNight([hour, traffic(50 / hour, { failing: 1 })]), ['Page 5–65', 'Ticket 5–420']],
];

/** Lists the times in which an alarm is on. Each time, it notifies people once. */
const timesOf = (name: string, states: boolean[] = []): string[] =>
  states.flatMap((isOn, start) => {
    if (!isOn || states[start - 1]) return [];
    return [`${name} ${start + 1 - day}–${states.indexOf(false, start) + 1 - day}`];
  });

test.each(rows)('%s: Page and Ticket notify as listed', (_, spans, expected) => {
  const states = rehearse(prod, spans);
  expect(['Page', 'Ticket'].flatMap((name) => timesOf(name, states[name]))).toEqual(expected);
});

const stackName = inject('stackName');
const alarms = propertiesOf('AWS::CloudWatch::Alarm');
const composites = propertiesOf('AWS::CloudWatch::CompositeAlarm');

test('only Page and Ticket notify, when they go off and when they end, each through another topic', () => {
  const notify = (topic: string) => ({ AlarmActions: [ref(topic)], OKActions: [ref(topic)] });
  expect(composites).toMatchObject({
    MonitoringPage: { AlarmName: `${stackName}-Page`, ...notify('MonitoringPages') },
    MonitoringTicket: { AlarmName: `${stackName}-Ticket`, ...notify('MonitoringTickets') },
  });
  expect(Object.keys(composites)).toHaveLength(2);
  for (const alarm of Object.values(composites)) expect(alarm).not.toHaveProperty('ActionsEnabled');
  expect(JSON.stringify(alarms)).not.toContain('Actions');
});

test('no data is good, except for the check from outside, and an alarm needs bad data in all its periods', () => {
  const condition = { TreatMissingData: 'notBreaching', ComparisonOperator: 'GreaterThanThreshold' };
  for (const alarm of Object.values(alarms)) {
    if (alarm['AlarmName'] !== `${stackName}-OutsideCheck`) expect(alarm).toMatchObject(condition);
    // By default, an alarm goes off only if all its periods meet the condition.
    expect(alarm).not.toHaveProperty('DatapointsToAlarm');
  }
});

const byCloudWatch = {
  Effect: 'Allow',
  Principal: { Service: 'cloudwatch.amazonaws.com' },
  Condition: { StringEquals: { 'aws:SourceAccount': ref('AWS::AccountId') } },
};

test('only CloudWatch may publish to the topics, only for this account, and only over TLS', () => {
  const insecure = { Effect: 'Deny', Action: 'sns:Publish', Condition: { Bool: { 'aws:SecureTransport': 'false' } } };
  const statements = Object.values(propertiesOf('AWS::SNS::TopicPolicy')).map((each) => Object(each['PolicyDocument']));
  expect(statements).toMatchObject(
    Array(2).fill({ Statement: [insecure, { ...byCloudWatch, Action: 'sns:Publish' }] }),
  );
});

test('one key, which rotates, encrypts both topics, and lets CloudWatch use it for this account', () => {
  const topics = Object.values(propertiesOf('AWS::SNS::Topic'));
  expect(topics).toEqual(Array(2).fill({ KmsMasterKeyId: arn('MonitoringKey') }));
  expect(propertiesOf('AWS::KMS::Key')['MonitoringKey']).toMatchObject({
    EnableKeyRotation: true,
    KeyPolicy: {
      Statement: [
        // Without this statement of CDK's, nobody could manage the key.
        { Effect: 'Allow', Action: 'kms:*', Principal: { AWS: expect.anything() } },
        { ...byCloudWatch, Action: ['kms:Decrypt', 'kms:GenerateDataKey*'] },
      ],
    },
  });
});

test('the dashboard shows every alarm, first those that notify', () => {
  const body = JSON.stringify(propertiesOf('AWS::CloudWatch::Dashboard'));
  const all = [...Object.keys(composites), ...Object.keys(alarms)].map((name) =>
    body.indexOf(JSON.stringify(arn(name))),
  );
  expect(all).not.toContain(-1);
  expect(Math.max(...all.slice(0, 2))).toBeLessThan(Math.min(...all.slice(2)));
});

test("the dashboard's name contains the region, and its URL opens it in the region of the stack", () => {
  const name = prod.Resources['MonitoringDashboard']?.Properties['DashboardName'];
  expect(resolve(name)).toBe(`${stackName}-Health-AWS::Region`);
  expect(resolve(prod.Outputs['DashboardUrl']?.Value)).toBe(
    `https://AWS::Region.console.aws.amazon.com/cloudwatch/home?region=AWS::Region#dashboards/dashboard/${stackName}-Health-AWS::Region`,
  );
});

/** A stack with two tables and a queue. */
const template = orderTemplate((stack) => {
  const entry = 'authorizer-example.lambda.ts';
  setBundle(entry, Buffer.from('exports.handler = () => {};'));
  const common = { stage: 'dev', tracing: false } as const;
  const authorizer = new ServiceFunction(stack, 'Authorizer', { entry, timeout: Duration.seconds(5), ...common });
  const api = new GuardedApi(stack, 'Api', {
    authorizer: authorizer.live,
    cors: { operations: {}, responseHeaders: [], allowOrigins: [] },
    throttle: { rateLimit: 1, burstLimit: 1 },
    domain: undefined,
    stage: 'dev',
  });
  const partitionKey = { name: 'id', type: AttributeType.STRING };
  for (const name of ['Orders', 'Labels']) new TableV2(stack, name, { partitionKey });
  const warehouse = new Construct(stack, 'Warehouse');
  const queue = new Queue(warehouse, 'Unread');
  new Queue(warehouse, 'Scans', { deadLetterQueue: { queue, maxReceiveCount: 3 } });
  const parts = { api, operations: [], authorizer, pages: [] };
  const limits = { Api4xxRate: 40 };
  new Monitoring(stack, 'Monitoring', { ...parts, limits, stage: 'dev', alarmEmail: undefined });
});

test('an alarm has the limit that it is given, or its usual one', () => {
  const limitsIn = (given: typeof template) =>
    Object.values(propertiesOf('AWS::CloudWatch::Alarm', given)).flatMap(
      ({ AlarmName, AlarmDescription, Threshold }) => {
        const [name] = /(?:Api4xxRate|Concurrency)$/.exec(String(AlarmName)) ?? [];
        const [limit] = /(?<=[Mm]ore than )\d+/.exec(String(AlarmDescription)) ?? [];
        return name === undefined ? [] : [`${name} ${Threshold}, described as ${limit}`];
      },
    );
  expect(limitsIn(template)).toEqual(['Api4xxRate 40, described as 40', 'Concurrency 800, described as 800']);
  expect(limitsIn(prod)[0]).toBe('Api4xxRate 25, described as 25');
});

const graphs = JSON.stringify(propertiesOf('AWS::CloudWatch::Dashboard', template)).replaceAll('\\', '');

test('a second table has its own graphs, besides those of the first', () => {
  for (const title of ['Latency of the table', 'Consumed capacity', 'Refusals and errors of the table'])
    for (const name of [title, `${title} Labels`]) expect(graphs).toContain(`"title":"${name}"`);
});

test('a dead-letter queue has an alarm, which is named after the queue that it serves and the construct around it, opens a ticket, and is on the dashboard', () => {
  const ofQueues = Object.entries(propertiesOf('AWS::CloudWatch::Alarm', template)).filter(
    ([, { Namespace }]) => Namespace === 'AWS/SQS',
  );
  const expected = {
    AlarmName: 'OrderStore-WarehouseScansDeadLetters',
    MetricName: 'ApproximateNumberOfMessagesVisible',
    Dimensions: [{ Name: 'QueueName', Value: { 'Fn::GetAtt': ['WarehouseUnread', 'QueueName'] } }],
    Statistic: 'Maximum',
    Threshold: 0,
  };
  expect(ofQueues).toEqual([[expect.any(String), expect.objectContaining(expected)]]);
  const alarm = JSON.stringify(arn(String(ofQueues[0]?.[0])));
  expect(JSON.stringify(ofType('AWS::CloudWatch::CompositeAlarm', template)['MonitoringTicket'])).toContain(alarm);
  expect(graphs).toContain(alarm);
});
