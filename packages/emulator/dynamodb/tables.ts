import { isDeepStrictEqual } from 'node:util';
import {
  CreateTableCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  DynamoDBServiceException,
  type KeySchemaElement,
  ResourceNotFoundException,
  type TableDescription,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import type { TableSpec } from '../served-stack.ts';

/**
 * Creates the table if it is missing, and waits until it is active. (An earlier start may have begun to create it.)
 * @throws Error with a message that completes "The store cannot be used: "
 */
export const createTable = async (client: DynamoDBClient, table: TableSpec): Promise<void> => {
  const existing = await describe(client, table.TableName);
  if (existing === undefined) await create(client, table);
  else mustMatch(existing, table);
  await waitUntilTableExists(
    { client, maxWaitTime: 10, minDelay: 0.02, maxDelay: 0.5 },
    { TableName: table.TableName },
  );
};

const create = async (client: DynamoDBClient, table: TableSpec): Promise<void> => {
  try {
    await client.send(new CreateTableCommand({ ...table, BillingMode: 'PAY_PER_REQUEST' }));
  } catch (error) {
    if (!(error instanceof DynamoDBServiceException) || error.name !== 'ValidationException') throw error;
    throw new Error(
      `it refuses to create the table ${table.TableName}: ${error.message}. If AWS accepts that table, use a DynamoDB ` +
        'that accepts it too: pass `store: { endpoint }` (the commands: AWS_ENDPOINT_URL_DYNAMODB).',
    );
  }
};

const mustMatch = (existing: TableDescription, table: TableSpec): void => {
  if (isDeepStrictEqual(shapeOf(existing), shapeOf(table))) return;
  throw new Error(
    `its table ${table.TableName} has another key or other indexes than in the stack; use another store, or delete the ` +
      'table (of dynalite: its folder, with all items)',
  );
};

/** What a table cannot change: its key and its indexes. Sorted, because their order means nothing. */
const shapeOf = ({ KeySchema, AttributeDefinitions = [], ...table }: TableDescription | TableSpec): string[][] => {
  const { GlobalSecondaryIndexes = [], LocalSecondaryIndexes = [] } = table;
  const keyOf = (schema: KeySchemaElement[] = []) => schema.map((each) => `${each.AttributeName} ${each.KeyType}`);
  const indexes = [GlobalSecondaryIndexes, LocalSecondaryIndexes].map((each) =>
    each.map(({ IndexName, KeySchema, Projection: { ProjectionType, NonKeyAttributes = [] } = {} }) =>
      [IndexName, ...keyOf(KeySchema), ProjectionType, ...NonKeyAttributes.toSorted()].join(),
    ),
  );
  const types = AttributeDefinitions.map((each) => `${each.AttributeName} ${each.AttributeType}`);
  return [keyOf(KeySchema), types, ...indexes].map((part) => part.sort());
};

const describe = async (client: DynamoDBClient, TableName?: string): Promise<TableDescription | undefined> => {
  try {
    return (await client.send(new DescribeTableCommand({ TableName }))).Table;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
};
