import {
  type AttributeValue,
  CreateTableCommand,
  DynamoDBClient,
  GetItemCommand,
  ListTablesCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { listen } from '../../local/listen.ts';

/** A DynamoDB of this test's own, in memory. */
export type PlantsStore = {
  endpoint: string;
  /** The item with this id as DynamoDB holds it. */
  read: (id: string) => Promise<Item | undefined>;
  /** How many items there are. */
  size: () => Promise<number>;
  close: () => Promise<void>;
};
export type Item = Record<string, AttributeValue>;

/** What the SDK needs to talk to a store that checks nothing. */
export const anyCredentials = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

/** Makes an empty plants table, where it gets a name for one; else reads from the one table that somebody makes. */
export const startPlantsStore = async (tableName?: string): Promise<PlantsStore> => {
  const server = dynalite({ createTableMs: 0 });
  const endpoint = `http://127.0.0.1:${await listen(server, 0)}`;
  const client = new DynamoDBClient({ ...anyCredentials, endpoint });
  if (tableName !== undefined) {
    await client.send(
      new CreateTableCommand({
        TableName: tableName,
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
        BillingMode: 'PAY_PER_REQUEST',
      }),
    );
  }
  const onlyTable = async (): Promise<string> => (await client.send(new ListTablesCommand())).TableNames?.[0] ?? '';
  return {
    endpoint,
    read: async (id) => readItem(client, tableName ?? (await onlyTable()), id),
    size: async () => {
      const { Count = 0 } = await client.send(new ScanCommand({ TableName: tableName ?? (await onlyTable()) }));
      return Count;
    },
    close: async () => {
      client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

export const readItem = async (client: DynamoDBClient, table: string, id: string): Promise<Item | undefined> =>
  (await client.send(new GetItemCommand({ TableName: table, Key: { id: { N: id } }, ConsistentRead: true }))).Item;
