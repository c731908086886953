/** A store for plants, and random plants. */
import dynalite from 'dynalite';
import '../../packages/emulator/dynamodb/dynalite-fixes.ts';
import {
  type AttributeValue,
  DynamoDBClient,
  GetItemCommand,
  ListTablesCommand,
  PutItemCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { createTable } from '../../packages/emulator/dynamodb/tables.ts';
import type { TableSpec } from '../../packages/emulator/served-stack.ts';
import { listen } from '../../packages/emulator/servers.ts';
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

export type Plant = { id: bigint; name: string; tag?: string };

export const [minId, maxId] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Any text without unpaired surrogates, at most 20 code points long. */
export const texts = fc.string({ unit: 'binary', maxLength: 20 });

export const plants: fc.Arbitrary<Plant> = fc.record(
  { id: fc.bigInt({ min: minId, max: maxId }), name: texts, tag: texts },
  { requiredKeys: ['id', 'name'] },
);

/** Returns random plants, each with a different id. The same seed gives the same plants. */
export const somePlants = (count: number, seed: number): Plant[] => {
  const distinct = fc.uniqueArray(plants, { selector: ({ id }) => id, minLength: count, maxLength: count });
  return fc.sample(distinct, { seed, numRuns: 1 })[0] ?? [];
};

export const toJson = ({ id, ...texts }: Plant): string =>
  `{"id":${id},${JSON.stringify(texts).slice(1)}`.replaceAll('\ufffd', '\\ufffd');
