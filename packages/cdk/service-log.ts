import { RemovalPolicy } from 'aws-cdk-lib';
import { LogGroup, type LogGroupProps, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { Stage } from './settings.ts';

export class ServiceLog extends LogGroup {
  constructor(scope: Construct, id: string, stage: Stage, props: LogGroupProps = {}) {
    super(scope, id, {
      ...props,
      retention: stage === 'prod' ? RetentionDays.THREE_MONTHS : RetentionDays.ONE_WEEK,
      removalPolicy: stage === 'prod' ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    });
  }
}
