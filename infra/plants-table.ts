import { RemovalPolicy } from 'aws-cdk-lib';
import { MathExpression, type Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { AttributeType, Operation, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { Stage } from './settings.ts';

/** Stores each plant as one item: `id` (number, the partition key), `name`, and `tag` if given. Billed on demand. */
export class PlantsTable extends TableV2 {
  constructor(scope: Construct, id: string, stage: Stage) {
    super(scope, id, {
      partitionKey: { name: 'id', type: AttributeType.NUMBER },
      deletionProtection: stage === 'prod',
      removalPolicy: stage === 'prod' ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
      pointInTimeRecoverySpecification: {
        pointInTimeRecoveryEnabled: true,
        // Point-in-time recovery can go back at most 35 days.
        recoveryPeriodInDays: stage === 'prod' ? 35 : 1,
      },
    });
  }

  /** Lets `grantee` call PutItem and no other operation. Only the call's condition keeps it from replacing a plant. */
  grantAdd(grantee: IGrantable): void {
    this.grant(grantee, 'dynamodb:PutItem');
  }

  /** Returns conflicts as a percentage of all writes. The sample count of the latency metric is the successful writes. */
  metricConflictShare(): MathExpression {
    return new MathExpression({
      expression: 'IF(refused > 0, 100 * refused / (refused + FILL(written, 0)), 0)',
      usingMetrics: {
        refused: this.metricConditionalCheckFailedRequests({ statistic: Stats.SUM }),
        written: this.metricSuccessfulRequestLatency({
          dimensionsMap: { TableName: this.tableName, Operation: Operation.PUT_ITEM },
          statistic: Stats.SAMPLE_COUNT,
        }),
      },
      label: 'Conflicts',
    });
  }

  /** Counts DynamoDB's 5xx for PutItem. CDK's own metric sums over all operations, of which most never have data. */
  metricPutItemSystemErrors(): Metric {
    return this.metric('SystemErrors', {
      dimensionsMap: { TableName: this.tableName, Operation: Operation.PUT_ITEM },
      statistic: Stats.SUM,
    });
  }
}
