/** Tests the metrics that CloudWatch derives from the functions' log lines, and the dashboard that shows them. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ofType, operationNames, prod, propertiesOf } from '../kit/template.ts';

type Filter = {
  LogGroupName: { Ref: string };
  FilterPattern: string;
  MetricTransformations: { MetricName: string; MetricValue: string; Dimensions?: { Value: string }[] }[];
};

const filters = Object.values(propertiesOf('AWS::Logs::MetricFilter')) as Filter[];

/**
 * The metrics that record a value instead of counting log lines. For each: the suffix of its name, the field of
 * `message.store` that it records, the smallest value that the field can have, and the unit.
 */
const numbers = [
  ['TimeOfStore', 'milliseconds', 0, 'Milliseconds'],
  ['AttemptsAtStore', 'attempts', 1, 'Count'],
] as const;

const isNumber = ({ MetricTransformations: [metric] }: Filter) => metric?.MetricValue !== '1';

test('each metric that counts log lines has the log, the outcomes and the dimension (if any) that are listed in this file', () => {
  const counted = filters
    .filter((each) => !isNumber(each))
    .map(({ LogGroupName, FilterPattern, MetricTransformations: [metric] }) => [
      LogGroupName.Ref,
      metric?.MetricName,
      FilterPattern,
      ...(metric?.Dimensions ?? []).map(({ Value }) => Value),
    ]);
  const ofClient = '$.message.gatewayRequestId != "smoke-test-*"';
  const others = '$.message.outcome != "refused" && $.message.outcome != "failed"';
  expect(counted).toEqual([
    ['AuthorizerLogs', 'AuthorizerKeysNotFetched', '{ $.message.outcome = "keys not fetched" }'],
    ['AuthorizerLogs', 'AuthorizerRefused', '{ $.message.outcome = "refused" }', '$.message.reason'],
    ...operationNames.flatMap(([, name]) => [
      [`${name}Logs`, `${name}Faults`, `{ $.message.outcome = "failed" && $.level = "ERROR" && ${ofClient} }`],
      [`${name}Logs`, `${name}Succeeded`, `{ $.message.outcome = "*" && ${others} }`, '$.message.outcome'],
      [`${name}Logs`, `${name}Refused`, '{ $.message.outcome = "refused" }', '$.message.error'],
      [`${name}Logs`, `${name}Failed`, '{ $.message.outcome = "failed" }', '$.message.error'],
    ]),
  ]);
});

test("each metric that counts log lines is in the stack's namespace, adds 1 for a matching line, and nothing for other lines", () => {
  for (const { MetricTransformations } of filters.filter((each) => !isNumber(each))) {
    expect(MetricTransformations).toEqual([
      expect.objectContaining({ MetricNamespace: 'PlantStore', MetricValue: '1' }),
    ]);
    expect(MetricTransformations).toEqual([expect.toSatisfy(({ DefaultValue = 0 }) => DefaultValue === 0)]);
  }
});

test('each operation has metrics for how long the store took and for how many attempts the SDK made; log lines without these numbers do not count', () => {
  expect(filters.filter(isNumber)).toEqual(
    operationNames.flatMap(([, name]) =>
      numbers.map(([kind, field, least, Unit]) => ({
        LogGroupName: { Ref: `${name}Logs` },
        FilterPattern: `{ $.message.store.${field} >= ${least} }`,
        MetricTransformations: [
          { MetricNamespace: 'PlantStore', MetricName: name + kind, MetricValue: `$.message.store.${field}`, Unit },
        ],
      })),
    ),
  );
});

test('the runbook names every outcome that a log metric counts', () => {
  const runbook = readFileSync(new URL('../../docs/operate/runbook.md', import.meta.url), 'utf8');
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

test('the stack has one dashboard, which shows the log metrics and has the region in its name', () => {
  expect(Object.keys(ofType('AWS::CloudWatch::Dashboard'))).toEqual(['MonitoringDashboard']);
  const { DashboardName, DashboardBody } = prod.Resources['MonitoringDashboard']?.Properties ?? {};
  expect(DashboardName).toEqual({ 'Fn::Join': ['', ['PlantStore-Health-', { Ref: 'AWS::Region' }]] });
  expect(JSON.stringify(prod.Outputs['DashboardUrl'])).toContain('dashboard/PlantStore-Health-');
  const [, parts] = (DashboardBody as { 'Fn::Join': [string, unknown[]] })['Fn::Join'];
  const text = parts.map((part) => (typeof part === 'string' ? part : 'X')).join('');
  const { widgets } = JSON.parse(text) as { widgets: { properties: { title?: string; metrics?: unknown[] } }[] };
  const metricsOf = (title: string) => widgets.find(({ properties }) => properties.title === title)?.properties.metrics;
  expect(metricsOf('Outcomes, from the log')).toMatchObject(
    [
      ['AuthorizerRefused', 'reason'],
      ...operationNames.flatMap(([, name]) => [
        [`${name}Succeeded`, 'outcome'],
        [`${name}Refused`, 'error'],
        [`${name}Failed`, 'error'],
      ]),
    ].map(([metric, dimension]) => [
      { expression: `SEARCH('{"PlantStore","${dimension}"} MetricName="${metric}"', 'Sum', 300)` },
    ]),
  );
  expect(metricsOf('Time of the store, from the log')).toEqual(
    operationNames.flatMap(([, name]) =>
      ['p50', 'p90', 'p99'].map((stat) => ['PlantStore', `${name}TimeOfStore`, { label: `${name} ${stat}`, stat }]),
    ),
  );
  // These metrics have no `stat`, because Average is the dashboard's default.
  expect(metricsOf('Average attempts at the store, from the log')).toEqual(
    operationNames.map(([, name]) => ['PlantStore', `${name}AttemptsAtStore`, { label: name }]),
  );
});
