import { RemovalPolicy } from 'aws-cdk-lib';
import { MathExpression, type Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { AttributeType, Operation, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { Stage } from './settings.ts';

/** The plants, one item each: `id` (number, the partition key), `name`, and `tag` where it was given. On demand. */
export class PlantsTable extends TableV2 {
  constructor(scope: Construct, id: string, stage: Stage) {
    super(scope, id, {
      partitionKey: { name: 'id', type: AttributeType.NUMBER },
      deletionProtection: stage === 'prod',
      removalPolicy: stage === 'prod' ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
      pointInTimeRecoverySpecification: {
        pointInTimeRecoveryEnabled: true,
        // Days; 35 are the most there are.
        recoveryPeriodInDays: stage === 'prod' ? 35 : 1,
      },
    });
  }

  /** Lets `grantee` add plants, and nothing else: it can neither read nor change nor delete. */
  grantAdd(grantee: IGrantable): void {
    this.grant(grantee, 'dynamodb:PutItem');
  }

  /** Percent of the writes that met another plant. Successful ones are counted by their latency. */
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

  /** CDK's own sum over all operations has no data, since most of them are never called. */
  metricPutItemSystemErrors(): Metric {
    return this.metric('SystemErrors', {
      dimensionsMap: { TableName: this.tableName, Operation: Operation.PUT_ITEM },
      statistic: Stats.SUM,
    });
  }
}
