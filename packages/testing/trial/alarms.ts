/**
 * Feeds metric values to the alarms of a template, and log lines to its metric filters. Knows only the forms that the
 * stack uses. https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
 */
import { compileFunction } from 'node:vm';
import type { LogLine } from 'http-api-emulator';
import { propertiesOf, type Resource, resolve, type Template } from '../stack/template.ts';
import type { TrialStack } from './trial-stack.ts';

/** A value of a metric, whose name `metricName` makes, and how often it occurs (once, if not set). */
export type Value = [metric: string, value: number, times?: number];

/** So many minutes with the same values in each minute. */
export type Span = [minutes: number, values: readonly Value[]];

type Metric = { Namespace: string; MetricName: string; Dimensions?: { Value: unknown }[] };
type MetricStat = { Metric: Metric; Stat: string; Period: number };
type Query = { Id: string; Expression?: string; MetricStat?: MetricStat };
type Alarm = Metric & {
  Metrics?: Query[];
  Statistic?: string;
  Period: number;
  EvaluationPeriods: number;
  Threshold: number;
  ComparisonOperator: string;
  TreatMissingData: string;
};

/** @example 'AWS/Lambda Errors CreateOrder CreateOrder:live' */
const metricName = ({ Namespace, MetricName, Dimensions = [] }: Metric): string =>
  [Namespace, MetricName, ...Dimensions.map(({ Value }) => resolve(Value))].join(' ');

const nameOf = (alarm: Resource['Properties'] = {}): string => String(alarm['AlarmName']).replace(/^.*-/, '');

/**
 * Returns the names of the alarms that go off, without the stack's name.
 * @param minutes the values of all metrics in each minute
 */
export const raisedAlarms = (template: object, minutes: readonly (readonly Value[])[]): string[] =>
  Object.entries(
    rehearse(
      template,
      minutes.map((values): Span => [1, values]),
    ),
  )
    .filter(([, states]) => states.includes(true))
    .map(([name]) => name);

/** The metric of the check from outside: 1 if it fails. */
export const check = 'AWS/Lambda Errors OutsideCheck';

const withCheck = ([minutes, values]: Span): Span => [
  minutes,
  values.some(([name]) => name === check) ? values : [[check, 0], ...values],
];

/**
 * Evaluates all alarms at the end of each minute. In minutes without a value of `check`, the check succeeds.
 * @returns for each alarm, whether it is on after each minute
 */
export const rehearse = (template: object, given: readonly Span[]): Record<string, boolean[]> => {
  const spans = given.map(withCheck);
  const lengthOf = (some: readonly Span[]) => some.reduce((sum, [minutes]) => sum + minutes, 0);
  const length = lengthOf(spans);
  const starts = spans.map((_, index) => lengthOf(spans.slice(0, index)));
  const states: Record<string, boolean[]> = {};
  const evaluate = (type: string, start: (alarm: Resource['Properties']) => (end: number) => boolean) =>
    Object.entries(propertiesOf(`AWS::CloudWatch::${type}`, template as Template)).map(([id, alarm]): string => {
      const isOn = start(alarm);
      states[id] = Array.from({ length }, (_, minute) => isOn(minute + 1));
      return id;
    });
  const ids = [
    ...evaluate('Alarm', (alarm) => {
      const { isOver, minutes } = metricAlarm(alarm as Alarm);
      let isOn = false;
      return (end) => {
        // Nothing changes while all minutes that the alarm reads, now and a minute ago, are in one span.
        const isSettled = !starts.some((start) => start > end - 1 - minutes && start < end);
        if (!isSettled) isOn = isOver(spans, end);
        return isOn;
      };
    }),
    ...evaluate('CompositeAlarm', ({ AlarmRule }) => {
      const rule = compositeRule(resolve(AlarmRule));
      return (end) => rule((id) => states[id]?.[end - 1] === true);
    }),
  ];
  const { Resources } = template as Template;
  return Object.fromEntries(ids.map((id) => [nameOf(Resources[id]?.Properties), states[id] ?? []]));
};

const operators: Record<string, (value: number, threshold: number) => boolean> = {
  GreaterThanThreshold: (value, threshold) => value > threshold,
  GreaterThanOrEqualToThreshold: (value, threshold) => value >= threshold,
};

/**
 * Returns how many minutes the alarm reads, and whether it is on after the minute `end`: whether all of its last
 * periods are beyond the threshold.
 */
const metricAlarm = (alarm: Alarm) => {
  const isBeyond = operators[alarm.ComparisonOperator];
  const { Statistic: Stat = '', Period, EvaluationPeriods, Threshold, TreatMissingData } = alarm;
  const queries = alarm.Metrics ?? [{ Id: 'only', MetricStat: { Metric: alarm, Stat, Period } }];
  const metrics = queries.flatMap(({ Id, MetricStat }) => (MetricStat ? [{ Id, ...MetricStat }] : []));
  const names = metrics.map(({ Metric }) => metricName(Metric).replace(new RegExp(`^${check}[0-9A-F]{8}$`), check));
  // An expression, such as `IF(all > 0, some / all, 0)`, is valid JavaScript. Missing data are NaN.
  const { Expression = 'only' } = queries.find((query) => query.Expression) ?? {};
  const compute = compileFunction(`return ${Expression}`, ['FILL', 'IF', ...metrics.map(({ Id }) => Id)]);
  const needed = metrics.map(({ Id }) => new RegExp(`(?<!FILL\\()\\b${Id}\\b`).test(Expression));
  const length = (metrics[0]?.Period ?? Number.NaN) / 60;
  if (!isBeyond || metrics.some((each) => each.Period !== length * 60))
    throw new Error('This alarm is not known here.');
  // CloudWatch reads more periods than it evaluates (five, for three), and takes the last ones that have data.
  const periods = EvaluationPeriods + 2;
  const isOver = (spans: readonly Span[], end: number): boolean => {
    const points: number[] = [];
    for (let period = 0; period < periods && points.length < EvaluationPeriods; period += 1) {
      const last = end - period * length;
      const values = valuesIn(spans, last - length, last);
      const inputs = metrics.map(({ Stat }, at) => statistic(Stat, names[at], values));
      const isMissing = inputs.some((each, at) => needed[at] && Number.isNaN(each));
      if (!isMissing) points.push(Number(compute(fill, choose, ...inputs)));
    }
    const isFull = points.length === EvaluationPeriods || TreatMissingData === 'breaching';
    return isFull && points.every((each) => isBeyond(each, Threshold));
  };
  return { minutes: periods * length, isOver };
};

const fill = (value: number, filler: number): number => (Number.isNaN(value) ? filler : value);
const choose = (isTrue: boolean, then: number, otherwise: number): number => (isTrue ? then : otherwise);

/** Reads a rule such as `(ALARM("Id.Arn") AND ALARM("Other.Arn"))`. */
const compositeRule = (rule: string) => {
  const operands = rule.replaceAll(/ALARM\("(\w+)\.Arn"\)/g, 'isOn("$1")');
  const compute = compileFunction(`return ${operands.replaceAll(' AND ', ' && ').replaceAll(' OR ', ' || ')}`, [
    'isOn',
  ]);
  return (isOn: (id: string) => boolean): boolean => Boolean(compute(isOn));
};

/** Returns the values after minute `from`, up to minute `to`. */
const valuesIn = (spans: readonly Span[], from: number, to: number): Value[] => {
  let start = 0;
  return spans.flatMap(([minutes, values]) => {
    const shared = Math.min(to, start + minutes) - Math.max(from, start);
    start += minutes;
    return shared > 0 ? values.map(([name, value, times = 1]): Value => [name, value, times * shared]) : [];
  });
};

/** https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Statistics-definitions.html */
const statistic = (stat: string, metric: string | undefined, values: readonly Value[]): number => {
  const own = values.filter(([name, , times]) => name === metric && times !== 0);
  if (own.length === 0) return Number.NaN;
  const total = (some: readonly Value[], of: (value: number) => number) =>
    some.reduce((sum, [, value, times = 1]) => sum + of(value) * times, 0);
  if (stat === 'Sum') return total(own, (value) => value);
  if (stat === 'Average') return total(own, (value) => value) / total(own, () => 1);
  if (stat === 'Maximum') return Math.max(...own.map(([, value]) => value));
  const [, bound] = /^PR\((\d+):\)$/.exec(stat) ?? [];
  if (bound === undefined) throw new Error(`The statistic ${stat} is not known here.`);
  const over = own.filter(([, value]) => value > Number(bound));
  return (100 * total(over, () => 1)) / total(own, () => 1);
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
export const record = async <T>(template: object, stack: TrialStack, request: () => Promise<T>) => {
  const before = [stack.log.length, stack.invocations.length] as const;
  const response = await request();
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
  return { response, values: [...responses, ...failures, ...valuesOfLog(template, log)], log };
};
