import { Duration, Stack } from 'aws-cdk-lib';
import type { IHttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import {
  AlarmStatusWidget,
  ComparisonOperator,
  GraphWidget,
  type IAlarm,
  type MathExpression,
  type Metric,
  Stats,
  TextWidget,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import {
  type CustomAlarmThreshold,
  type CustomMetricWithAlarm,
  DefaultDashboardFactory,
  MonitoringFacade,
  SnsAlarmActionStrategy,
} from 'cdk-monitoring-constructs';
import { Construct } from 'constructs';
import { AlarmTopic } from './alarm-topic.ts';
import { LogMetrics } from './log-metrics.ts';
import type { PlantApi } from './plant-api.ts';
import type { PlantsTable } from './plants-table.ts';
import type { ServiceFunction } from './service-function.ts';

type MonitoringProps = {
  api: PlantApi;
  createPlant: ServiceFunction;
  authorizer: ServiceFunction;
  table: PlantsTable;
  alarmEmail?: string | undefined;
};

/** Alarm timing: within a minute, to catch errors in the five minutes in which a roll-out tries a new version. */
const atOnce = { period: Duration.minutes(1), evaluationPeriods: 1, datapointsToAlarm: 1 };

/** Alarm timing: within five minutes, for problems that matter even if they are short. */
const soon = { period: Duration.minutes(5), evaluationPeriods: 1, datapointsToAlarm: 1 };

/** Alarm timing: after 15 minutes, for problems that a single client may cause for a while. */
const lasting = { period: Duration.minutes(5), evaluationPeriods: 3, datapointsToAlarm: 3 };

/** An alarm goes off above this many concurrent invocations in the account and region. The default quota is 1,000. */
const maxConcurrency = 800;

/**
 * The alarms, each explained under its name in docs/operate/runbook.md, and one dashboard: the overall health first,
 * then each part from the gateway to the table.
 */
export class Monitoring extends Construct {
  readonly dashboardUrl: string;
  readonly #prefix: string;
  readonly #facade: MonitoringFacade;

  constructor(scope: Construct, id: string, { api, createPlant, authorizer, table, alarmEmail }: MonitoringProps) {
    super(scope, id);
    const { stackName, region } = Stack.of(this);
    this.#prefix = `${stackName}-`;
    const topic = new AlarmTopic(this, 'Alarms', alarmEmail);
    // A dashboard's name must be unique in the account across all regions.
    const dashboard = `${stackName}-Health-${region}`;
    this.#facade = new MonitoringFacade(this, 'Facade', {
      alarmFactoryDefaults: {
        alarmNamePrefix: stackName,
        actionsEnabled: true,
        action: new SnsAlarmActionStrategy({ onAlarmTopic: topic, onOkTopic: topic }),
      },
      dashboardFactory: new DefaultDashboardFactory(this, 'Dashboard', {
        dashboardNamePrefix: dashboard,
        createDashboard: true,
        detailDashboardRange: Duration.hours(3),
      }),
    });
    const logged = new LogMetrics(this, 'Logged', { createPlant, authorizer });

    const alarms: IAlarm[] = [];
    const title = `# ${stackName}: health\nWhat an alarm means and what to do: docs/operate/runbook.md`;
    this.#facade
      .addWidget(new TextWidget({ markdown: title, width: 24, height: 2 }))
      .addWidget(new AlarmStatusWidget({ title: 'Alarms', alarms, width: 24, height: 4 }));
    this.#monitorResponses(api, logged);
    this.#facade.addWidget(
      new GraphWidget({ title: 'Plants and tokens, from the log', left: logged.outcomes, width: 24, height: 6 }),
    );
    this.#monitorApi(api);
    this.#monitorFunction('Authorizer', authorizer);
    this.#monitorFunction('CreatePlant', createPlant);
    this.#monitorTable(table);
    // The alarm status widget holds a reference to `alarms`, so alarms that are added later appear too.
    alarms.push(...this.#facade.createdAlarms().map(({ alarm }) => alarm));

    const console = `https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}`;
    this.dashboardUrl = `${console}#dashboards/dashboard/${dashboard}`;
  }

  /** Returns the alarm with this name, which is a heading in the runbook. @throws Error if there is none */
  alarm(name: string): IAlarm {
    const found = this.#facade.createdAlarms().find(({ alarmName }) => alarmName === this.#prefix + name);
    if (found === undefined) throw new Error(`There is no alarm ${name}.`);
    return found.alarm;
  }

  #monitorResponses(api: PlantApi, { faults, keysNotFetched }: LogMetrics): void {
    this.#monitorCustom('What clients see', {
      'Errors, % of all responses': [
        this.#above(1, api.metricShare(api.metricServerError()), {
          ...soon,
          ...this.#named('Api5xxRate', 'More than 1 % of the responses were 5xx.'),
        }),
        this.#above(25, api.metricShare(api.metricClientError()), {
          ...lasting,
          ...this.#named('Api4xxRate', 'For 15 minutes, more than 25 % of the responses were 4xx.'),
        }),
      ],
      "Faults, and failed fetches of the issuer's keys": [
        this.#above(0, faults, { ...atOnce, ...this.#named('CreatePlantFaults', 'createPlant returned a 500.') }),
        this.#above(0, keysNotFetched, {
          ...atOnce,
          ...this.#named('AuthorizerKeysNotFetched', 'The keys of the token issuer could not be fetched.'),
        }),
      ],
    });
  }

  #monitorApi(api: PlantApi): void {
    this.#facade.monitorApiGatewayV2HttpApi({
      // CDK's class types do not fit its interfaces under exactOptionalPropertyTypes, so `as` is needed.
      api: api as IHttpApi,
      humanReadableName: 'Gateway',
      alarmFriendlyName: 'Api',
      addLatencyP99Alarm: {
        Critical: {
          maxLatency: Duration.millis(2_500),
          ...lasting,
          ...this.#named('ApiLatencyP99', 'For 15 minutes, one response in 100 took longer than 2.5 s.'),
        },
      },
    });
  }

  /** Monitors the function's alias, because callers invoke the alias. */
  #monitorFunction(name: 'CreatePlant' | 'Authorizer', { live, timeout }: ServiceFunction): void {
    this.#facade.monitorLambdaFunction({
      lambdaFunction: live,
      humanReadableName: name,
      alarmFriendlyName: name,
      isIterator: false,
      addFaultCountAlarm: {
        Critical: {
          maxErrorCount: 0,
          ...atOnce,
          ...this.#named(`${name}Errors`, 'The function threw, crashed or timed out.'),
        },
      },
      addThrottlesCountAlarm: {
        Critical: {
          maxErrorCount: 0,
          ...soon,
          ...this.#named(`${name}Throttles`, 'Lambda throttled the function: it could not run another instance.'),
        },
      },
      addMaxLatencyAlarm: {
        Critical: {
          maxLatency: Duration.millis(0.8 * timeout.toMilliseconds()),
          ...soon,
          ...this.#named(`${name}Duration`, 'An invocation took more than 80 % of the time-out.'),
        },
      },
    });
  }

  #monitorTable(table: PlantsTable): void {
    const invocations = LambdaFunction.metricAllConcurrentExecutions({ statistic: Stats.MAXIMUM });
    this.#monitorCustom('Limits and conflicts', {
      'Concurrent invocations in the account': [
        this.#above(maxConcurrency, invocations, {
          ...soon,
          ...this.#named('Concurrency', `More than ${maxConcurrency} invocations ran at the same time in the account.`),
        }),
      ],
      'Conflicts, % of all writes': [
        this.#above(20, table.metricConflictShare(), {
          ...lasting,
          ...this.#named(
            'ConflictRate',
            'For 15 minutes, more than 20 % of the writes used an id that belongs to a different plant.',
          ),
        }),
      ],
      'Errors of DynamoDB': [
        this.#above(0, table.metricPutItemSystemErrors(), {
          ...soon,
          ...this.#named('TableSystemErrors', 'DynamoDB returned a 5xx.'),
        }),
      ],
    });
    this.#facade.monitorDynamoTable({
      table: table as ITable,
      humanReadableName: 'Table',
      alarmFriendlyName: 'Table',
      addWriteThrottledEventsCountAlarm: {
        Critical: {
          maxThrottledEventsThreshold: 0,
          ...soon,
          ...this.#named('TableWriteThrottles', 'DynamoDB throttled writes.'),
        },
      },
    });
  }

  /** Adds a row of graphs to the dashboard. `graphs` maps each title to its metrics. */
  #monitorCustom(name: string, graphs: Record<string, CustomMetricWithAlarm[]>): void {
    this.#facade.monitorCustom({
      alarmFriendlyName: name,
      humanReadableName: name,
      metricGroups: Object.entries(graphs).map(([title, metrics]) => ({ title, metrics })),
    });
  }

  #above(
    threshold: number,
    metric: Metric | MathExpression,
    alarm: CustomAlarmThreshold & { alarmNameOverride: string },
  ): CustomMetricWithAlarm {
    const comparisonOperator = ComparisonOperator.GREATER_THAN_THRESHOLD;
    const treatMissingDataOverride = TreatMissingData.NOT_BREACHING;
    return {
      metric,
      alarmFriendlyName: alarm.alarmNameOverride,
      addAlarm: { Critical: { threshold, comparisonOperator, treatMissingDataOverride, ...alarm } },
    };
  }

  #named(name: string, description: string): { alarmNameOverride: string; alarmDescriptionOverride: string } {
    return {
      alarmNameOverride: this.#prefix + name,
      alarmDescriptionOverride: `${description} What to do: docs/operate/runbook.md, ${name}.`,
    };
  }
}
