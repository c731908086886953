import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';

/** The plants, one item each: `id` (number, the partition key), `name`, and `tag` where it was given. */
export class PlantsTable extends TableV2 {
  constructor(scope: Construct, id: string) {
    super(scope, id, { partitionKey: { name: 'id', type: AttributeType.NUMBER } });
  }

  /** Lets `grantee` add plants, and nothing else: it can neither read nor change nor delete. */
  grantAdd(grantee: IGrantable): void {
    this.grant(grantee, 'dynamodb:PutItem');
  }
}
