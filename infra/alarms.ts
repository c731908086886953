/** What each alarm watches. infra/monitoring.ts makes the alarms. */
import { Duration } from 'aws-cdk-lib';
import { MathExpression, type Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { grants } from './grants.ts';
import { faults, keysNotFetched } from './log-metrics.ts';
import type { PlantApi } from './plant-api.ts';
import type { PlantsTable } from './plants-table.ts';
import type { ServiceFunction } from './service-function.ts';

/**
 * An alarm that goes off above `limit`. Its name ends with `${of}${kind}`, such as AuthorizerErrors: `of` is a
 * function's id, or empty; `kind` is a heading of the runbook.
 */
export type AlarmRow = [of: string, kind: string, says: string, Metric | MathExpression, limit: number, when: Timing];

type Timing = { period: Duration; evaluationPeriods: number };
/** The timing of alarms that must go off within the five minutes in which a roll-out tries a new version. */
const atOnce: Timing = { period: Duration.minutes(1), evaluationPeriods: 1 };
/** The timing of alarms for problems that matter even if they last for only one period of five minutes. */
const soon: Timing = { period: Duration.minutes(5), evaluationPeriods: 1 };
/**
 * The timing of alarms for problems that matter only if they last 15 minutes. A shorter problem may be due to one
 * client.
 */
const lasting: Timing = { period: Duration.minutes(5), evaluationPeriods: 3 };

export const sum = { statistic: Stats.SUM };
export const p99 = { statistic: Stats.percentile(99) };
const maximum = { statistic: Stats.MAXIMUM };

export const ofApi = (api: PlantApi): AlarmRow[] => {
  const share = (some: Metric) => percentage(some, api.metricCount(sum));
  const [share5xx, share4xx] = [share(api.metricServerError(sum)), share(api.metricClientError(sum))];
  const latency = api.metricLatency(p99);
  return [
    ['', 'Api5xxRate', 'More than 1 % of the responses were 5xx.', share5xx, 1, soon],
    ['', 'Api4xxRate', 'For 15 minutes, more than 25 % of the responses were 4xx.', share4xx, 25, lasting],
    ['', 'ApiLatencyP99', 'For 15 minutes, 1 % of the responses took over 2.5 s.', latency, 2_500, lasting],
  ];
};

export const ofAuthorizer = (it: ServiceFunction): AlarmRow[] => [
  ...ofFunction(it),
  [it.node.id, 'KeysNotFetched', "The token issuer's keys could not be fetched.", keysNotFetched(it), 0, atOnce],
];

export const ofOperation = (it: ServiceFunction): AlarmRow[] => [
  ...ofFunction(it),
  [it.node.id, 'Faults', 'The function returned a 500.', faults(it), 0, atOnce],
];

/** Returns the alarms that every function has. They watch the function's alias, because callers invoke the alias. */
const ofFunction = ({ node: { id }, live, timeout }: ServiceFunction): AlarmRow[] => {
  const [duration, limit] = [live.metricDuration(maximum), 0.8 * timeout.toMilliseconds()];
  return [
    [id, 'Errors', 'The function threw, crashed or timed out.', live.metricErrors(sum), 0, atOnce],
    [id, 'Throttles', 'Lambda could not run another instance of the function.', live.metricThrottles(sum), 0, soon],
    [id, 'Duration', 'An invocation took more than 80 % of the time-out.', duration, limit, soon],
  ];
};

export const ofTable = (table: PlantsTable): AlarmRow[] => {
  const invocations = LambdaFunction.metricAllConcurrentExecutions(maximum);
  const refused = table.metricConditionalCheckFailedRequests(sum);
  // ConflictRate needs the number of writes, which is a sum: SuccessfulRequestLatency has one sample for each write
  // that succeeds, and ConditionalCheckFailedRequests counts the writes whose condition does not hold.
  const conditional = /^(Put|Update|Delete)Item$/;
  const written = byOperation(table, 'SuccessfulRequestLatency', Stats.SAMPLE_COUNT, conditional);
  const conflicts = percentage(refused, total({ some: refused, ...written }));
  const systemErrors = total(byOperation(table, 'SystemErrors', Stats.SUM));
  const [read, write] = [table.metric('ReadThrottleEvents', sum), table.metric('WriteThrottleEvents', sum)];
  return [
    // By default, an account may run 1,000 invocations at the same time.
    ['', 'Concurrency', 'More than 800 invocations ran at the same time in the account.', invocations, 800, soon],
    ['', 'ConflictRate', 'For 15 minutes, the condition of over 20 % of writes did not hold.', conflicts, 20, lasting],
    ['', 'TableSystemErrors', 'DynamoDB returned a 5xx.', systemErrors, 0, soon],
    ['', 'TableThrottles', 'DynamoDB throttled reads or writes.', total({ read, write }), 0, soon],
  ];
};

/**
 * Returns a metric for each DynamoDB operation that functions may call and whose name fits the pattern `matching`. The
 * keys of the returned object are the metrics' ids in math expressions.
 */
export const byOperation = (table: PlantsTable, metric: string, statistic: string, matching = /./) => {
  const used = [...new Set(Object.values(grants).flat())].map((action) => action.replace('dynamodb:', ''));
  const metrics = used
    .filter((operation) => matching.test(operation))
    .map((Operation): [string, Metric] => {
      const dimensionsMap = { TableName: table.tableName, Operation };
      return [`on${Operation}`, table.metric(metric, { dimensionsMap, statistic, label: Operation })];
    });
  return Object.fromEntries(metrics);
};

/** Returns the sum of metrics. A metric without data counts as 0. */
const total = (usingMetrics: Record<string, Metric>): MathExpression => {
  const terms = Object.keys(usingMetrics).map((id) => `FILL(${id}, 0)`);
  return new MathExpression({ expression: terms.join(' + '), usingMetrics });
};

const percentage = (some: Metric, all: Metric | MathExpression): MathExpression =>
  new MathExpression({ expression: 'IF(all > 0, 100 * FILL(some, 0) / all, 0)', usingMetrics: { some, all } });
