/** What operators watch: alarms, and a dashboard. docs/operate/runbook.md says what to do when an alarm goes off. */
import { Aws, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { type IQueue, Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import type { GuardedApi } from './guarded-api.ts';
import { faults, keysNotFetched } from './log-metrics.ts';
import type { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';

type Parts = { api: GuardedApi; operations: ServiceFunction[]; authorizer: ServiceFunction };

/**
 * The limits of alarms, unless MonitoringProps has others: the percentage of responses that are 4xx, and the account's
 * invocations at the same time, of which it may run 1,000 by default.
 */
const usualLimits = { Api4xxRate: 25, Concurrency: 800 };
type Limits = typeof usualLimits;

/** `pages` are further alarms that page. */
type MonitoringProps = Parts &
  Pick<Settings, 'stage' | 'alarmEmail'> & { pages: cloudwatch.IAlarm[]; limits?: Partial<Limits> };

/** Watches the parts, and each table and each queue with a dead-letter queue that the stack has when this is made. */
export class Monitoring extends Construct {
  readonly dashboardUrl: string;
  readonly rollBackAlarms: Map<ServiceFunction, cloudwatch.Alarm[]>;

  constructor(scope: Construct, id: string, { stage, alarmEmail, pages, limits: own, ...parts }: MonitoringProps) {
    super(scope, id);
    const { stackName, region } = Stack.of(this);
    const { api, operations, authorizer } = parts;
    const limits = { ...usualLimits, ...own };
    const [fast, slow] = [this.#addWindows(api, severities.Page), this.#addWindows(api, severities.Ticket)];
    const others = [
      ...this.#add(ofApi(api, limits)),
      ...this.#add(ofAuthorizer(authorizer), authorizer.node.id),
      ...this.#add(ofAccount(limits)),
      ...queuesIn(this).flatMap(({ name, deadLetters }) => this.#add(ofDeadLetters(deadLetters), name)),
    ];
    this.rollBackAlarms = new Map([
      [authorizer, this.#add(ofFunction(authorizer), authorizer.node.id)],
      ...operations.map((each) => [each, this.#add(ofOperation(each), each.node.id)] as const),
    ]);
    // CloudWatch cannot use the key that AWS manages for SNS. One of ours costs a dollar a month, so only `prod` has it.
    const description = `Encrypts the alarms of ${stackName} in SNS`;
    const options = { description, enableKeyRotation: true, removalPolicy: RemovalPolicy.DESTROY };
    const key = stage === 'prod' ? new Key(this, 'Key', options) : undefined;
    const notifying = [
      this.#addSeverity('Page', [...eachOf(fast), ...pages], this.#addTopic('Pages', alarmEmail, key)),
      this.#addSeverity('Ticket', [...eachOf(slow), ...others], this.#addTopic('Tickets', alarmEmail, key)),
    ];

    // A dashboard's name must be unique in the account across all regions, so it contains the region.
    const dashboardName = `${stackName}-Health-${region}`;
    const title = `# ${stackName}: health\nWhat an alarm means and what to do: docs/operate/runbook.md`;
    const rows = [fast.flat(), slow.flat(), others, [...this.rollBackAlarms.values()].flat()];
    const alarms = [...notifying, ...pages, ...rows.flat()];
    new cloudwatch.Dashboard(this, 'Dashboard', {
      dashboardName,
      defaultInterval: Duration.hours(3),
      widgets: [
        [new cloudwatch.TextWidget({ markdown: title, width: 24, height: 2 })],
        [new cloudwatch.AlarmStatusWidget({ title: 'Alarms', alarms, width: 24, height: 4 })],
        graphs(parts, tablesIn(this)),
        ofLogs(parts),
        ...rows.map((row) => row.map((alarm) => new cloudwatch.AlarmWidget({ title: alarm.node.id, alarm }))),
      ],
    });
    const console = `https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}`;
    this.dashboardUrl = `${console}#dashboards/dashboard/${dashboardName}`;
  }

  /** Makes an alarm that is on while any of `causes` is. Only such an alarm notifies, so one problem notifies once. */
  #addSeverity(name: keyof typeof severities, causes: cloudwatch.IAlarmRule[], topic: Topic): cloudwatch.IAlarm {
    const alarm = new cloudwatch.CompositeAlarm(this, name, {
      compositeAlarmName: `${Stack.of(this).stackName}-${name}`,
      alarmDescription: `${severities[name].means} What to do: docs/operate/runbook.md, ${name}.`,
      alarmRule: cloudwatch.AlarmRule.anyOf(...causes),
    });
    const action = new SnsAction(topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
    return alarm;
  }

  #addTopic(id: string, email: string | undefined, masterKey: Key | undefined): Topic {
    const topic = new Topic(this, id, { enforceSSL: true, ...(masterKey && { masterKey }) });
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

  #addWindows(api: GuardedApi, severity: Severity): cloudwatch.Alarm[][] {
    return Object.entries(promises(api)).map(([name, promise]) => this.#add(burnRates(name, promise, severity)));
  }

  /** Makes alarms, whose names begin with `prefix`, such as AuthorizerErrors. */
  #add(kinds: Alarms, prefix = ''): cloudwatch.Alarm[] {
    return Object.entries(kinds).map(([kind, { limit, metric, timing, means }]) => {
      const alarmName = `${Stack.of(this).stackName}-${prefix}${kind}`;
      return metric.with({ period: timing.period }).createAlarm(this, alarmName, {
        alarmName,
        // A window's section is that of its promise: the section of Availability1h is Availability.
        alarmDescription: `${means} What to do: docs/operate/runbook.md, ${kind.replace(/\d[mhd]$/, '')}.`,
        threshold: limit,
        comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        evaluationPeriods: timing.evaluationPeriods,
        treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      });
    });
  }
}

/** Each promise, while it is broken in both windows. */
const eachOf = (windows: cloudwatch.Alarm[][]) => windows.map((both) => cloudwatch.AlarmRule.allOf(...both));

type Severity = { means: string; burnRate: number; long: Window; short: Window };
type Window = [name: string, length: Duration];

/** A burn rate of 1 spends the error budget of 30 days in 30 days. packages/cdk/alarms.md says why these. */
const severities = {
  Page: {
    means: 'At this rate, the error budget of 30 days would last 50 hours, or the API cannot be reached.',
    burnRate: 14.4,
    long: ['1h', Duration.hours(1)],
    short: ['5m', Duration.minutes(5)],
  },
  Ticket: {
    means: 'At this rate, the error budget of 30 days would not last, or something else needs work.',
    burnRate: 1,
    long: ['1d', Duration.days(1)],
    short: ['6h', Duration.hours(6)],
  },
} satisfies Record<string, Severity>;

/** The share of the responses that may be bad, and an expression for the share that is. */
type Promised = { budget: number; bad: string; metrics: Record<string, cloudwatch.Metric>; means: string };

/** What docs/operate/runbook.md promises. */
const promises = (api: GuardedApi): Record<string, Promised> => ({
  Availability: {
    budget: 0.001,
    bad: 'FILL(errors, 0) / all',
    metrics: { errors: api.metricServerError(sum), all: api.metricCount(sum) },
    means: 'Too many responses were 5xx',
  },
  Latency: {
    budget: 0.01,
    bad: 'FILL(slow, 0) / 100',
    metrics: { slow: api.metricLatency({ statistic: 'PR(1000:)' }), all: api.metricCount(sum) },
    means: 'Too many responses took over 1 s',
  },
});

/**
 * So many bad responses in the long window count as none: at night, one among 50 would be a burn rate of 20. A minimum
 * of requests would keep an outage quiet while there are few clients.
 */
const few = 4;

const burnRates = (
  name: string,
  { budget, bad, metrics, means }: Promised,
  { burnRate, long, short }: Severity,
): Alarms => {
  const alarm = ([window, period]: Window, ignored: number) => {
    const expression = `IF(${bad} * all > ${ignored}, ${bad} / ${budget}, 0)`;
    const metric = new cloudwatch.MathExpression({ expression, usingMetrics: metrics, label: 'burn rate' });
    const what = `${means}: the burn rate of ${period.toHumanString()} is over ${burnRate}.`;
    return [`${name}${window}`, above(burnRate, metric, { period, evaluationPeriods: 1 }, what)] as const;
  };
  return Object.fromEntries([alarm(long, few), alarm(short, 0)]);
};

/** The graphs in which to look for the cause of an alarm, from the gateway to the table. */
const graphs = ({ api, operations, authorizer }: Parts, tables: TableV2[]): cloudwatch.IWidget[] => {
  const functions = [authorizer, ...operations];
  const metrics: Record<string, cloudwatch.IMetric[]> = {
    Responses: [api.metricCount(sum), api.metricClientError(sum), api.metricServerError(sum)],
    'Latency of the API': ['p50', 'p90', 'p99'].map((statistic) => api.metricLatency({ statistic, label: statistic })),
    'Responses within 1 s, %': [api.metricLatency({ statistic: 'PR(:1000)', label: 'promised: 99 %' })],
    Invocations: functions.map(({ node, live }) => live.metricInvocations({ ...sum, label: node.id })),
    'Throttled invocations': functions.map(({ node, live }) => live.metricThrottles({ ...sum, label: node.id })),
    'Duration, p99': functions.map(({ node, live }) => live.metricDuration({ ...p99, label: node.id })),
  };
  for (const [index, table] of tables.entries()) {
    const name = index === 0 ? '' : ` ${table.node.id}`;
    metrics[`Latency of the table${name}`] = [byOperation(table, 'SuccessfulRequestLatency', cloudwatch.Stats.AVERAGE)];
    metrics[`Consumed capacity${name}`] = [
      table.metricConsumedReadCapacityUnits(sum),
      table.metricConsumedWriteCapacityUnits(sum),
    ];
    metrics[`Refusals and errors of the table${name}`] = [
      ...['ConditionalCheckFailedRequests', 'ReadThrottleEvents', 'WriteThrottleEvents'].map((each) =>
        table.metric(each, sum),
      ),
      byOperation(table, 'SystemErrors', cloudwatch.Stats.SUM),
    ];
  }
  return Object.entries(metrics).map(([title, left]) => new cloudwatch.GraphWidget({ title, left }));
};

/** Queries of the log, which cost only while somebody looks at the dashboard: packages/cdk/alarms.md. */
const ofLogs = ({ operations, authorizer }: Parts): cloudwatch.IWidget[] => {
  const logs = (functions: ServiceFunction[]) => functions.map(({ log }) => log.logGroupName);
  const line = (title: string, operation: ServiceFunction, values: string) =>
    new cloudwatch.LogQueryWidget({
      title: `${title}, ${operation.node.id}`,
      logGroupNames: logs([operation]),
      queryLines: [`stats ${values} by bin(5m)`],
      view: cloudwatch.LogQueryVisualizationType.LINE,
    });
  const time = ['50', '90', '99'].map((percent) => `pct(message.store.milliseconds, ${percent})`).join(', ');
  return [
    new cloudwatch.LogQueryWidget({
      title: 'Outcomes',
      logGroupNames: logs([authorizer, ...operations]),
      queryLines: [
        'filter ispresent(message.outcome)',
        'stats count() as requests by message.outcome, message.error, message.reason',
        'sort requests desc',
      ],
    }),
    ...operations.map((each) => line('Time of the store', each, time)),
    ...operations.map((each) => line('Attempts at the store', each, 'avg(message.store.attempts)')),
  ];
};

type Timing = { period: Duration; evaluationPeriods: number };
/** For alarms that must go off within the five minutes in which a roll-out tries a new version. */
const atOnce: Timing = { period: Duration.minutes(1), evaluationPeriods: 1 };
/** For problems that matter even if they last for only one period of five minutes. */
const soon: Timing = { period: Duration.minutes(5), evaluationPeriods: 1 };
/** For problems that matter only if they last 15 minutes. A shorter problem may be due to one client. */
const lasting: Timing = { period: Duration.minutes(5), evaluationPeriods: 3 };

type Watched = cloudwatch.Metric | cloudwatch.MathExpression;
type Alarms = Record<string, ReturnType<typeof above>>;

const above = (limit: number, metric: Watched, timing: Timing, means: string) => ({ limit, metric, timing, means });

const sum = { statistic: cloudwatch.Stats.SUM };
const p99 = { statistic: cloudwatch.Stats.percentile(99) };
const maximum = { statistic: cloudwatch.Stats.MAXIMUM };

const ofApi = (api: GuardedApi, { Api4xxRate }: Limits): Alarms => {
  // At night, the check from outside may be alone: 2 refused requests in five minutes, or 6 if it fails.
  const expression = 'IF(all > 10, 100 * FILL(some, 0) / all, 0)';
  const usingMetrics = { some: api.metricClientError(sum), all: api.metricCount(sum) };
  const share = new cloudwatch.MathExpression({ expression, usingMetrics });
  const means = `For 15 minutes, more than ${Api4xxRate} % of the responses were 4xx.`;
  return { Api4xxRate: above(Api4xxRate, share, lasting, means) };
};

const ofAuthorizer = (authorizer: ServiceFunction): Alarms => ({
  KeysNotFetched: above(
    0,
    keysNotFetched(authorizer),
    lasting,
    "For 15 minutes, the issuer's keys could not be fetched.",
  ),
});

/** Returns the alarms that roll back a function. They watch the function's alias, because callers invoke the alias. */
const ofFunction = ({ live }: ServiceFunction): Alarms => ({
  Errors: above(0, live.metricErrors(sum), atOnce, 'The function threw, crashed or timed out.'),
});

const ofOperation = (operation: ServiceFunction): Alarms => ({
  ...ofFunction(operation),
  Faults: above(0, faults(operation), atOnce, 'The function returned a 500.'),
});

const ofAccount = ({ Concurrency }: Limits): Alarms => {
  const invocations = LambdaFunction.metricAllConcurrentExecutions(maximum);
  const means = `More than ${Concurrency} invocations ran at the same time in the account.`;
  return { Concurrency: above(Concurrency, invocations, soon, means) };
};

const tablesIn = (construct: Construct): TableV2[] =>
  Stack.of(construct)
    .node.findAll()
    .filter((each) => each instanceof TableV2);

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

/** Finds a metric of each DynamoDB operation that somebody has called on the table. */
const byOperation = ({ tableName }: TableV2, metric: string, statistic: string): cloudwatch.IMetric => {
  const search = `{AWS/DynamoDB,TableName,Operation} TableName="${tableName}" MetricName="${metric}"`;
  const expression = `SEARCH('${search}', '${statistic}', 300)`;
  return new cloudwatch.MathExpression({ expression, usingMetrics: {}, label: metric });
};
