import { RemovalPolicy } from 'aws-cdk-lib';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { Stage } from './settings.ts';

/** A log group that keeps lines for three months, or in `dev` for a week. Only `dev` deletes it with the stack. */
export class ServiceLog extends LogGroup {
  constructor(scope: Construct, id: string, stage: Stage) {
    super(scope, id, {
      retention: stage === 'prod' ? RetentionDays.THREE_MONTHS : RetentionDays.ONE_WEEK,
      removalPolicy: stage === 'prod' ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    });
  }
}
