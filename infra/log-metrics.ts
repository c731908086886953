import { Stack } from 'aws-cdk-lib';
import { type IMetric, MathExpression, type Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { FilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { ServiceFunction } from './service-function.ts';

type Functions = { createPlant: ServiceFunction; authorizer: ServiceFunction };

/** Metrics counted from the functions' own log lines, which docs/operate/runbook.md lists. */
export class LogMetrics extends Construct {
  /** Counts createPlant's responses with status 500, which Lambda does not count as errors. */
  readonly faults: Metric;
  readonly keysNotFetched: Metric;
  /** Plants stored, by outcome; plants refused or failed, by `error`; tokens refused, by reason. */
  readonly outcomes: IMetric[];

  constructor(scope: Construct, id: string, { createPlant, authorizer }: Functions) {
    super(scope, id);
    const stored = ['created', 'repeated', 'stored'].map(outcomeIs).join(' || ');
    this.faults = this.#count(createPlant, 'Faults', `${outcomeIs('failed')} && $.message.error = 50001`);
    this.keysNotFetched = this.#count(authorizer, 'KeysNotFetched', outcomeIs('keys not fetched'));
    this.outcomes = [
      this.#countBy('outcome', createPlant, 'Stored', stored),
      this.#countBy('error', createPlant, 'Refused', outcomeIs('refused')),
      this.#countBy('error', createPlant, 'Failed', outcomeIs('failed')),
      this.#countBy('reason', authorizer, 'TokensRefused', outcomeIs('refused')),
    ];
  }

  #count({ log }: ServiceFunction, metricName: string, lines: string): Metric {
    const filter = new MetricFilter(this, metricName, {
      logGroup: log,
      metricNamespace: Stack.of(this).stackName,
      metricName,
      filterPattern: FilterPattern.literal(`{ ${lines} }`),
      defaultValue: 0,
    });
    return filter.metric({ statistic: Stats.SUM });
  }

  /** Counts log lines by the value of one field. @returns a search that also finds values that appear later */
  #countBy(field: string, { log }: ServiceFunction, metricName: string, lines: string): IMetric {
    const namespace = Stack.of(this).stackName;
    new MetricFilter(this, metricName, {
      logGroup: log,
      metricNamespace: namespace,
      metricName,
      filterPattern: FilterPattern.literal(`{ ${lines} }`),
      dimensions: { [field]: `$.message.${field}` },
    });
    const search = `{"${namespace}","${field}"} MetricName="${metricName}"`;
    return new MathExpression({ expression: `SEARCH('${search}', 'Sum', 300)`, usingMetrics: {}, label: metricName });
  }
}

/** Lambda's JSON log format puts the object that a function logs into `message`. */
const outcomeIs = (outcome: string): string => `$.message.outcome = "${outcome}"`;
