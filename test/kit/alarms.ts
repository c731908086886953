/**
 * Computes which alarms of a template go off because of given events (happenings.ts), such as responses and log lines.
 * Supports only the features that the stack's alarms use.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
 */
import { type Data, possibleMetrics, readWatched, type Watched } from './alarm-metrics.ts';
import { type Happening, metricsOf } from './happenings.ts';
import { propertiesOf, resolve, type Template } from './template.ts';

type Alarm = Watched & {
  AlarmName: string;
  EvaluationPeriods: number;
  Threshold: number;
  ComparisonOperator: string;
  TreatMissingData: string;
};

/**
 * The alarm properties that this file knows: those that it evaluates, and those that do not affect when an alarm goes
 * off.
 */
const known = new Set([
  ...['AlarmName', 'AlarmDescription', 'AlarmActions', 'OKActions', 'ComparisonOperator', 'TreatMissingData'],
  ...['Metrics', 'Namespace', 'MetricName', 'Dimensions', 'Statistic', 'ExtendedStatistic', 'Period'],
  ...['EvaluationPeriods', 'Threshold'],
]);

/**
 * Returns the names of the alarms that go off, without the stack's name, such as Api5xxRate.
 * @param happened what happened in the stack, with functions named by their logical ids in the template
 * @throws Error if an alarm uses a feature that is not supported here, or a metric that never gets a value
 */
export const raisedAlarms = (template: object, happened: readonly Happening[]): string[] => {
  const stack = template as Template;
  const data = collect(stack, happened);
  const possible = possibleMetrics(stack);
  const minutes = Array.from({ length: happened.reduce((last, { minute }) => Math.max(last, minute), 0) + 1 }).keys();
  const ends = [...minutes].map((minute) => minute + 1);
  return Object.values(propertiesOf('AWS::CloudWatch::Alarm', stack))
    .map((alarm) => readAlarm(alarm as Alarm, possible))
    .filter(({ isRaisedAt }) => ends.some((end) => isRaisedAt(data, end)))
    .map(({ name }) => name);
};

/** Returns the names of the alarms that roll back a new version of a function. @throws Error if there are none */
export const rollBackAlarms = (template: object, functionName: string): string[] => {
  const { Resources } = template as Template;
  const alias = Object.values(Resources).find(
    ({ Type, Properties }) => Type === 'AWS::Lambda::Alias' && resolve(Properties['FunctionName']) === functionName,
  );
  const { CodeDeployLambdaAliasUpdate: update } = Object(alias?.UpdatePolicy);
  const group = Resources[resolve(update?.DeploymentGroupName)]?.Properties;
  const { Enabled, Alarms = [] } = Object(group?.['AlarmConfiguration']) as { Enabled?: boolean; Alarms?: object[] };
  if (Enabled !== true || Alarms.length === 0) throw new Error(`No alarm rolls back the function ${functionName}.`);
  return Alarms.map((alarm) => nameOf(Resources[resolve(Object(alarm).Name)]?.Properties as Alarm));
};

const nameOf = ({ AlarmName }: Alarm): string => AlarmName.replace(/^.*-/, '');

const collect = (template: Template, happened: readonly Happening[]): Data => {
  const valuesOf = metricsOf(template);
  const occurrences = new Set(happened.map(({ occurrence }) => occurrence));
  const values = new Map([...occurrences].map((occurrence) => [occurrence, valuesOf(occurrence)]));
  const data: Data = new Map();
  for (const { minute, occurrence } of happened) {
    for (const [metric, value] of values.get(occurrence) ?? []) {
      const byMinute = data.get(metric) ?? new Map<number, number[]>();
      data.set(metric, byMinute);
      const inMinute = byMinute.get(minute) ?? [];
      byMinute.set(minute, inMinute);
      inMinute.push(value);
    }
  }
  return data;
};

/** Returns the name of an alarm, and a function that tells whether the alarm is on at the end of a minute. */
const readAlarm = (alarm: Alarm, possible: ReadonlySet<string>) => {
  const { ComparisonOperator, TreatMissingData, Threshold, EvaluationPeriods } = alarm;
  const unknown = Object.keys(alarm).filter((property) => !known.has(property));
  if (unknown.length > 0 || ComparisonOperator !== 'GreaterThanThreshold' || TreatMissingData !== 'notBreaching')
    throw new Error(`This alarm cannot be evaluated here: ${JSON.stringify(alarm)}`);
  const { watch, period } = readWatched(alarm, possible);
  // At the end of every minute, CloudWatch looks at the alarm's last periods, counted back from that moment.
  const isRaisedAt = (data: Data, end: number): boolean =>
    Array.from({ length: EvaluationPeriods }, (_, index) => end - index * period).every((each) => {
      const value = watch(data, each - period, each);
      return value !== undefined && value > Threshold;
    });
  return { name: nameOf(alarm), isRaisedAt };
};
