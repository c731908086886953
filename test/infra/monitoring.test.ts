/** Tests the alarms, the metrics that CloudWatch derives from log lines, and the dashboard that shows both. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { grants, listTables } from '../../infra/operations.ts';
import { raisedAlarms, type Value } from '../kit/alarms.ts';
import { arn, functionNames, ofType, operationNames, prod, propertiesOf, ref, resolve } from '../kit/template.ts';

const runbook = readFileSync(new URL('../../docs/operate/runbook.md', import.meta.url), 'utf8');
const alarms = propertiesOf('AWS::CloudWatch::Alarm');
const nameOf = (alarm: (typeof alarms)[string]): string => String(alarm['AlarmName']).replace('PlantStore-', '');

/** An alarm, the limit that its metric must exceed for so many seconds, and metrics with which it is at a value. */
type Row = [alarm: string, limit: number, seconds: number, at: (value: number) => Value[]];

const metric =
  (name: string) =>
  (value: number): Value[] => [[name, value]];
const ofApi =
  (name: string) =>
  (percent: number): Value[] => [
    ['AWS/ApiGateway Count Api', 100],
    [`AWS/ApiGateway ${name} Api`, percent],
  ];

const granted = Object.values(grants).flatMap((each) => Object.values(each).flat());
const called = [...new Set(granted)].map((action) => action.replace('dynamodb:', ''));
const write = called.find((operation) => /^(Put|Update|Delete)Item$/.test(operation));

/** Of the writes, 80 succeed, and so many are refused because their condition does not hold. */
const conflicts =
  (table: string) =>
  (refused: number): Value[] => [
    ...Array<Value>(80).fill([`AWS/DynamoDB SuccessfulRequestLatency ${write} ${table}`, 5]),
    [`AWS/DynamoDB ConditionalCheckFailedRequests ${table}`, refused],
  ];

const ofTable = ({ id, prefix }: ReturnType<typeof listTables>[number]): Row[] => {
  const of = (name: string) => metric(`AWS/DynamoDB ${name} ${id}`);
  return [
    [`${prefix}ConflictRate`, 20, 900, conflicts(id)],
    ...called.map((operation): Row => [`${prefix}TableSystemErrors`, 0, 300, of(`SystemErrors ${operation}`)]),
    [`${prefix}TableThrottles`, 0, 300, of('ReadThrottleEvents')],
    [`${prefix}TableThrottles`, 0, 300, of('WriteThrottleEvents')],
  ];
};

const ofFunction = (name: string): Row[] => {
  const alias = (kind: string) => metric(`AWS/Lambda ${kind} ${name} ${name}:live`);
  const timeout = Number(propertiesOf('AWS::Lambda::Function')[name]?.['Timeout']);
  return [
    [`${name}Errors`, 0, 60, alias('Errors')],
    [`${name}Throttles`, 0, 300, alias('Throttles')],
    [`${name}Duration`, 800 * timeout, 300, alias('Duration')],
  ];
};

/** The dead-letter queues of the stack, by the names of their queues. */
const deadLetters = Object.entries(propertiesOf('AWS::SQS::Queue')).flatMap(([name, { RedrivePolicy }]) => {
  const { deadLetterTargetArn } = Object(RedrivePolicy);
  return deadLetterTargetArn === undefined ? [] : [[name, resolve(deadLetterTargetArn).replace('.Arn', '')] as const];
});

const rows: Row[] = [
  ['Api5xxRate', 1, 300, ofApi('5xx')],
  ['Api4xxRate', 25, 900, ofApi('4xx')],
  ['ApiLatencyP99', 2_500, 900, metric('AWS/ApiGateway Latency Api')],
  ...functionNames.flatMap(ofFunction),
  ...operationNames.map(([, name]): Row => [`${name}Faults`, 0, 60, metric(`PlantStore ${name}Faults`)]),
  ['AuthorizerKeysNotFetched', 0, 60, metric('PlantStore AuthorizerKeysNotFetched')],
  ['Concurrency', 800, 300, metric('AWS/Lambda ConcurrentExecutions')],
  ...listTables().flatMap(ofTable),
  ...deadLetters.map(
    ([name, queue]): Row => [
      `${name}DeadLetters`,
      0,
      300,
      metric(`AWS/SQS ApproximateNumberOfMessagesVisible ${queue}.QueueName`),
    ],
  ),
];

test.each(rows)('%s goes off if its metric is above %d for %d seconds, and only then', (name, limit, seconds, at) => {
  const alarm = Object.values(alarms).find((each) => nameOf(each) === name) as { Metrics?: object[] } | undefined;
  const { Period } = Object(alarm?.Metrics?.map((each) => Object(each).MetricStat).find(Boolean) ?? alarm);
  expect(Object(alarm).EvaluationPeriods * Period).toBe(seconds);
  const minutes = (length: number, value: number) => Array<Value[]>(length).fill(at(value));
  expect(raisedAlarms(prod, minutes(15, limit))).toEqual([]);
  expect(raisedAlarms(prod, minutes(15, limit + 1))).toEqual([name]);
  if (seconds === 900) expect(raisedAlarms(prod, minutes(10, limit + 1))).toEqual([]);
});

test('the stack has no alarm that this file does not list', () => {
  expect(Object.values(alarms).map(nameOf).sort()).toEqual([...new Set(rows.map(([name]) => name))].sort());
});

test('every alarm notifies the topic when it goes off and when it ends, and needs data in all its periods', () => {
  const topic = [ref('MonitoringAlarms')];
  const sent = { AlarmActions: topic, OKActions: topic };
  const condition = { TreatMissingData: 'notBreaching', ComparisonOperator: 'GreaterThanThreshold' };
  for (const alarm of Object.values(alarms)) {
    expect(alarm).toMatchObject({ ...sent, ...condition });
    // By default, an alarm notifies, and goes off only if all its periods meet the condition.
    for (const setting of ['ActionsEnabled', 'DatapointsToAlarm']) expect(alarm).not.toHaveProperty(setting);
  }
});

const prefixed = [...functionNames, ...listTables().map(({ prefix }) => prefix), ...deadLetters.map(([name]) => name)];
const prefixes = prefixed.filter(Boolean);
/** All functions have the same kinds of alarms, and so have all tables; the runbook has a section for each kind. */
const kindOf = (name: string): string => name.replace(new RegExp(`^(${prefixes.join('|')})`), '');

test('the runbook has one section for each kind of alarm, and its first table links to each of these sections', () => {
  const [, section = ''] = /^## The alarms$(.*?)^## /ms.exec(runbook) ?? [];
  const sections = [...section.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
  expect(sections.sort()).toEqual([...new Set([...rows.map(([name]) => kindOf(name)), 'DeadLetters'])].sort());
  const [table = ''] = /(?:^\|.*\n)+/m.exec(runbook) ?? [];
  const links = [...table.matchAll(/^\| …?\[(\w+)\]\(#(\w+)\) \| \S/gm)];
  expect(links.map(([, name]) => name).sort()).toEqual(sections);
  expect(links.filter(([, name = '', heading]) => name.toLowerCase() !== heading)).toEqual([]);
});

test('the mail of an alarm says what is wrong and which section of the runbook says what to do', () => {
  for (const alarm of Object.values(alarms)) {
    const section = `What to do: docs/operate/runbook.md, ${kindOf(nameOf(alarm))}.`;
    expect(alarm['AlarmDescription']).toMatch(/^\w.+\. What/);
    expect(alarm['AlarmDescription']).toContain(section);
  }
});

test('only CloudWatch may publish to the alarm topic, only for this account, and only over TLS', () => {
  expect(prod.Resources['MonitoringAlarmsPolicy']?.Properties['PolicyDocument']).toMatchObject({
    Statement: [
      { Effect: 'Deny', Action: 'sns:Publish', Condition: { Bool: { 'aws:SecureTransport': 'false' } } },
      {
        Effect: 'Allow',
        Action: 'sns:Publish',
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Condition: { StringEquals: { 'aws:SourceAccount': ref('AWS::AccountId') } },
      },
    ],
  });
});

test('the dashboard shows every alarm', () => {
  const body = JSON.stringify(propertiesOf('AWS::CloudWatch::Dashboard'));
  const isHidden = (name: string) => !body.includes(JSON.stringify(arn(name)));
  expect(Object.keys(ofType('AWS::CloudWatch::Alarm')).filter(isHidden)).toEqual([]);
});

type Metric = { MetricName: string; MetricValue: string; DefaultValue?: number; Dimensions?: { Value: string }[] };
type Filter = { LogGroupName: { Ref: string }; FilterPattern: string; MetricTransformations: [Metric] };

const filters = Object.values(propertiesOf('AWS::Logs::MetricFilter')) as Filter[];

test('each log metric has the log, the lines, the value and the dimension (if any) that this file lists', () => {
  const ofClient = '$.message.gatewayRequestId != "smoke-test-*"';
  const others = '$.message.outcome != "refused" && $.message.outcome != "failed"';
  const store = '$.message.store';
  const expected = [
    ['AuthorizerLogs', 'AuthorizerKeysNotFetched', '$.message.outcome = "keys not fetched"', '1'],
    ['AuthorizerLogs', 'AuthorizerRefused', '$.message.outcome = "refused"', '1', '$.message.reason'],
    ...operationNames.flatMap(([, name]) =>
      [
        ['Faults', `$.message.outcome = "failed" && $.level = "ERROR" && ${ofClient}`, '1'],
        ['Succeeded', `$.message.outcome = "*" && ${others}`, '1', '$.message.outcome'],
        ['Refused', '$.message.outcome = "refused"', '1', '$.message.error'],
        ['Failed', '$.message.outcome = "failed"', '1', '$.message.error'],
        // Lines without these numbers do not count.
        ['TimeOfStore', `${store}.milliseconds >= 0`, `${store}.milliseconds`],
        ['AttemptsAtStore', `${store}.attempts >= 1`, `${store}.attempts`],
      ].map(([kind = '', ...rest]) => [`${name}Logs`, name + kind, ...rest]),
    ),
  ];
  const found = filters.map(({ LogGroupName, FilterPattern, MetricTransformations: [metric] }) => [
    LogGroupName.Ref,
    metric.MetricName,
    FilterPattern.slice(2, -2),
    metric.MetricValue,
    ...(metric.Dimensions ?? []).map(({ Value }) => Value),
  ]);
  expect(found).toEqual(expected);
});

test('a log metric is 0 without lines only if it counts lines and has no dimensions, with which CloudWatch forbids a default', () => {
  for (const [metric] of filters.map(({ MetricTransformations }) => MetricTransformations)) {
    const isTotal = metric.Dimensions === undefined && metric.MetricValue === '1';
    expect(metric, metric.MetricName).toMatchObject({ MetricNamespace: 'PlantStore' });
    expect(metric.DefaultValue, metric.MetricName).toBe(isTotal ? 0 : undefined);
  }
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

test('the dashboard shows every log metric that no alarm watches', () => {
  const shown = textOf(prod.Resources['MonitoringDashboard']?.Properties['DashboardBody']);
  const watched = Object.values(propertiesOf('AWS::CloudWatch::Alarm')).map(({ MetricName }) => MetricName);
  for (const { MetricTransformations } of filters) {
    const [{ MetricName, Dimensions = [] }] = MetricTransformations;
    if (watched.includes(MetricName)) continue;
    const [dimension] = Dimensions.map(({ Value }) => Value.replace('$.message.', ''));
    const search = String.raw`SEARCH('{\"PlantStore\",\"${dimension}\"} MetricName=\"${MetricName}\"', 'Sum', 300)`;
    expect(shown).toContain(dimension === undefined ? `"PlantStore","${MetricName}"` : search);
  }
});

test("the dashboard's name contains the region, and its URL opens it in the region of the stack", () => {
  const name = prod.Resources['MonitoringDashboard']?.Properties['DashboardName'];
  expect(textOf(name)).toBe('PlantStore-Health-REGION');
  expect(textOf(prod.Outputs['DashboardUrl']?.Value)).toBe(
    'https://REGION.console.aws.amazon.com/cloudwatch/home?region=REGION#dashboards/dashboard/PlantStore-Health-REGION',
  );
});
