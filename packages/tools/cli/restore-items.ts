/** Copies the items that one DynamoDB table has and another lacks, which is the last step of restoring a table. */
import {
  ConditionalCheckFailedException,
  type DynamoDB,
  DynamoDBServiceException,
  type TableDescription,
} from '@aws-sdk/client-dynamodb';
import { pMapIterable } from 'p-map';
import { explain, orExplain } from './aws.ts';

/** The names of two tables: items are copied from the table `from` to the table `to`. */
export type Tables = { from: string; to: string };

/** What happened to one item. `already there`: the target table has an item with the same key, whatever its content. */
type Restored = { outcome: 'restored' | 'already there' } | { outcome: 'failed'; reason: string };

/**
 * How many items may be written at the same time. DynamoDB allows far more, but the service uses the same table during
 * the restore.
 */
const concurrency = 32;

/**
 * Checks that items can be copied between the tables.
 * @returns the name of the tables' partition key, and the approximate number of items in the table to copy from
 * (DynamoDB updates this number every six hours)
 */
export const checkTables = async (client: DynamoDB, { from, to }: Tables) => {
  const source = await describe(client, from);
  const target = await describe(client, to);
  if (source.TableStatus === 'CREATING')
    throw new Error(`DynamoDB is still restoring the table ${from}: run the same command again later.`);
  if (keyOf(source) !== keyOf(target))
    throw new Error(`The keys must be the same: ${from} has ${keyOf(source)}, but ${to} has ${keyOf(target)}.`);
  const partitionKey = source.KeySchema?.find(({ KeyType }) => KeyType === 'HASH')?.AttributeName ?? '';
  return { partitionKey, itemCount: source.ItemCount ?? 0 };
};

/**
 * Puts each item of one table into the other, unchanged, unless the other has an item with the same key. No item is
 * ever overwritten or deleted, so repeating a copy is safe.
 * @throws the SDK's error if all remaining items would fail for the same reason
 */
export const restoreItems = (client: DynamoDB, { from, to }: Tables, partitionKey: string): AsyncIterable<Restored> =>
  pMapIterable(
    itemsOf(client, from),
    async (Item): Promise<Restored> => {
      try {
        await client.putItem({
          TableName: to,
          Item,
          ConditionExpression: 'attribute_not_exists(#key)',
          ExpressionAttributeNames: { '#key': partitionKey },
        });
        return { outcome: 'restored' };
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return { outcome: 'already there' };
        if (concernsOneItem(error)) return { outcome: 'failed', reason: explain(error) };
        throw error;
      }
    },
    { concurrency, backpressure: 8 * concurrency },
  );

/** Yields the items of a table. The SDK represents numbers as text, so a copy keeps all their digits (up to 38). */
async function* itemsOf(client: DynamoDB, table: string) {
  const pages = client.paginateScan({ TableName: table, ConsistentRead: true });
  for await (const { Items = [] } of pages) yield* Items;
}

/** DynamoDB's client errors (status 400) after which other items may still succeed. */
const perItem =
  /^(?:(?:ItemCollectionSizeLimitExceeded|ProvisionedThroughputExceeded|Throttling|Validation)Exception|RequestLimitExceeded)$/;

const concernsOneItem = (error: unknown): boolean =>
  error instanceof DynamoDBServiceException &&
  (perItem.test(error.name) || (error.$metadata.httpStatusCode ?? 0) >= 500);

const describe = (client: DynamoDB, name: string): Promise<TableDescription> =>
  orExplain(`The table ${name} cannot be read`, async () => {
    const { Table = {} } = await client.describeTable({ TableName: name });
    return Table;
  });

/** Describes a table's key, partition key first, such as `owner (S), id (N)`. */
const keyOf = ({ KeySchema = [], AttributeDefinitions = [] }: TableDescription): string =>
  KeySchema.map(({ AttributeName }) => {
    const definition = AttributeDefinitions.find((each) => each.AttributeName === AttributeName);
    return `${AttributeName} (${definition?.AttributeType})`;
  }).join(', ');
