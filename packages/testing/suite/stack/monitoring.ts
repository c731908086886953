/** Tests the alarms, the metrics that CloudWatch derives from log lines, and the dashboard that shows both. */
import { readFileSync } from 'node:fs';
import { arn, functionNames, operationNames, prod, propertiesOf, ref, resolve } from '@lambda-service/testing/stack';
import { raisedAlarms, type Value } from '@lambda-service/testing/trial';
import { expect, test } from 'vitest';

const runbook = readFileSync(new URL('../../docs/operate/runbook.md', import.meta.url), 'utf8');
const alarms = propertiesOf('AWS::CloudWatch::Alarm');
const nameOf = (alarm: (typeof alarms)[string]): string => String(alarm['AlarmName']).replace('PlantStore-', '');

/** An alarm, the limit that its metric must exceed for so many seconds, and metrics with which it is at a value. */
type Row = [alarm: string, limit: number, seconds: number, at: (value: number) => Value[]];

const metric =
  (name: string) =>
  (value: number): Value[] => [[name, value]];
const shareOf4xx = (percent: number): Value[] => [
  ['AWS/ApiGateway Count Api', 100],
  ['AWS/ApiGateway 4xx Api', percent],
];

/** The dead-letter queues of the stack, by the names of their queues. */
const deadLetters = Object.entries(propertiesOf('AWS::SQS::Queue')).flatMap(([name, { RedrivePolicy }]) => {
  const { deadLetterTargetArn } = Object(RedrivePolicy);
  return deadLetterTargetArn === undefined ? [] : [[name, resolve(deadLetterTargetArn).replace('.Arn', '')] as const];
});

/** These alarms open a ticket. */
const tickets: Row[] = [
  ['Api4xxRate', 25, 900, shareOf4xx],
  ['AuthorizerKeysNotFetched', 0, 900, metric('PlantStore AuthorizerKeysNotFetched')],
  ['Concurrency', 800, 300, metric('AWS/Lambda ConcurrentExecutions')],
  ...deadLetters.map(
    ([name, queue]): Row => [
      `${name}DeadLetters`,
      0,
      300,
      metric(`AWS/SQS ApproximateNumberOfMessagesVisible ${queue}.QueueName`),
    ],
  ),
];

/** These alarms only roll back a new version. */
const rollBacks: Row[] = [
  ...functionNames.map((name): Row => [`${name}Errors`, 0, 60, metric(`AWS/Lambda Errors ${name} ${name}:live`)]),
  ...operationNames.map(([, name]): Row => [`${name}Faults`, 0, 60, metric(`PlantStore ${name}Faults`)]),
];

/** Each promise has these alarms, which promises.test.ts rehearses. */
const windows = ['1h', '5m', '1d', '6h'].flatMap((window) => [`Availability${window}`, `Latency${window}`]);

test.each([...tickets.map((row) => [...row, ['Ticket']] as const), ...rollBacks.map((row) => [...row, []] as const)])(
  '%s goes off if its metric is above %d for %d seconds, and only then',
  (name, limit, seconds, at, notifying) => {
    const alarm = Object.values(alarms).find((each) => nameOf(each) === name) as { Metrics?: object[] } | undefined;
    const { Period } = Object(alarm?.Metrics?.map((each) => Object(each).MetricStat).find(Boolean) ?? alarm);
    expect(Object(alarm).EvaluationPeriods * Period).toBe(seconds);
    const minutes = (length: number, value: number) => Array<Value[]>(length).fill(at(value));
    expect(raisedAlarms(prod, minutes(15, limit))).toEqual([]);
    expect(raisedAlarms(prod, minutes(15, limit + 1))).toEqual([name, ...notifying]);
    if (seconds === 900) expect(raisedAlarms(prod, minutes(10, limit + 1))).toEqual([]);
  },
);

test('the stack has no alarm that this file does not list', () => {
  const names = ['OutsideCheck', ...[...tickets, ...rollBacks].map(([name]) => name)];
  expect(Object.values(alarms).map(nameOf).sort()).toEqual([...names, ...windows].sort());
});

const composites = propertiesOf('AWS::CloudWatch::CompositeAlarm');

test('only Page and Ticket notify, when they go off and when they end, each through another topic', () => {
  const notify = (topic: string) => ({ AlarmActions: [ref(topic)], OKActions: [ref(topic)] });
  expect(composites).toMatchObject({
    MonitoringPage: { AlarmName: 'PlantStore-Page', ...notify('MonitoringPages') },
    MonitoringTicket: { AlarmName: 'PlantStore-Ticket', ...notify('MonitoringTickets') },
  });
  expect(Object.keys(composites)).toHaveLength(2);
  for (const alarm of Object.values(composites)) expect(alarm).not.toHaveProperty('ActionsEnabled');
  expect(JSON.stringify(alarms)).not.toContain('Actions');
});

test('no data is good, except for the check from outside, and an alarm needs bad data in all its periods', () => {
  const condition = { TreatMissingData: 'notBreaching', ComparisonOperator: 'GreaterThanThreshold' };
  for (const alarm of Object.values(alarms)) {
    if (nameOf(alarm) !== 'OutsideCheck') expect(alarm).toMatchObject(condition);
    // By default, an alarm goes off only if all its periods meet the condition.
    expect(alarm).not.toHaveProperty('DatapointsToAlarm');
  }
});

const prefixes = [...functionNames, ...deadLetters.map(([name]) => name)];
/** All functions have the same kinds of alarms, and so has each promise; the runbook has a section for each kind. */
const kindOf = (name: string): string =>
  name.replace(new RegExp(`^(${prefixes.join('|')})`), '').replace(/\d[mhd]$/, '');
const everyAlarm = [...Object.values(alarms), ...Object.values(composites)];

test('the runbook has one section for each kind of alarm, and its first table links to each of these sections', () => {
  const [, section = ''] = /^## The alarms$(.*?)^## /ms.exec(runbook) ?? [];
  const sections = [...section.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
  const kinds = everyAlarm.map((alarm) => kindOf(nameOf(alarm)));
  expect(sections.sort()).toEqual([...new Set([...kinds, 'DeadLetters'])].sort());
  const [table = ''] = /(?:^\|.*\n)+/m.exec(runbook) ?? [];
  const links = [...table.matchAll(/^\| …?\[(\w+)\]\(#(\w+)\) \| \S/gm)];
  expect(links.map(([, name]) => name).sort()).toEqual(sections);
  expect(links.filter(([, name = '', heading]) => name.toLowerCase() !== heading)).toEqual([]);
});

test('the mail of an alarm says what is wrong and which section of the runbook says what to do', () => {
  for (const alarm of everyAlarm) {
    const section = `What to do: docs/operate/runbook.md, ${kindOf(nameOf(alarm))}.`;
    expect(alarm['AlarmDescription']).toMatch(/^\w.+\. What/);
    expect(alarm['AlarmDescription']).toContain(section);
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

type Metric = { MetricName: string; MetricNamespace: string; DefaultValue?: number };
type Filter = { LogGroupName: { Ref: string }; FilterPattern: string; MetricTransformations: [Metric] };

const filters = Object.values(propertiesOf('AWS::Logs::MetricFilter')) as Filter[];

test('only what has an alarm is a log metric, and only one that rolls back is 0 without lines: its alarm must end soon', () => {
  const faults = '$.message.outcome = "failed" && $.level = "ERROR" && $.message.gatewayRequestId != "smoke-test-*"';
  const counted = (of: string, kind: string, lines: string, more = {}) => ({
    LogGroupName: { Ref: `${of}Logs` },
    FilterPattern: `{ ${lines} }`,
    MetricTransformations: [{ MetricNamespace: 'PlantStore', MetricName: of + kind, MetricValue: '1', ...more }],
  });
  const expected = [
    counted('Authorizer', 'KeysNotFetched', '$.message.outcome = "keys not fetched"'),
    ...operationNames.map(([, name]) => counted(name, 'Faults', faults, { DefaultValue: 0 })),
  ];
  expect(filters).toHaveLength(expected.length);
  expect(filters).toEqual(expect.arrayContaining(expected));
});

test('the runbook names every outcome that a log metric counts', () => {
  const rows = filters.flatMap(({ LogGroupName, FilterPattern }) =>
    [...FilterPattern.matchAll(/outcome = "([\w ]+)"/g)].map(([, outcome]) => {
      const who = LogGroupName.Ref === 'AuthorizerLogs' ? 'Authorizer' : 'an operation';
      return `| ${who} | \`{"outcome":"${outcome}"`;
    }),
  );
  expect(rows).not.toEqual([]);
  const text = runbook.replaceAll(/ +\|/g, ' |');
  expect(rows.filter((row) => !text.includes(row))).toEqual([]);
});

/** Joins the parts of a template's string. References become `REGION`, the only reference that the tests look at. */
const textOf = (value: unknown): string => {
  const [, parts] = Object(value)['Fn::Join'] as [string, unknown[]];
  return parts.map((part) => (typeof part === 'string' ? part : 'REGION')).join('');
};

/** The dashboard as text. Its queries have a space for each line break. */
const dashboard = JSON.stringify(prod.Resources['MonitoringDashboard']?.Properties['DashboardBody']).replaceAll(
  String.raw`\\n`,
  ' ',
);

test('the dashboard counts the outcomes in the logs of all functions', () => {
  const source = (name: string) => `SOURCE '",{"Ref":"${name}Logs"},"' | `;
  const all = ['Authorizer', ...operationNames.map(([, name]) => name)].map(source).join('');
  const outcomes = 'stats count() as requests by message.outcome, message.error, message.reason | sort requests desc';
  expect(dashboard).toContain(`${all}filter ispresent(message.outcome) | ${outcomes}${String.raw`\"`}`);
});

test.each(operationNames.map(([, name]) => name))('the dashboard draws the store time and attempts of %s', (name) => {
  const times = [50, 90, 99].map((percent) => `pct(message.store.milliseconds, ${percent})`).join(', ');
  const rows = { 'Time of the store': times, 'Attempts at the store': 'avg(message.store.attempts)' };
  for (const [title, values] of Object.entries(rows)) {
    const start = String.raw`\"view\":\"timeSeries\",\"title\":\"${title}, ${name}\",\"region\":\"",{"Ref":"AWS::Region"},"\",`;
    const query = String.raw`\"query\":\"SOURCE '",{"Ref":"${name}Logs"},"' | stats ${values} by bin(5m)\"`;
    expect(dashboard).toContain(start + query);
  }
});

test('the dashboard finds the metrics of each operation that is called on the table', () => {
  const search = "SEARCH('{AWS/DynamoDB,TableName,Operation} TableName=";
  expect(dashboard.split(search)).toHaveLength(3);
});

test("the dashboard's name contains the region, and its URL opens it in the region of the stack", () => {
  const name = prod.Resources['MonitoringDashboard']?.Properties['DashboardName'];
  expect(textOf(name)).toBe('PlantStore-Health-REGION');
  expect(textOf(prod.Outputs['DashboardUrl']?.Value)).toBe(
    'https://REGION.console.aws.amazon.com/cloudwatch/home?region=REGION#dashboards/dashboard/PlantStore-Health-REGION',
  );
});
