/** Tests the alarms and whom they notify. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { arn, byFunction, ofType, prod, propertiesOf, ref } from '../kit/template.ts';

const soon = (threshold: number): string => `GreaterThanThreshold ${threshold}, 1 of 1 periods of 300 s`;
const lasting = (threshold: number): string => `GreaterThanThreshold ${threshold}, 3 of 3 periods of 300 s`;
const atOnce = 'GreaterThanThreshold 0, 1 of 1 periods of 60 s';

/** The metrics of each alarm, one per line, and the condition under which it goes off. */
const alarms: Record<string, string[]> = {
  Api5xxRate: [
    'IF(all > 0, 100 * FILL(answers5xx, 0) / all, 0)',
    'answers5xx: Sum of AWS/ApiGateway 5xx, ApiId=Api',
    'all: Sum of AWS/ApiGateway Count, ApiId=Api',
    soon(1),
  ],
  Api4xxRate: [
    'IF(all > 0, 100 * FILL(answers4xx, 0) / all, 0)',
    'answers4xx: Sum of AWS/ApiGateway 4xx, ApiId=Api',
    'all: Sum of AWS/ApiGateway Count, ApiId=Api',
    lasting(25),
  ],
  ApiLatencyP99: ['m1: p99 of AWS/ApiGateway Latency, ApiId=Api, Stage=$default', lasting(2_500)],
  ...byFunction((name) => {
    const alias = `FunctionName=${name}, Resource=${name}:live`;
    const timeout = Number(propertiesOf('AWS::Lambda::Function')[name]?.['Timeout']);
    return [
      [`${name}Errors`, [`m1: Sum of AWS/Lambda Errors, ${alias}`, atOnce]],
      [`${name}Throttles`, [`m1: Sum of AWS/Lambda Throttles, ${alias}`, soon(0)]],
      [`${name}Duration`, [`m1: Maximum of AWS/Lambda Duration, ${alias}`, soon(800 * timeout)]],
    ];
  }),
  CreatePlantFaults: ['Sum of PlantStore Faults', atOnce],
  AuthorizerKeysNotFetched: ['Sum of PlantStore KeysNotFetched', atOnce],
  Concurrency: ['Maximum of AWS/Lambda ConcurrentExecutions', soon(800)],
  ConflictRate: [
    'IF(refused > 0, 100 * refused / (refused + FILL(written, 0)), 0)',
    'refused: Sum of AWS/DynamoDB ConditionalCheckFailedRequests, TableName=Plants',
    'written: SampleCount of AWS/DynamoDB SuccessfulRequestLatency, Operation=PutItem, TableName=Plants',
    lasting(20),
  ],
  TableSystemErrors: ['Sum of AWS/DynamoDB SystemErrors, Operation=PutItem, TableName=Plants', soon(0)],
  TableWriteThrottles: [
    'FILL(writeThrottles,0)',
    'writeThrottles: Sum of AWS/DynamoDB WriteThrottleEvents, TableName=Plants',
    soon(0),
  ],
};

type MetricOf = { Namespace: string; MetricName: string; Dimensions?: { Name: string; Value: unknown }[] };
type Alarm = MetricOf & {
  AlarmName: string;
  Statistic: string;
  Period: number;
  ComparisonOperator: string;
  Threshold: number;
  DatapointsToAlarm: number;
  EvaluationPeriods: number;
  Metrics?: { Id: string; Expression?: string; MetricStat?: { Metric: MetricOf; Stat: string; Period: number } }[];
};

/** Describes an alarm in the form of an entry of `alarms`. */
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
  const metrics = alarm.Metrics?.map(({ Id, Expression, MetricStat }) =>
    MetricStat === undefined ? String(Expression) : `${Id}: ${line(MetricStat.Stat, MetricStat.Metric)}`,
  );
  const period = alarm.Metrics?.find(({ MetricStat }) => MetricStat)?.MetricStat?.Period ?? alarm.Period;
  const { AlarmName, ComparisonOperator, Threshold, DatapointsToAlarm, EvaluationPeriods } = alarm;
  return [
    AlarmName.replace('PlantStore-', ''),
    [
      ...(metrics ?? [line(alarm.Statistic, alarm)]),
      `${ComparisonOperator} ${Threshold}, ${DatapointsToAlarm} of ${EvaluationPeriods} periods of ${period} s`,
    ],
  ];
};

test('the stack has exactly the expected alarms, each with the expected metrics and condition', () => {
  const found = Object.values(propertiesOf('AWS::CloudWatch::Alarm')).map((alarm) => watched(alarm as Alarm));
  expect(Object.fromEntries(found)).toEqual(alarms);
});

test('the runbook has a section for each alarm, and for no other', () => {
  const runbook = readFileSync(new URL('../../docs/operate/runbook.md', import.meta.url), 'utf8');
  const [, section = ''] = /^## The alarms$(.*?)^## /ms.exec(runbook) ?? [];
  const sections = [...section.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
  expect(sections.sort()).toEqual(Object.keys(alarms).sort());
});

test('every alarm notifies the topic when it starts and ends, and missing data starts no alarm', () => {
  expect(Object.keys(ofType('AWS::SNS::Topic'))).toEqual(['MonitoringAlarms']);
  const topic = [ref('MonitoringAlarms')];
  const sent = { ActionsEnabled: true, AlarmActions: topic, OKActions: topic, TreatMissingData: 'notBreaching' };
  const found = propertiesOf('AWS::CloudWatch::Alarm');
  expect(found).toMatchObject(Object.fromEntries(Object.keys(found).map((name) => [name, sent])));
});

test('alarms of this account may publish to the topic, and nobody may without TLS', () => {
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
