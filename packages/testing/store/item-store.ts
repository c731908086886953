/** A store in this process, with a table that has the key of the service's table. */
import {
  DynamoDBClient,
  GetItemCommand,
  ListTablesCommand,
  PutItemCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { closeServer, listen } from 'http-api-emulator/servers';
import type { TableSpec } from 'http-api-emulator/testing';
import { createTable } from 'http-api-emulator/testing/store';
import { inject } from 'vitest';
import { type Item, tableKey } from '../data/example.ts';
import { keepingIdle } from '../servers/servers.ts';

export type ItemStore = Awaited<ReturnType<typeof startItemStore>>;

/** A region and credentials, because the SDK makes no call without them. The store checks neither. */
export const anyCredentials = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

/** The environment of a process that uses the table `items` of the store at `endpoint`. */
export const storeEnvironment = (endpoint: string) => ({
  TABLE_NAME: 'items',
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_ENDPOINT_URL_DYNAMODB: endpoint,
});

/**
 * Starts an empty DynamoDB emulator, and creates the table `tableName`, if given, and those tables of the stack besides
 * its first. Otherwise, other code must create the stack's tables. `read` and `size` use the first table.
 */
export const startItemStore = async (tableName?: string) => {
  const server = keepingIdle(dynalite({ createTableMs: 0 }));
  const endpoint = `http://127.0.0.1:${await listen(server, 0)}`;
  const client = new DynamoDBClient({ ...anyCredentials, endpoint });
  if (tableName !== undefined) {
    const [, ...others] = inject('stack').tables;
    for (const table of [firstTableNamed(tableName), ...others]) await createTable(client, table);
  }
  const firstTable = async (): Promise<string> => {
    const { TableNames = [] } = await client.send(new ListTablesCommand());
    // Tests in a browser do without a synthesized stack. A local service then has one table.
    const [first] = inject('stack')?.tables ?? [];
    return TableNames.find((name) => name === (first?.TableName ?? name)) ?? '';
  };
  const all = async (): Promise<Item[]> =>
    (await client.send(new ScanCommand({ TableName: tableName ?? (await firstTable()) }))).Items ?? [];
  return {
    endpoint,
    /** Returns the item with this id as DynamoDB stores it. */
    read: async (id: string) => readItem(client, tableName ?? (await firstTable()), id),
    all,
    size: async () => (await all()).length,
    /** Stores an item as another client of DynamoDB does, without the service. */
    write: async (Item: Item): Promise<unknown> =>
      client.send(new PutItemCommand({ TableName: tableName ?? (await firstTable()), Item })),
    close: async () => {
      client.destroy();
      await closeServer(server);
    },
  };
};

/** A table with the key of the stack's first table. */
const firstTableNamed = (TableName: string): TableSpec => ({
  TableName,
  KeySchema: [{ AttributeName: tableKey.name, KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: tableKey.name, AttributeType: tableKey.type }],
});

export const readItem = async (client: DynamoDBClient, table: string, id: string): Promise<Item | undefined> => {
  const Key = { [tableKey.name]: tableKey.type === 'N' ? { N: id } : { S: id } };
  return (await client.send(new GetItemCommand({ TableName: table, Key, ConsistentRead: true }))).Item;
};
