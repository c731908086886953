/** Metrics made from the lines that the functions write. docs/operate/runbook.md lists these lines. */
import { Stack } from 'aws-cdk-lib';
import { type Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { FilterPattern } from 'aws-cdk-lib/aws-logs';
import type { ServiceFunction } from './service-function.ts';

/** Lambda puts the object that a function logs into the field `message`. */
const outcomeIs = (outcome: string): string => `$.message.outcome = "${outcome}"`;

/**
 * Counts an operation's 500s to clients, which Lambda does not count as errors, by their log lines with the level ERROR.
 * A 503 is not counted (level WARN), nor a 500 to the smoke test, because that would roll back a good version.
 */
export const faults = (operation: ServiceFunction): Metric =>
  count(operation, 'Faults', `${outcomeIs('failed')} && $.level = "ERROR" && ${isOfClient}`, { defaultValue: 0 });

/** Matches lines of clients' requests. The smoke test sends `smoke-test-` and the deployment's id as gatewayRequestId. */
const isOfClient = '$.message.gatewayRequestId != "smoke-test-*"';

/** Without a default of 0, the metric costs nothing until this happens. */
export const keysNotFetched = (authorizer: ServiceFunction): Metric =>
  count(authorizer, 'KeysNotFetched', outcomeIs('keys not fetched'));

const count = ({ log, node }: ServiceFunction, kind: string, lines: string, more: { defaultValue?: number } = {}) =>
  log
    .addMetricFilter(kind, {
      metricNamespace: Stack.of(log).stackName,
      metricName: `${node.id}${kind}`,
      filterPattern: FilterPattern.literal(`{ ${lines} }`),
      ...more,
    })
    .metric({ statistic: Stats.SUM });
