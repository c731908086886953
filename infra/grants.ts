import type { Operation } from 'aws-cdk-lib/aws-dynamodb';
import type { OperationId } from '../functions/generated/contract.ts';

/** What the function of each operation may do with the table, and nothing else. */
export const grants: Readonly<Record<OperationId, readonly `dynamodb:${Operation}`[]>> = {
  // UpdateItem may change any item; only the condition of its call keeps createPlant from changing a plant.
  createPlant: ['dynamodb:UpdateItem'],
};
