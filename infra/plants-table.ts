import { maxWriteUnits, type Settings } from '@lambda-service/cdk';
import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, Billing, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import type { NewPlant } from '../functions/generated/contract.ts';

/** This line does not compile if it does not fit `id` in the contract. */
const keyType: KeyType<NewPlant['id']> = AttributeType.NUMBER;
type KeyType<Id> = Id extends string ? AttributeType.STRING : Id extends number | bigint ? AttributeType.NUMBER : never;

/** Stores each plant as one item, with an attribute for each field that is given. Billed on demand. */
export class PlantsTable extends TableV2 {
  constructor(scope: Construct, id: string, { stage, throttle }: Pick<Settings, 'stage' | 'throttle'>) {
    super(scope, id, {
      partitionKey: { name: 'id' satisfies keyof NewPlant, type: keyType },
      billing: Billing.onDemand({ maxWriteRequestUnits: maxWriteUnits(throttle) }),
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
