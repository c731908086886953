/** Tests the metrics that CloudWatch derives from the functions' log lines, and the dashboard that shows them. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { operationNames, prod, propertiesOf } from '../kit/template.ts';

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
