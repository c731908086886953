/** Computes the value that an alarm watches: one metric, or an expression with several metrics. */
import { grants } from '../../infra/grants.ts';
import { metricsOf, type Occurrence } from './happenings.ts';
import { metricFilters, metricName } from './log-metrics.ts';
import { evaluateMath } from './metric-math.ts';
import { propertiesOf, resolve, type Template } from './template.ts';

/** All recorded values: by the name of the metric, then by minute. */
export type Data = Map<string, Map<number, number[]>>;

/** Computes the watched value from the minute `start` to the minute before `end`; undefined if there are no data. */
type Watch = (data: Data, start: number, end: number) => number | undefined;

type MetricOf = { Namespace: string; MetricName: string; Dimensions?: { Name: string; Value: unknown }[] };
type Query = {
  Id: string;
  Expression?: string;
  MetricStat?: { Metric: MetricOf; Stat: string; Period: number };
  ReturnData?: boolean;
};
/** The properties of an alarm that say which value the alarm watches. */
export type Watched = Partial<MetricOf> & {
  Metrics?: Query[];
  Statistic?: string;
  ExtendedStatistic?: string;
  Period?: number;
};

const statistics: Record<string, (values: number[]) => number> = {
  Sum: (values) => values.reduce((sum, each) => sum + each, 0),
  Maximum: (values) => Math.max(...values),
  SampleCount: (values) => values.length,
  p99: (values) => values.sort((a, b) => a - b)[Math.ceil(0.99 * values.length) - 1] ?? 0,
};

/**
 * Returns `watch`, a function that computes the value that an alarm watches, and `period`, the alarm's period in
 * minutes.
 * @throws Error if the alarm uses a feature that is not supported here, or a metric that is not in `possible`
 */
export const readWatched = (alarm: Watched, possible: ReadonlySet<string>): { watch: Watch; period: number } => {
  const queries = alarm.Metrics ?? [onlyQuery(alarm)];
  const [period, ...others] = new Set(
    queries.flatMap(({ MetricStat }) => (MetricStat ? [MetricStat.Period / 60] : [])),
  );
  const [watched, ...more] = queries.filter(({ ReturnData }) => ReturnData !== false);
  if (!Number.isInteger(period) || watched === undefined || others.length + more.length > 0)
    throw new Error('An alarm must watch one value, and all its metrics must have the same period.');

  const byId = new Map<string, Watch>();
  const watchId = (id: string): Watch => byId.get(id) ?? fail(`There is no metric with the id ${id}.`);
  for (const { Id, Expression, MetricStat } of queries)
    byId.set(
      Id,
      Expression === undefined
        ? watchMetric(MetricStat, possible)
        : (data, start, end) => evaluateMath(Expression, (id) => watchId(id)(data, start, end)),
    );
  return { watch: watchId(watched.Id), period: Number(period) };
};

const onlyQuery = ({ Namespace = '', MetricName = '', Dimensions = [], ...stat }: Watched): Query => {
  const { Statistic, ExtendedStatistic = Statistic, Period } = stat;
  const Metric = { Namespace, MetricName, Dimensions };
  return { Id: 'only', MetricStat: { Metric, Stat: String(ExtendedStatistic), Period: Number(Period) } };
};

const watchMetric = (stat: Query['MetricStat'], possible: ReadonlySet<string>): Watch => {
  const { Metric, Stat } = stat ?? fail('A metric of an alarm has neither an expression nor a statistic.');
  const dimensions = (Metric.Dimensions ?? []).map(({ Name, Value }) => [Name, resolve(Value)]);
  const metric = metricName(Metric.Namespace, Metric.MetricName, Object.fromEntries(dimensions));
  if (!possible.has(metric)) fail(`Nothing adds to the metric ${metric}.`);
  const statistic = statistics[Stat] ?? fail(`The statistic ${Stat} of ${metric} cannot be evaluated here.`);
  return (data, start, end) => {
    const minutes = Array.from({ length: end - start }, (_, index) => start + index);
    const values = minutes.flatMap((minute) => data.get(metric)?.get(minute) ?? []);
    return values.length === 0 ? undefined : statistic(values);
  };
};

const fail = (message: string): never => {
  throw new Error(message);
};

/**
 * How a call to DynamoDB may end: undefined (a success), or one of three kinds of errors. Each counts towards a
 * different metric.
 */
const storeErrors = [undefined, 'ConditionalCheckFailedException', 'ThrottlingException', 'InternalServerError'];

/** Returns the names of all metrics that can get a value, from an AWS service or from a log through a metric filter. */
export const possibleMetrics = (template: Template): Set<string> => {
  const functionNames = Object.values(propertiesOf('AWS::Lambda::Alias', template)).map(({ FunctionName }) =>
    resolve(FunctionName),
  );
  const granted = Object.values(grants).flatMap((actions) => actions.map((action) => action.replace('dynamodb:', '')));
  // People and scripts read the table, too, so its metrics can include calls of Scan even if no function may scan it.
  const operations = [...granted, 'Scan'];
  const occurrences: Occurrence[] = [
    ...[200, 400, 500].map((status) => ({ kind: 'response', status, milliseconds: 1 }) as const),
    ...functionNames.flatMap((functionName) => [
      { kind: 'invocation', functionName, hasFailed: false, milliseconds: 1 } as const,
      { kind: 'throttle', functionName } as const,
    ]),
    { kind: 'concurrency', invocations: 1 },
    ...operations.flatMap((operation) =>
      storeErrors.map((error) => ({ kind: 'call', operation, status: 500, error }) as const),
    ),
  ];
  const ofServices = occurrences.flatMap(metricsOf(template)).map(([metric]) => metric);
  return new Set([...ofServices, ...metricFilters(template).map(({ metric }) => metric)]);
};
