import { type AttributeValue, CreateTableCommand, DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { listen } from '../local/listen.ts';

/** An empty plants table in a DynamoDB of this test's own, in memory. */
export type PlantsStore = {
  endpoint: string;
  tableName: string;
  /** The item as DynamoDB holds it. */
  read: (id: string) => Promise<Record<string, AttributeValue> | undefined>;
  close: () => Promise<void>;
};

/** What the SDK needs to talk to a store that checks nothing. */
export const anyCredentials = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

export const startPlantsStore = async (): Promise<PlantsStore> => {
  const server = dynalite({ createTableMs: 0 });
  const endpoint = `http://127.0.0.1:${await listen(server, 0)}`;
  const client = new DynamoDBClient({ ...anyCredentials, endpoint });
  const tableName = 'plants';
  await client.send(
    new CreateTableCommand({
      TableName: tableName,
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
      BillingMode: 'PAY_PER_REQUEST',
    }),
  );
  return {
    endpoint,
    tableName,
    read: async (id) =>
      (await client.send(new GetItemCommand({ TableName: tableName, Key: { id: { N: id } }, ConsistentRead: true })))
        .Item,
    close: async () => {
      client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
