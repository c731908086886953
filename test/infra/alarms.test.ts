/** Tests the CloudWatch alarms: their metrics and conditions, and whom they notify. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { grants } from '../../infra/grants.ts';
import { arn, byFunction, byOperation, functionNames, ofType, prod, propertiesOf, ref } from '../kit/template.ts';

const soon = (threshold: number): string => `GreaterThanThreshold ${threshold}, 1 of 1 periods of 300 s`;
const lasting = (threshold: number): string => `GreaterThanThreshold ${threshold}, 3 of 3 periods of 300 s`;
const atOnce = 'GreaterThanThreshold 0, 1 of 1 periods of 60 s';

/** DynamoDB operations that the functions may call. `conditional` lists those that can have a ConditionExpression. */
const called = [...new Set(Object.values(grants).flat())].map((action) => action.replace('dynamodb:', ''));
const conditional = called.filter((operation) => ['PutItem', 'UpdateItem', 'DeleteItem'].includes(operation));

/**
 * Returns the metrics expected of an alarm that reads the table's `metric`: one for each DynamoDB operation in
 * `operations`.
 */
const each = (operations: string[], metric: string): string[] =>
  operations.map((operation) => `on${operation}: ${metric}, Operation=${operation}, TableName=Plants`);
const filled = (operations: string[]): string[] => operations.map((operation) => `FILL(on${operation}, 0)`);

/** For each alarm, its metrics, one per line, and the condition under which the alarm goes off. */
const alarms: Record<string, string[]> = {
  Api5xxRate: [
    'IF(all > 0, 100 * FILL(some, 0) / all, 0)',
    'some: Sum of AWS/ApiGateway 5xx, ApiId=Api',
    'all: Sum of AWS/ApiGateway Count, ApiId=Api',
    soon(1),
  ],
  Api4xxRate: [
    'IF(all > 0, 100 * FILL(some, 0) / all, 0)',
    'some: Sum of AWS/ApiGateway 4xx, ApiId=Api',
    'all: Sum of AWS/ApiGateway Count, ApiId=Api',
    lasting(25),
  ],
  ApiLatencyP99: ['p99 of AWS/ApiGateway Latency, ApiId=Api', lasting(2_500)],
  ...byFunction((name) => {
    const alias = `FunctionName=${name}, Resource=${name}:live`;
    const timeout = Number(propertiesOf('AWS::Lambda::Function')[name]?.['Timeout']);
    return [
      [`${name}Errors`, [`Sum of AWS/Lambda Errors, ${alias}`, atOnce]],
      [`${name}Throttles`, [`Sum of AWS/Lambda Throttles, ${alias}`, soon(0)]],
      [`${name}Duration`, [`Maximum of AWS/Lambda Duration, ${alias}`, soon(800 * timeout)]],
    ];
  }),
  ...byOperation((name) => [[`${name}Faults`, [`Sum of PlantStore ${name}Faults`, atOnce]]]),
  AuthorizerKeysNotFetched: ['Sum of PlantStore AuthorizerKeysNotFetched', atOnce],
  Concurrency: ['Maximum of AWS/Lambda ConcurrentExecutions', soon(800)],
  ConflictRate: [
    'IF(all > 0, 100 * FILL(some, 0) / all, 0)',
    'some: Sum of AWS/DynamoDB ConditionalCheckFailedRequests, TableName=Plants',
    `all: ${['FILL(some, 0)', ...filled(conditional)].join(' + ')}`,
    ...each(conditional, 'SampleCount of AWS/DynamoDB SuccessfulRequestLatency'),
    lasting(20),
  ],
  TableSystemErrors: [filled(called).join(' + '), ...each(called, 'Sum of AWS/DynamoDB SystemErrors'), soon(0)],
  TableThrottles: [
    'FILL(read, 0) + FILL(write, 0)',
    'read: Sum of AWS/DynamoDB ReadThrottleEvents, TableName=Plants',
    'write: Sum of AWS/DynamoDB WriteThrottleEvents, TableName=Plants',
    soon(0),
  ],
};

type MetricOf = { Namespace: string; MetricName: string; Dimensions?: { Name: string; Value: unknown }[] };
type Alarm = MetricOf & {
  AlarmName: string;
  Statistic?: string;
  ExtendedStatistic?: string;
  Period: number;
  ComparisonOperator: string;
  Threshold: number;
  EvaluationPeriods: number;
  Metrics?: {
    Id: string;
    Expression?: string;
    ReturnData: boolean;
    MetricStat?: { Metric: MetricOf; Stat: string; Period: number };
  }[];
};

/** Describes an alarm of the template in the same form as an entry of `alarms`. */
const watched = (alarm: Alarm): [name: string, lines: string[]] => {
  const plain = (value: unknown): string =>
    JSON.stringify(value)
      .replaceAll(/{"Ref":"(\w+)"}/g, '$1')
      .replaceAll(/{"Fn::Join":\["",\[(\w+),"(:live)"\]\]}/g, '$1$2')
      .replaceAll('"', '');
  const line = (stat: string, { Namespace, MetricName, Dimensions = [] }: MetricOf): string =>
    [`${stat} of ${Namespace} ${MetricName}`, ...Dimensions.map(({ Name, Value }) => `${Name}=${plain(Value)}`)].join(
      ', ',
    );
  const metrics = alarm.Metrics?.map(({ Id, Expression, MetricStat, ReturnData }) => {
    const watched = MetricStat === undefined ? String(Expression) : line(MetricStat.Stat, MetricStat.Metric);
    return ReturnData ? watched : `${Id}: ${watched}`;
  });
  const period = alarm.Metrics?.find(({ MetricStat }) => MetricStat)?.MetricStat?.Period ?? alarm.Period;
  const { AlarmName, ComparisonOperator, Threshold, EvaluationPeriods: periods } = alarm;
  return [
    AlarmName.replace('PlantStore-', ''),
    [
      ...(metrics ?? [line(alarm.Statistic ?? alarm.ExtendedStatistic ?? '', alarm)]),
      // No alarm has the setting DatapointsToAlarm, so an alarm goes off only if all its periods meet the condition.
      `${ComparisonOperator} ${Threshold}, ${periods} of ${periods} periods of ${period} s`,
    ],
  ];
};

test('the stack has exactly the alarms that this file lists, each with the listed metrics and condition', () => {
  const found = Object.values(propertiesOf('AWS::CloudWatch::Alarm')).map((alarm) => watched(alarm as Alarm));
  expect(Object.fromEntries(found)).toEqual(alarms);
});

test('an alarm goes off only if its metric is over the limit in all evaluation periods, not only in some', () => {
  const found = Object.values(propertiesOf('AWS::CloudWatch::Alarm'));
  expect(found.filter((alarm) => 'DatapointsToAlarm' in alarm)).toEqual([]);
});

test('the runbook has one section for each kind of alarm, and its first table links to each of these sections', () => {
  const runbook = readFileSync(new URL('../../docs/operate/runbook.md', import.meta.url), 'utf8');
  const [, section = ''] = /^## The alarms$(.*?)^## /ms.exec(runbook) ?? [];
  const sections = [...section.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
  // All functions have the same kinds of alarms, so the runbook has no section per function.
  const kinds = Object.keys(alarms).map((alarm) => alarm.replace(new RegExp(`^(${functionNames.join('|')})`), ''));
  expect(sections.sort()).toEqual([...new Set(kinds)].sort());
  const [table = ''] = /(?:^\|.*\n)+/m.exec(runbook) ?? [];
  const rows = [...table.matchAll(/^\| …?\[(\w+)\]\(#(\w+)\) \| \S/gm)];
  expect(rows.map(([, name]) => name).sort()).toEqual(sections);
  expect(rows.filter(([, name = '', heading]) => name.toLowerCase() !== heading)).toEqual([]);
});

test('every alarm notifies the topic when it goes off and when it ends, and missing data does not make an alarm go off', () => {
  expect(Object.keys(ofType('AWS::SNS::Topic'))).toEqual(['MonitoringAlarms']);
  const topic = [ref('MonitoringAlarms')];
  const sent = { AlarmActions: topic, OKActions: topic, TreatMissingData: 'notBreaching' };
  const found = propertiesOf('AWS::CloudWatch::Alarm');
  expect(found).toMatchObject(Object.fromEntries(Object.keys(found).map((name) => [name, sent])));
  // ActionsEnabled must not be set: the default, true, lets the alarms notify.
  expect(Object.values(found).filter((alarm) => 'ActionsEnabled' in alarm)).toEqual([]);
});

test('only CloudWatch may publish to the alarm topic, only for this account, and only over TLS', () => {
  const { Properties } = prod.Resources['MonitoringAlarmsPolicy'] ?? {};
  expect(Properties).toMatchObject({
    Topics: [ref('MonitoringAlarms')],
    PolicyDocument: {
      Statement: [
        { Effect: 'Deny', Action: 'sns:Publish', Condition: { Bool: { 'aws:SecureTransport': 'false' } } },
        {
          Effect: 'Allow',
          Action: 'sns:Publish',
          Principal: { Service: 'cloudwatch.amazonaws.com' },
          Resource: ref('MonitoringAlarms'),
          Condition: { StringEquals: { 'aws:SourceAccount': ref('AWS::AccountId') } },
        },
      ],
    },
  });
});

test('the dashboard shows every alarm', () => {
  const body = JSON.stringify(Object.values(propertiesOf('AWS::CloudWatch::Dashboard')));
  const hidden = Object.keys(ofType('AWS::CloudWatch::Alarm')).filter(
    (name) => !body.includes(JSON.stringify(arn(name))),
  );
  expect(hidden).toEqual([]);
});
