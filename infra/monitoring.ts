/** What operators watch: the alarms, and a dashboard. docs/operate/runbook.md says what to do when an alarm goes off. */
import { Aws, Duration, Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { type IQueue, Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { faults, keysNotFetched, outcomes, refusals, storeAttempts, storeTimes } from './log-metrics.ts';
import { grants } from './operations.ts';
import type { PlantApi } from './plant-api.ts';
import type { ServiceFunction } from './service-function.ts';

type Parts = {
  api: PlantApi;
  operations: ServiceFunction[];
  authorizer: ServiceFunction;
  /** The names of a table's alarms and graphs begin with `prefix`. */
  tables: { table: TableV2; prefix: string }[];
};

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
      this.#add(ofApi(parts.api)),
      this.#add(ofAuthorizer(parts.authorizer), parts.authorizer.node.id, parts.authorizer),
      ...parts.operations.map((operation) => this.#add(ofOperation(operation), operation.node.id, operation)),
      [...this.#add(ofAccount()), ...parts.tables.flatMap(({ table, prefix }) => this.#add(ofTable(table), prefix))],
      ...queuesIn(this).map(({ name, deadLetters }) => this.#add(ofDeadLetters(deadLetters), name)),
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

  /** Makes alarms, whose names begin with `prefix`, such as AuthorizerErrors. Some roll back the function `of`. */
  #add(kinds: Alarms, prefix = '', of?: ServiceFunction): cloudwatch.Alarm[] {
    return Object.entries(kinds).map(([kind, { limit, metric, timing, means, rollsBack }]) => {
      const alarmName = `${Stack.of(this).stackName}-${prefix}${kind}`;
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
const graphs = ({ api, operations, authorizer, tables }: Parts): cloudwatch.IWidget[] => {
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
  };
  for (const { table, prefix } of tables) {
    const name = prefix && ` ${prefix}`;
    metrics[`Latency of the table${name}`] = Object.values(byOperation(table, 'SuccessfulRequestLatency', 'Average'));
    const consumed = [table.metricConsumedReadCapacityUnits(sum), table.metricConsumedWriteCapacityUnits(sum)];
    metrics[`Consumed capacity${name}`] = consumed;
  }
  return Object.entries(metrics).map(([title, left]) => new cloudwatch.GraphWidget({ title, left }));
};

type Timing = { period: Duration; evaluationPeriods: number };
/** For alarms that must go off within the five minutes in which a roll-out tries a new version. */
const atOnce: Timing = { period: Duration.minutes(1), evaluationPeriods: 1 };
/** For problems that matter even if they last for only one period of five minutes. */
const soon: Timing = { period: Duration.minutes(5), evaluationPeriods: 1 };
/** For problems that matter only if they last 15 minutes. A shorter problem may be due to one client. */
const lasting: Timing = { period: Duration.minutes(5), evaluationPeriods: 3 };

type Watched = cloudwatch.Metric | cloudwatch.MathExpression;
type Alarm = { limit: number; metric: Watched; timing: Timing; means: string; rollsBack?: boolean };
type Alarms = Record<string, Alarm>;

const above = (limit: number, metric: Watched, timing: Timing, means: string) => ({ limit, metric, timing, means });

const sum = { statistic: cloudwatch.Stats.SUM };
const p99 = { statistic: cloudwatch.Stats.percentile(99) };
const maximum = { statistic: cloudwatch.Stats.MAXIMUM };

const ofApi = (api: PlantApi): Alarms => {
  const share = (some: cloudwatch.Metric) => percentage(some, api.metricCount(sum));
  const [share5xx, share4xx] = [share(api.metricServerError(sum)), share(api.metricClientError(sum))];
  const latency = api.metricLatency(p99);
  return {
    Api5xxRate: above(1, share5xx, soon, 'More than 1 % of the responses were 5xx.'),
    Api4xxRate: above(25, share4xx, lasting, 'For 15 minutes, more than 25 % of the responses were 4xx.'),
    ApiLatencyP99: above(2_500, latency, lasting, 'For 15 minutes, 1 % of the responses took over 2.5 s.'),
  };
};

const ofAuthorizer = (authorizer: ServiceFunction): Alarms => ({
  ...ofFunction(authorizer),
  KeysNotFetched: above(0, keysNotFetched(authorizer), atOnce, "The token issuer's keys could not be fetched."),
});

const ofOperation = (operation: ServiceFunction): Alarms => ({
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

const ofAccount = (): Alarms => {
  const invocations = LambdaFunction.metricAllConcurrentExecutions(maximum);
  // By default, an account may run 1,000 invocations at the same time.
  return {
    Concurrency: above(800, invocations, soon, 'More than 800 invocations ran at the same time in the account.'),
  };
};

const ofTable = (table: TableV2): Alarms => {
  const refused = table.metricConditionalCheckFailedRequests(sum);
  // ConflictRate needs the number of writes, which is a sum: SuccessfulRequestLatency has one sample for each write
  // that succeeds, and ConditionalCheckFailedRequests counts the writes whose condition does not hold.
  const conditional = /^(Put|Update|Delete)Item$/;
  const written = byOperation(table, 'SuccessfulRequestLatency', cloudwatch.Stats.SAMPLE_COUNT, conditional);
  const conflicts = percentage(refused, total({ some: refused, ...written }));
  const systemErrors = total(byOperation(table, 'SystemErrors', cloudwatch.Stats.SUM));
  const throttles = total({
    read: table.metric('ReadThrottleEvents', sum),
    write: table.metric('WriteThrottleEvents', sum),
  });
  return {
    ConflictRate: above(20, conflicts, lasting, 'For 15 minutes, the condition of over 20 % of writes did not hold.'),
    TableSystemErrors: above(0, systemErrors, soon, 'DynamoDB returned a 5xx.'),
    TableThrottles: above(0, throttles, soon, 'DynamoDB throttled reads or writes.'),
  };
};

/** Lists the stack's queues that have a dead-letter queue. Each name is made of the ids of the constructs around it. */
const queuesIn = (construct: Construct) => {
  const { node } = Stack.of(construct);
  return node.findAll().flatMap((each) => {
    const deadLetters = each instanceof Queue && each.deadLetterQueue?.queue;
    return deadLetters ? [{ name: each.node.path.slice(node.path.length).replaceAll('/', ''), deadLetters }] : [];
  });
};

const ofDeadLetters = (queue: IQueue): Alarms => {
  const waiting = queue.metricApproximateNumberOfMessagesVisible(maximum);
  return { DeadLetters: above(0, waiting, soon, 'A message could not be handled.') };
};

/** A metric for each DynamoDB operation that functions may call on some table, by its id in math expressions. */
const byOperation = (table: TableV2, metric: string, statistic: string, matching = /./) => {
  const granted = new Set(Object.values(grants).flatMap((each) => Object.values(each).flat()));
  const metrics = [...granted]
    .map((action) => action.replace('dynamodb:', ''))
    .filter((operation) => matching.test(operation))
    .map((Operation): [string, cloudwatch.Metric] => {
      const dimensionsMap = { TableName: table.tableName, Operation };
      return [`on${Operation}`, table.metric(metric, { dimensionsMap, statistic, label: Operation })];
    });
  return Object.fromEntries(metrics);
};

/** A metric without data counts as 0. */
const total = (usingMetrics: Record<string, cloudwatch.Metric>) => {
  const terms = Object.keys(usingMetrics).map((id) => `FILL(${id}, 0)`);
  return new cloudwatch.MathExpression({ expression: terms.join(' + '), usingMetrics });
};

const percentage = (some: cloudwatch.Metric, all: Watched) => {
  const expression = 'IF(all > 0, 100 * FILL(some, 0) / all, 0)';
  return new cloudwatch.MathExpression({ expression, usingMetrics: { some, all } });
};
