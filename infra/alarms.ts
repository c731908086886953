/** What each alarm watches. infra/monitoring.ts makes the alarms. */
import { Duration } from 'aws-cdk-lib';
import { MathExpression, type Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { grants } from './operations.ts';
import type { PlantApi } from './plant-api.ts';
import type { PlantsTable } from './plants-table.ts';
import type { ServiceFunction } from './service-function.ts';
import { faults, keysNotFetched } from './service-log.ts';

type Timing = { period: Duration; evaluationPeriods: number };
/** For alarms that must go off within the five minutes in which a roll-out tries a new version. */
const atOnce: Timing = { period: Duration.minutes(1), evaluationPeriods: 1 };
/** For problems that matter even if they last for only one period of five minutes. */
const soon: Timing = { period: Duration.minutes(5), evaluationPeriods: 1 };
/** For problems that matter only if they last 15 minutes. A shorter problem may be due to one client. */
const lasting: Timing = { period: Duration.minutes(5), evaluationPeriods: 3 };

type Watched = Metric | MathExpression;
export type Alarm = { limit: number; metric: Watched; timing: Timing; means: string; rollsBack?: boolean };
/** Alarms by kind, which is a heading of the runbook. */
type Alarms = Record<string, Alarm>;

/** An alarm that goes off if `metric` is above `limit` in each of the last periods. */
const above = (limit: number, metric: Watched, timing: Timing, means: string) => ({ limit, metric, timing, means });

export const sum = { statistic: Stats.SUM };
export const p99 = { statistic: Stats.percentile(99) };
const maximum = { statistic: Stats.MAXIMUM };

export const ofApi = (api: PlantApi): Alarms => {
  const share = (some: Metric) => percentage(some, api.metricCount(sum));
  const [share5xx, share4xx] = [share(api.metricServerError(sum)), share(api.metricClientError(sum))];
  const latency = api.metricLatency(p99);
  return {
    Api5xxRate: above(1, share5xx, soon, 'More than 1 % of the responses were 5xx.'),
    Api4xxRate: above(25, share4xx, lasting, 'For 15 minutes, more than 25 % of the responses were 4xx.'),
    ApiLatencyP99: above(2_500, latency, lasting, 'For 15 minutes, 1 % of the responses took over 2.5 s.'),
  };
};

export const ofAuthorizer = (authorizer: ServiceFunction): Alarms => ({
  ...ofFunction(authorizer),
  KeysNotFetched: above(0, keysNotFetched(authorizer), atOnce, "The token issuer's keys could not be fetched."),
});

export const ofOperation = (operation: ServiceFunction): Alarms => ({
  ...ofFunction(operation),
  Faults: { ...above(0, faults(operation), atOnce, 'The function returned a 500.'), rollsBack: true },
});

/** Returns the alarms that every function has. They watch the function's alias, because callers invoke the alias. */
const ofFunction = ({ live, timeout }: ServiceFunction): Alarms => {
  const duration = live.metricDuration(maximum);
  const tooLong = 0.8 * timeout.toMilliseconds();
  const errors = above(0, live.metricErrors(sum), atOnce, 'The function threw, crashed or timed out.');
  return {
    Errors: { ...errors, rollsBack: true },
    Throttles: above(0, live.metricThrottles(sum), soon, 'Lambda could not run another instance of the function.'),
    Duration: above(tooLong, duration, soon, 'An invocation took more than 80 % of the time-out.'),
  };
};

export const ofTable = (table: PlantsTable): Alarms => {
  const invocations = LambdaFunction.metricAllConcurrentExecutions(maximum);
  const refused = table.metricConditionalCheckFailedRequests(sum);
  // ConflictRate needs the number of writes, which is a sum: SuccessfulRequestLatency has one sample for each write
  // that succeeds, and ConditionalCheckFailedRequests counts the writes whose condition does not hold.
  const conditional = /^(Put|Update|Delete)Item$/;
  const written = byOperation(table, 'SuccessfulRequestLatency', Stats.SAMPLE_COUNT, conditional);
  const conflicts = percentage(refused, total({ some: refused, ...written }));
  const systemErrors = total(byOperation(table, 'SystemErrors', Stats.SUM));
  const throttles = total({
    read: table.metric('ReadThrottleEvents', sum),
    write: table.metric('WriteThrottleEvents', sum),
  });
  return {
    // By default, an account may run 1,000 invocations at the same time.
    Concurrency: above(800, invocations, soon, 'More than 800 invocations ran at the same time in the account.'),
    ConflictRate: above(20, conflicts, lasting, 'For 15 minutes, the condition of over 20 % of writes did not hold.'),
    TableSystemErrors: above(0, systemErrors, soon, 'DynamoDB returned a 5xx.'),
    TableThrottles: above(0, throttles, soon, 'DynamoDB throttled reads or writes.'),
  };
};

/** A metric for each DynamoDB operation that functions may call, by the metric's id in math expressions. */
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

/** A metric without data counts as 0. */
const total = (usingMetrics: Record<string, Metric>): MathExpression => {
  const terms = Object.keys(usingMetrics).map((id) => `FILL(${id}, 0)`);
  return new MathExpression({ expression: terms.join(' + '), usingMetrics });
};

const percentage = (some: Metric, all: Metric | MathExpression): MathExpression =>
  new MathExpression({ expression: 'IF(all > 0, 100 * FILL(some, 0) / all, 0)', usingMetrics: { some, all } });
