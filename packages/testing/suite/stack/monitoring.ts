/**
 * Tests that each operation, the authorizer and each queue have their alarms, metrics of log lines and graphs, and that
 * docs/operate/runbook.md explains them. packages/cdk/test/ tests what an alarm does.
 */
import { readFileSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import { functionNames, operationNames, prod, propertiesOf, resolve } from '../../stack/template.ts';
import { raisedAlarms, type Value } from '../../trial/alarms.ts';
import { hasOutsideCheck } from '../../under-test.ts';

const stackName = inject('stackName');
const alarms = propertiesOf('AWS::CloudWatch::Alarm');
const nameOf = (alarm: (typeof alarms)[string]): string => String(alarm['AlarmName']).replace(`${stackName}-`, '');
/** The limits that a team can choose. */
const limitOf = (name: string) => Number(Object.values(alarms).find((each) => nameOf(each) === name)?.['Threshold']);
const operations = operationNames.map(([, name]) => name);

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
  ['Api4xxRate', limitOf('Api4xxRate'), 900, shareOf4xx],
  ['AuthorizerKeysNotFetched', 0, 900, metric(`${stackName} AuthorizerKeysNotFetched`)],
  ['Concurrency', limitOf('Concurrency'), 300, metric('AWS/Lambda ConcurrentExecutions')],
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
  ...operations.map((name): Row => [`${name}Faults`, 0, 60, metric(`${stackName} ${name}Faults`)]),
];

/** Each promise has these alarms. */
const windows = ['1h', '5m', '1d', '6h'].flatMap((window) => [`Availability${window}`, `Latency${window}`]);

const everyAlarm = [...Object.values(alarms), ...Object.values(propertiesOf('AWS::CloudWatch::CompositeAlarm'))];
const prefixes = [...functionNames, ...deadLetters.map(([name]) => name)];
/** All functions have the same kinds of alarms, and so has each promise; the runbook has a section for each kind. */
const kindOf = (name: string): string =>
  name.replace(new RegExp(`^(${prefixes.join('|')})`), '').replace(/\d[mhd]$/, '');

type Metric = { MetricName: string; MetricNamespace: string; DefaultValue?: number };
type Filter = { LogGroupName: { Ref: string }; FilterPattern: string; MetricTransformations: [Metric] };

/** @param own the names of the alarms that the stack has besides those of every service */
export const testMonitoring = (own: string[] = []): void => {
  const runbook = readFileSync('docs/operate/runbook.md', 'utf8');

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

  test('the stack has the alarms of every service, and no others but those that testStack is given', () => {
    const names = [
      ...own,
      ...(hasOutsideCheck ? ['OutsideCheck'] : []),
      ...[...tickets, ...rollBacks].map(([name]) => name),
    ];
    const advice = 'Name more of them in `alarms` of testStack';
    expect(Object.values(alarms).map(nameOf).sort(), advice).toEqual([...names, ...windows].sort());
  });

  test('the runbook has one section for each kind of alarm, and its first table links to each of these sections', () => {
    const [, section = ''] = /^## The alarms$(.*?)^## /ms.exec(runbook) ?? [];
    const sections = [...section.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
    const kinds = everyAlarm.map((alarm) => kindOf(nameOf(alarm)));
    const advice = 'The sections below "The alarms" in docs/operate/runbook.md must have these names';
    expect(sections.sort(), advice).toEqual([...new Set([...kinds, 'DeadLetters'])].sort());
    const [table = ''] = /(?:^\|.*\n)+/m.exec(runbook) ?? [];
    const links = [...table.matchAll(/^\| …?\[(\w+)\]\(#(\w+)\) \| \S/gm)];
    expect(links.map(([, name]) => name).sort()).toEqual(sections);
    expect(links.filter(([, name = '', heading]) => name.toLowerCase() !== heading)).toEqual([]);
  });

  test('the commands of the runbook name only alarms of the stack', () => {
    const names = [...runbook.matchAll(/--alarm-name \S+-(\w+)/g)].map(([, name]) => name);
    expect(names.filter((name) => !everyAlarm.some((alarm) => nameOf(alarm) === name))).toEqual([]);
  });

  test.each([
    ['Api4xxRate', 25],
    ['Concurrency', 800],
  ])('the first table of docs/operate/runbook.md says over which limit %s goes off, unless it is %i', (name, usual) => {
    const [, said = usual] = new RegExp(`^\\| \\[${name}\\].* over (\\d+(?:\\.\\d+)?)`, 'm').exec(runbook) ?? [];
    expect(Number(said), `Say in the row of ${name}: over ${limitOf(name)}`).toBe(limitOf(name));
  });

  test.each(everyAlarm.map((each) => [nameOf(each), each['AlarmDescription']]))(
    'the mail of %s says what is wrong, and what to do',
    (name, text) => {
      expect(text).toMatch(/^\w.+\. What/);
      expect(text).toContain(`What to do: docs/operate/runbook.md, ${kindOf(String(name))}.`);
    },
  );

  const filters = Object.values(propertiesOf('AWS::Logs::MetricFilter')) as Filter[];

  test('only what has an alarm is a log metric, and only one that rolls back is 0 without lines: its alarm must end soon', () => {
    const faults = '$.message.outcome = "failed" && $.level = "ERROR" && $.message.gatewayRequestId != "smoke-test-*"';
    const counted = (of: string, kind: string, lines: string, more = {}) => ({
      LogGroupName: { Ref: `${of}Logs` },
      FilterPattern: `{ ${lines} }`,
      MetricTransformations: [{ MetricNamespace: stackName, MetricName: of + kind, MetricValue: '1', ...more }],
    });
    const expected = [
      counted('Authorizer', 'KeysNotFetched', '$.message.outcome = "keys not fetched"'),
      ...operations.map((name) => counted(name, 'Faults', faults, { DefaultValue: 0 })),
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

  const dashboard = JSON.stringify(prod.Resources['MonitoringDashboard']?.Properties['DashboardBody']);
  const logs = (name: string) => `SOURCE '",{"Ref":"${name}Logs"},"' | `;

  test('the dashboard counts the outcomes in the logs of all functions', () => {
    const counted = 'stats count() as requests by message.outcome, message.error, message.reason';
    expect(dashboard).toContain(counted);
    const [sources = ''] =
      /(?:SOURCE '",\{"Ref":"\w+"\},"' \| )+(?=filter ispresent\(message\.outcome\))/.exec(dashboard) ?? [];
    const named = [...sources.matchAll(/"(\w+)Logs"/g)].map(([, name]) => name);
    expect(named.sort()).toEqual([...functionNames].sort());
  });

  test.each(operations)('the dashboard draws the store time and attempts of %s', (name) => {
    const times = [50, 90, 99].map((percent) => `pct(message.store.milliseconds, ${percent})`).join(', ');
    for (const values of [times, 'avg(message.store.attempts)'])
      expect(dashboard).toContain(`${logs(name)}stats ${values} by bin(5m)`);
  });

  test('the dashboard finds the metrics of each operation that is called on a table', () => {
    const searches = dashboard.split("SEARCH('{AWS/DynamoDB,TableName,Operation} TableName=").length - 1;
    expect(searches).toBe(2 * Object.keys(propertiesOf('AWS::DynamoDB::GlobalTable')).length);
  });
};
