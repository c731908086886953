/** Metrics made from the lines that the functions write. docs/operate/runbook.md lists these lines. */
import { Stack } from 'aws-cdk-lib';
import { type IMetric, MathExpression, type Metric, Stats, Unit } from 'aws-cdk-lib/aws-cloudwatch';
import { FilterPattern, type MetricFilterOptions } from 'aws-cdk-lib/aws-logs';
import type { ServiceFunction } from './service-function.ts';

/** Matches log lines with this `outcome`. Lambda puts the object that a function logs into the field `message`. */
const outcomeIs = (outcome: string): string => `$.message.outcome = "${outcome}"`;

/**
 * Counts an operation's 500s to clients, which Lambda does not count as errors, by their log lines with the level ERROR.
 * A 503 is not counted (level WARN), nor a 500 to the smoke test, because that would roll back a good version.
 */
export const faults = (operation: ServiceFunction): Metric =>
  count(operation, 'Faults', `${outcomeIs('failed')} && $.level = "ERROR" && ${isOfClient}`);

/** Matches lines of clients' requests. The smoke test sends `smoke-test-` and the deployment's id as gatewayRequestId. */
const isOfClient = '$.message.gatewayRequestId != "smoke-test-*"';

/** Without a default of 0, the metric costs nothing until this happens. */
export const keysNotFetched = (authorizer: ServiceFunction): Metric =>
  count(authorizer, 'KeysNotFetched', outcomeIs('keys not fetched'), {});

export const refusals = (authorizer: ServiceFunction): IMetric =>
  countBy('reason', authorizer, 'Refused', outcomeIs('refused'));

/** Counts an operation's requests: successful requests by their `outcome`, the others by their `error`. */
export const outcomes = (operation: ServiceFunction): IMetric[] => {
  const succeeded = '$.message.outcome = "*" && $.message.outcome != "refused" && $.message.outcome != "failed"';
  return [
    countBy('outcome', operation, 'Succeeded', succeeded),
    countBy('error', operation, 'Refused', outcomeIs('refused')),
    countBy('error', operation, 'Failed', outcomeIs('failed')),
  ];
};

/** Log lines without this number are left out, because counting them as 0 would hide slow calls. */
export const storeTimes = (operation: ServiceFunction): Metric[] => {
  const metricValue = '$.message.store.milliseconds';
  const time = count(operation, 'TimeOfStore', `${metricValue} >= 0`, { metricValue, unit: Unit.MILLISECONDS });
  return ['p50', 'p90', 'p99'].map((statistic) => time.with({ statistic, label: `${operation.node.id} ${statistic}` }));
};

/** The average number of attempts to call the store per logged request: 1 without retries. */
export const storeAttempts = (operation: ServiceFunction): Metric => {
  const metricValue = '$.message.store.attempts';
  const attempts = count(operation, 'AttemptsAtStore', `${metricValue} >= 1`, { metricValue, unit: Unit.COUNT });
  return attempts.with({ statistic: Stats.AVERAGE, label: operation.node.id });
};

const count = ({ log, node }: ServiceFunction, kind: string, lines: string, more?: Partial<MetricFilterOptions>) =>
  log
    .addMetricFilter(kind, {
      metricNamespace: Stack.of(log).stackName,
      metricName: `${node.id}${kind}`,
      filterPattern: FilterPattern.literal(`{ ${lines} }`),
      ...(more ?? { defaultValue: 0 }),
    })
    .metric({ statistic: Stats.SUM });

/**
 * For each value of one field, adds a metric that counts the log lines with that value.
 * @returns a CloudWatch search for these metrics, which also finds values that first occur after the deployment
 */
const countBy = (field: string, of: ServiceFunction, kind: string, lines: string): IMetric => {
  const { namespace, metricName } = count(of, kind, lines, { dimensions: { [field]: `$.message.${field}` } });
  const search = `{"${namespace}","${field}"} MetricName="${metricName}"`;
  return new MathExpression({ expression: `SEARCH('${search}', 'Sum', 300)`, usingMetrics: {}, label: metricName });
};
