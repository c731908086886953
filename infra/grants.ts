import type { Operation } from 'aws-cdk-lib/aws-dynamodb';
import type { OperationId } from '../functions/generated/contract.ts';

/** The DynamoDB operations on the table that the function of each operation of the contract may call; no others. */
export const grants: Readonly<Record<OperationId, readonly `dynamodb:${Operation}`[]>> = {
  // UpdateItem may change any item; only the condition of its call keeps createPlant from changing a plant.
  createPlant: ['dynamodb:UpdateItem'],
};
