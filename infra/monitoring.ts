import { Aws, Duration, Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import * as alarms from './alarms.ts';
import type { PlantApi } from './plant-api.ts';
import type { PlantsTable } from './plants-table.ts';
import type { ServiceFunction } from './service-function.ts';
import { outcomes, refusals, storeAttempts, storeTimes } from './service-log.ts';

type Parts = { api: PlantApi; operations: ServiceFunction[]; authorizer: ServiceFunction; table: PlantsTable };

/** The alarms, and a dashboard with their states, with graphs of all parts, and with the metric of each alarm. */
export class Monitoring extends Construct {
  readonly dashboardUrl: string;
  /** The alarms that roll back a new version of each function. */
  readonly rollBackAlarms = new Map<ServiceFunction, cloudwatch.Alarm[]>();
  readonly #action: SnsAction;

  constructor(scope: Construct, id: string, parts: Parts, alarmEmail: string | undefined) {
    super(scope, id);
    const { stackName, region } = Stack.of(this);
    this.#action = new SnsAction(this.#addTopic(alarmEmail));
    const rows = [
      this.#add(alarms.ofApi(parts.api)),
      this.#add(alarms.ofAuthorizer(parts.authorizer), parts.authorizer),
      ...parts.operations.map((operation) => this.#add(alarms.ofOperation(operation), operation)),
      this.#add(alarms.ofTable(parts.table)),
    ];

    // A dashboard's name must be unique in the account across all regions, so it contains the region.
    const dashboardName = `${stackName}-Health-${region}`;
    const title = `# ${stackName}: health\nWhat an alarm means and what to do: docs/operate/runbook.md`;
    new cloudwatch.Dashboard(this, 'Dashboard', {
      dashboardName,
      defaultInterval: Duration.hours(3),
      widgets: [
        [new cloudwatch.TextWidget({ markdown: title, width: 24, height: 2 })],
        [new cloudwatch.AlarmStatusWidget({ title: 'Alarms', alarms: rows.flat(), width: 24, height: 4 })],
        graphs(parts),
        ...rows.map((row) => row.map((alarm) => new cloudwatch.AlarmWidget({ title: alarm.node.id, alarm }))),
      ],
    });
    const console = `https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}`;
    this.dashboardUrl = `${console}#dashboards/dashboard/${dashboardName}`;
  }

  /** Makes the SNS topic for the start and end of every alarm. Subscribes `email`; others may subscribe by hand. */
  #addTopic(email: string | undefined): Topic {
    const topic = new Topic(this, 'Alarms', { enforceSSL: true });
    // enforceSSL replaces SNS's default policy, which lets the account's alarms publish, so grant that again.
    const conditions = { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } };
    topic.grantPublish(new ServicePrincipal('cloudwatch.amazonaws.com', { conditions }));
    if (email !== undefined) {
      acknowledge(
        topic.addSubscription(new EmailSubscription(email)),
        'Serverless-SNSRedrivePolicy',
        'Nobody would read a queue of undelivered mails; the dashboard shows the alarms anyway.',
      );
    }
    return topic;
  }

  /** Makes alarms. Those of a function begin with its id, such as AuthorizerErrors. */
  #add(kinds: Record<string, alarms.Alarm>, of?: ServiceFunction): cloudwatch.Alarm[] {
    return Object.entries(kinds).map(([kind, { limit, metric, timing, means, rollsBack }]) => {
      const alarmName = `${Stack.of(this).stackName}-${of?.node.id ?? ''}${kind}`;
      const alarm = metric.with({ period: timing.period }).createAlarm(this, alarmName, {
        alarmName,
        alarmDescription: `${means} What to do: docs/operate/runbook.md, ${kind}.`,
        threshold: limit,
        comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        evaluationPeriods: timing.evaluationPeriods,
        treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      });
      alarm.addAlarmAction(this.#action);
      alarm.addOkAction(this.#action);
      if (of && rollsBack) this.rollBackAlarms.set(of, [...(this.rollBackAlarms.get(of) ?? []), alarm]);
      return alarm;
    });
  }
}

/** The graphs in which to look for the cause of an alarm, from the gateway to the table. */
const graphs = ({ api, operations, authorizer, table }: Parts): cloudwatch.IWidget[] => {
  const { sum, p99 } = alarms;
  const functions = [authorizer, ...operations];
  const metrics: Record<string, cloudwatch.IMetric[]> = {
    Responses: [api.metricCount(sum), api.metricClientError(sum), api.metricServerError(sum)],
    'Latency of the API': ['p50', 'p90', 'p99'].map((statistic) => api.metricLatency({ statistic, label: statistic })),
    'Responses within 1 s, %': [api.metricLatency({ statistic: 'PR(:1000)', label: 'promised: 99 %' })],
    Invocations: functions.map(({ node, live }) => live.metricInvocations({ ...sum, label: node.id })),
    'Duration, p99': functions.map(({ node, live }) => live.metricDuration({ ...p99, label: node.id })),
    'Outcomes, from the log': [refusals(authorizer), ...operations.flatMap(outcomes)],
    'Time of the store, from the log': operations.flatMap(storeTimes),
    'Average attempts at the store, from the log': operations.map(storeAttempts),
    'Latency of the table': Object.values(alarms.byOperation(table, 'SuccessfulRequestLatency', 'Average')),
    'Consumed capacity': [table.metricConsumedReadCapacityUnits(sum), table.metricConsumedWriteCapacityUnits(sum)],
  };
  return Object.entries(metrics).map(([title, left]) => new cloudwatch.GraphWidget({ title, left }));
};
