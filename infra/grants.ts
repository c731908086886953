import type { Operation } from 'aws-cdk-lib/aws-dynamodb';
import type { OperationId } from '../functions/generated/contract.ts';

/** The only DynamoDB operations that the function of each API operation may call on the table. */
export const grants: Readonly<Record<OperationId, readonly `dynamodb:${Operation}`[]>> = {
  // UpdateItem can change any item. Only the condition in createPlant's calls keeps it from changing a stored plant.
  createPlant: ['dynamodb:UpdateItem'],
};
