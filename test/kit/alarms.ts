/**
 * Feeds metric values to the alarms of a template, and log lines to its metric filters. Knows only the forms that the
 * stack uses. https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
 */
import { runInNewContext } from 'node:vm';
import type { LogLine } from '../../packages/emulator/lambda/functions.ts';
import { propertiesOf, type Resource, resolve, type Template } from './template.ts';
import type { TrialStack } from './trial-stack.ts';

/** A value of a metric, whose name `metricName` makes. */
export type Value = [metric: string, value: number];

type Metric = { Namespace: string; MetricName: string; Dimensions?: { Value: unknown }[] };
type Query = {
  Id: string;
  Expression?: string;
  MetricStat?: { Metric: Metric; Stat: string; Period: number };
  ReturnData?: boolean;
};
type Alarm = Metric & {
  AlarmName: string;
  Metrics?: Query[];
  Statistic?: string;
  ExtendedStatistic?: string;
  Period: number;
  EvaluationPeriods: number;
  Threshold: number;
};

/** @example 'AWS/Lambda Errors CreatePlant CreatePlant:live' */
const metricName = ({ Namespace, MetricName, Dimensions = [] }: Metric): string =>
  [Namespace, MetricName, ...Dimensions.map(({ Value }) => resolve(Value))].join(' ');

const nameOf = (alarm: Resource['Properties'] = {}): string => String(alarm['AlarmName']).replace(/^.*-/, '');

/**
 * Returns the names of the alarms that go off, without the stack's name.
 * @param minutes the values of all metrics in each minute
 */
export const raisedAlarms = (template: object, minutes: readonly (readonly Value[])[]): string[] =>
  Object.values(propertiesOf('AWS::CloudWatch::Alarm', template as Template))
    .filter((alarm) => minutes.some((_, last) => isRaised(alarm as Alarm, minutes.slice(0, last + 1))))
    .map(nameOf);

/** Whether the alarm is on at the end of these minutes: each of its last periods is over the limit. */
const isRaised = (alarm: Alarm, minutes: readonly (readonly Value[])[]): boolean => {
  const { Statistic, ExtendedStatistic: Stat = Statistic ?? '', Period, EvaluationPeriods, Threshold } = alarm;
  const queries = alarm.Metrics ?? [{ Id: 'only', MetricStat: { Metric: alarm, Stat, Period } }];
  const length = (queries.find(({ MetricStat }) => MetricStat)?.MetricStat?.Period ?? 0) / 60;
  return Array.from({ length: EvaluationPeriods }, (_, index) => minutes.length - index * length).every(
    (end) => watched(queries, minutes.slice(Math.max(0, end - length), Math.max(0, end)).flat()) > Threshold,
  );
};

/** Computes what an alarm watches: one metric, or an expression, which is valid JavaScript. NaN if there are no data. */
const watched = (queries: Query[], values: readonly Value[]): number => {
  const scope: Record<string, unknown> = {
    FILL: (value: number, filler: number) => (Number.isNaN(value) ? filler : value),
    IF: (isTrue: boolean, then: number, otherwise: number) => (isTrue ? then : otherwise),
  };
  for (const { Id, Expression = '', MetricStat: metric } of queries) {
    const get = () => (metric ? statistic(metric.Stat, metric.Metric, values) : runInNewContext(Expression, scope));
    Object.defineProperty(scope, Id, { get });
  }
  return Number(scope[queries.find(({ ReturnData }) => ReturnData !== false)?.Id ?? '']);
};

const statistic = (stat: string, metric: Metric, values: readonly Value[]): number => {
  const own = values.flatMap(([name, value]) => (name === metricName(metric) ? [value] : [])).sort((a, b) => a - b);
  if (own.length === 0) return Number.NaN;
  if (stat === 'SampleCount') return own.length;
  if (stat === 'Sum') return own.reduce((sum, each) => sum + each, 0);
  const share = stat === 'Maximum' ? 1 : Number(stat.replace('p', '')) / 100;
  return own[Math.ceil(share * own.length) - 1] ?? Number.NaN;
};

/** Returns the names of the alarms that roll back a new version of a function. @throws Error if there are none */
export const rollBackAlarms = (template: object, functionName: string): string[] => {
  const { Resources } = template as Template;
  const alias = Object.values(Resources).find(
    ({ Type, Properties }) => Type === 'AWS::Lambda::Alias' && resolve(Properties['FunctionName']) === functionName,
  );
  const { CodeDeployLambdaAliasUpdate: update } = Object(alias?.UpdatePolicy);
  const { Enabled, Alarms } = Object(Resources[resolve(update.DeploymentGroupName)]?.Properties['AlarmConfiguration']);
  if (Enabled !== true) throw new Error(`No alarm rolls back the function ${functionName}.`);
  return (Alarms as { Name: unknown }[]).map(({ Name }) => nameOf(Resources[resolve(Name)]?.Properties));
};

type Filter = {
  LogGroupName: unknown;
  FilterPattern: string;
  MetricTransformations: [Metric & { MetricNamespace: string; MetricValue: string; DefaultValue?: number }];
};

/** Returns the template's metric filters, each with the name of the function whose log it reads. */
export const metricFilters = (template: object) => {
  const functions = Object.entries(propertiesOf('AWS::Lambda::Function', template as Template));
  const filters = Object.values(propertiesOf('AWS::Logs::MetricFilter', template as Template)) as Filter[];
  return filters.map(({ LogGroupName, FilterPattern: pattern, MetricTransformations: [metric] }) => ({
    of: functions.find(
      ([, { LoggingConfig }]) => resolve(Object(LoggingConfig).LogGroup) === resolve(LogGroupName),
    )?.[0],
    pattern,
    metric: metricName({ ...metric, Namespace: metric.MetricNamespace, Dimensions: [] }),
    // Only the filters that count all their lines in one metric have alarms.
    counts: metric.MetricValue === '1' && metric.Dimensions === undefined,
  }));
};

/** Returns what log lines add to the metrics that alarms watch. */
export const valuesOfLog = (template: object, log: readonly LogLine[]): Value[] =>
  metricFilters(template).flatMap(({ of, pattern, metric, counts }) =>
    log
      .filter((line) => counts && line.functionName === of && matchesPattern(pattern, line))
      .map((): Value => [metric, 1]),
  );

const condition = /^\$\.([\w.]+) (=|!=|>=) (?:"(.*?)(\*?)"|(\d+))$/;

/**
 * Whether a log line matches a metric filter's pattern: conditions on fields, joined by `&&`.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntaxForMetricFilters.html
 */
export const matchesPattern = (pattern: string, line: object): boolean =>
  pattern
    .replace(/^\{ (.+) \}$/, '$1')
    .split(' && ')
    .every((each) => {
      const [, path = '', operator, text = '', wildcard, number] = condition.exec(each) ?? [];
      if (operator === undefined) throw new Error(`The condition ${each} cannot be evaluated here.`);
      const value = path.split('.').reduce<unknown>((parent, name) => Object(parent)[name], line);
      // No condition is true for a missing field or an object, not even one with `!=`.
      if (typeof value !== 'string' && typeof value !== 'number') return false;
      if (number !== undefined) return Number(value) >= Number(number);
      return (operator === '=') === (wildcard ? String(value).startsWith(text) : value === text);
    });

/** Sends one request, and returns what it adds to the metrics that alarms watch, and what the functions logged. */
export const record = async (template: object, stack: TrialStack, request: () => Promise<unknown>) => {
  const before = [stack.log.length, stack.invocations.length] as const;
  await request();
  const invoked = stack.invocations.slice(before[1]);
  const log = invoked.flatMap(({ outcome }) => outcome.log);
  const [Api = ''] = Object.keys(propertiesOf('AWS::ApiGatewayV2::Api', template as Template));
  const responses = stack.log.slice(before[0]).flatMap(({ status }): Value[] => [
    [`AWS/ApiGateway Count ${Api}`, 1],
    [`AWS/ApiGateway 4xx ${Api}`, Number(status >= 400 && status < 500)],
    [`AWS/ApiGateway 5xx ${Api}`, Number(status >= 500)],
  ]);
  const failures = invoked.map(
    ({ functionName: name, outcome }): Value => [
      `AWS/Lambda Errors ${name} ${name}:live`,
      Number('failure' in outcome),
    ],
  );
  return { values: [...responses, ...failures, ...valuesOfLog(template, log)], log };
};
