import {
  type AttributeValue,
  DynamoDBClient,
  GetItemCommand,
  ListTablesCommand,
  PutItemCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { listen } from '../../tools/start/listen.ts';
import '../../packages/emulator/dynamodb/dynalite-fixes.ts';
import { createTable } from '../../packages/emulator/dynamodb/tables.ts';
import type { TableSpec } from '../../packages/emulator/served-stack.ts';
import { keepingIdle } from './servers.ts';

export type PlantsStore = Awaited<ReturnType<typeof startPlantsStore>>;

export type Item = Record<string, AttributeValue>;

/** A region and credentials, because the SDK makes no call without them. The store checks neither. */
export const anyCredentials = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

/**
 * Starts an empty DynamoDB emulator, and creates the table `tableName`, if given. Otherwise, other code must create
 * exactly one table, which `read` and `size` then use.
 */
export const startPlantsStore = async (tableName?: string) => {
  const server = keepingIdle(dynalite({ createTableMs: 0 }));
  const endpoint = `http://127.0.0.1:${await listen(server, 0)}`;
  const client = new DynamoDBClient({ ...anyCredentials, endpoint });
  if (tableName !== undefined) await createTable(client, plantsTable(tableName), '');
  const onlyTable = async (): Promise<string> => (await client.send(new ListTablesCommand())).TableNames?.[0] ?? '';
  const all = async (): Promise<Item[]> =>
    (await client.send(new ScanCommand({ TableName: tableName ?? (await onlyTable()) }))).Items ?? [];
  return {
    endpoint,
    /** Returns the item with this id as DynamoDB stores it. */
    read: async (id: string) => readItem(client, tableName ?? (await onlyTable()), id),
    all,
    size: async () => (await all()).length,
    /** Stores an item as another client of DynamoDB does, without the service. */
    write: async (Item: Item): Promise<unknown> =>
      client.send(new PutItemCommand({ TableName: tableName ?? (await onlyTable()), Item })),
    close: async () => {
      client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** A table with the key of the plants table. */
export const plantsTable = (TableName: string): TableSpec => ({
  TableName,
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
});

export const readItem = async (client: DynamoDBClient, table: string, id: string): Promise<Item | undefined> =>
  (await client.send(new GetItemCommand({ TableName: table, Key: { id: { N: id } }, ConsistentRead: true }))).Item;
