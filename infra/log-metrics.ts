import { Stack } from 'aws-cdk-lib';
import { type IMetric, MathExpression, type Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { FilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { ServiceFunction } from './service-function.ts';

type Functions = { createPlant: ServiceFunction; authorizer: ServiceFunction };

/** What only the functions' own log lines tell (docs/operate/runbook.md has them), counted. */
export class LogMetrics extends Construct {
  /** 500s of createPlant, which Lambda takes for good answers. */
  readonly faults: Metric;
  readonly keysNotFetched: Metric;
  /** Plants stored by outcome, refused and failed by `error`; tokens refused by reason. */
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

  /** A metric for each value of a member of the line. @returns all of them, also those that come up later */
  #countBy(member: string, { log }: ServiceFunction, metricName: string, lines: string): IMetric {
    const namespace = Stack.of(this).stackName;
    new MetricFilter(this, metricName, {
      logGroup: log,
      metricNamespace: namespace,
      metricName,
      filterPattern: FilterPattern.literal(`{ ${lines} }`),
      dimensions: { [member]: `$.message.${member}` },
    });
    const search = `{"${namespace}","${member}"} MetricName="${metricName}"`;
    return new MathExpression({ expression: `SEARCH('${search}', 'Sum', 300)`, usingMetrics: {}, label: metricName });
  }
}

/** Lambda's JSON format has what a function logs in `message`. */
const outcomeIs = (outcome: string): string => `$.message.outcome = "${outcome}"`;
