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
  const advice = 'in the stack; use another store, or delete the table (of dynalite: its folder, with all items)';
  const different = (what: string) => new Error(`its table ${table.TableName} has ${what} than ${advice}`);
  if (keyOf(existing) !== keyOf(table)) throw different('a different key');
  if (indexesOf(existing) !== indexesOf(table)) throw different('different indexes');
};

type Definition = TableDescription | TableSpec;

/** Describes a key (by default, the table's) as text for comparison: its attributes' names, order and types. */
const keyOf = ({ KeySchema, AttributeDefinitions = [] }: Definition, schema: KeySchemaElement[] = KeySchema ?? []) =>
  JSON.stringify(
    schema.map(({ AttributeName, KeyType }) => [
      AttributeName,
      KeyType,
      AttributeDefinitions.find((attribute) => attribute.AttributeName === AttributeName)?.AttributeType,
    ]),
  );

/** Describes a table's indexes as text for comparison: names, keys and projections, sorted to ignore their order. */
const indexesOf = (table: Definition): string => {
  const { GlobalSecondaryIndexes = [], LocalSecondaryIndexes = [] } = table;
  return JSON.stringify(
    [GlobalSecondaryIndexes, LocalSecondaryIndexes].map((indexes) =>
      indexes
        .map(({ IndexName, KeySchema = [], Projection: { ProjectionType, NonKeyAttributes = [] } = {} }) =>
          [IndexName, keyOf(table, KeySchema), ProjectionType, ...NonKeyAttributes.toSorted()].join(),
        )
        .toSorted(),
    ),
  );
};

const describe = async (client: DynamoDBClient, TableName?: string): Promise<TableDescription | undefined> => {
  try {
    return (await client.send(new DescribeTableCommand({ TableName }))).Table;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
};
