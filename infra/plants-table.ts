import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import type { Stage } from './settings.ts';

/** Stores each plant as one item: `id` (number, the partition key), `name`, and `tag` if given. Billed on demand. */
export class PlantsTable extends TableV2 {
  constructor(scope: Construct, id: string, stage: Stage) {
    super(scope, id, {
      partitionKey: { name: 'id', type: AttributeType.NUMBER },
      deletionProtection: stage === 'prod',
      removalPolicy: stage === 'prod' ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
      // Point-in-time recovery can go back at most 35 days. Stages other than `prod` go without it, because AWS would
      // keep a backup for 35 days after the table is deleted.
      ...(stage === 'prod' && {
        pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true, recoveryPeriodInDays: 35 },
      }),
    });
  }
}
