import { Duration, Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { BundledFunction } from './service-function.ts';
import type { Settings } from './settings.ts';

type OutsideCheckProps = Pick<Settings, 'stage' | 'tracing'> & { apiUrl: string; issuer: string };

/** Calls the API every five minutes, as a client does but with a forged token: packages/cdk/alarms.md. */
export class OutsideCheck extends BundledFunction {
  /** Goes off if every check has failed for 15 minutes, or if none has run for about 25. */
  readonly alarm: Alarm;

  constructor(scope: Construct, id: string, { apiUrl, issuer, stage, tracing }: OutsideCheckProps) {
    super(scope, id, {
      entry: 'outside-check.lambda.ts',
      environment: { API_URL: apiUrl, ISSUER: issuer },
      // Two requests, each of at most 11 s.
      timeout: Duration.seconds(25),
      stage,
      tracing,
    });
    const anotherFollows = 'The next check follows within five minutes, and the alarm tells if none succeeds.';
    acknowledge(this, 'Serverless-LambdaDLQ', anotherFollows);
    const period = Duration.minutes(5);
    const rule = new Rule(this, 'Schedule', { schedule: Schedule.rate(period), targets: [new LambdaFunction(this)] });
    acknowledge(rule, 'Serverless-EventBusDLQ', anotherFollows);

    const alarmName = `${Stack.of(this).stackName}-${id}`;
    this.alarm = new Alarm(this, 'Silence', {
      alarmName,
      alarmDescription: `Every check from outside failed for 15 minutes, or none ran for 25. What to do: docs/operate/runbook.md, ${id}.`,
      // Lambda reports 0 or 1 for each run, so an average of 1 means that every run has failed.
      metric: this.metricErrors({ period, statistic: Stats.AVERAGE }),
      threshold: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: 3,
      treatMissingData: TreatMissingData.BREACHING,
    });
  }
}
