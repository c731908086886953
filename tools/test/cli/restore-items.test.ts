import {
  type AttributeValue,
  DynamoDB,
  type KeySchemaElement,
  PutItemCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createTable } from '../../../packages/emulator/dynamodb/tables.ts';
import { type Item, tableKey } from '../../../test/kit/example.ts';
import { dynamoDbError, type FaultyStore, startFaultyStore } from '../../../test/kit/faulty-store.ts';
import { anyCredentials, readItem } from '../../../test/kit/plants-store.ts';
import { checkTables, type Restored, restoreItems } from '../../cli/restore-items.ts';

const tables = { from: 'restored', to: 'live' };

let store: FaultyStore;
let client: DynamoDB;
beforeEach(async () => {
  store = await startFaultyStore(tables.to);
  client = new DynamoDB({ ...anyCredentials, endpoint: store.endpoint, maxAttempts: 2 });
  onTestFinished(async () => {
    client.destroy();
    await store.close();
  });
});

/** Creates the table `restored`, by default with the key of the live table. */
const createSource = (type = tableKey.type, sortKey: KeySchemaElement[] = []) => {
  const key = [{ AttributeName: tableKey.name, KeyType: 'HASH' as const }, ...sortKey];
  const AttributeDefinitions = key.map(({ AttributeName }) => ({ AttributeName, AttributeType: type }));
  return createTable(client, { TableName: tables.from, KeySchema: key, AttributeDefinitions });
};

const put = (TableName: string, Item: Item) => client.send(new PutItemCommand({ TableName, Item }));

const item = (id: string, content: Record<string, AttributeValue> = { content: { S: 'old' } }): Item => ({
  ...content,
  ...{ [tableKey.name]: tableKey.type === 'N' ? { N: id } : { S: id } },
});

const ids = Array.from({ length: 60 }, (_, index) => String(index + 1));
const putMany = () => Promise.all(ids.map((id) => put(tables.from, item(id))));

/** Restores all items. @returns for each outcome, the number of items */
const restore = async (): Promise<Partial<Record<Restored['outcome'], number>>> => {
  const counts: Partial<Record<Restored['outcome'], number>> = {};
  for await (const { outcome } of restoreItems(client, tables, tableKey.name))
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};

test('a restore copies each item unchanged: every digit, every attribute type, and attributes that are not in the contract', async () => {
  await createSource();
  const odd = item('-9223372036854775808', {
    exact: { N: '12345678901234567890123456789012345678' },
    tiny: { N: '0.00000000000000000000000000000000000001' },
    bytes: { B: new Uint8Array([0, 255]) },
    nested: { M: { list: { L: [{ NULL: true }, { BOOL: false }, { NS: ['1', '9007199254740993'] }] } } },
    empty: { S: '' },
  });
  await put(tables.from, odd);
  await put(tables.from, item('9223372036854775807'));
  expect(await restore()).toEqual({ restored: 2 });
  expect(await store.read('-9223372036854775808')).toEqual(await readItem(client, tables.from, '-9223372036854775808'));
  expect(await store.read('-9223372036854775808')).toEqual(odd);
  expect(await store.read('9223372036854775807')).toEqual(item('9223372036854775807'));
});

test('a restore copies the items from every page of the table', async () => {
  await createSource();
  // DynamoDB returns at most 1 MB in a page, so these four items need several pages.
  const long = { content: { S: 'x'.repeat(390_000) } };
  for (let id = 1; id <= 4; id++) await put(tables.from, item(String(id), long));
  const send = vi.spyOn(client, 'send');
  expect(await restore()).toEqual({ restored: 4 });
  expect(await store.read('4')).toEqual(item('4', long));
  const reads = send.mock.calls.flatMap(([command]) => (command instanceof ScanCommand ? [command.input] : []));
  expect(reads.length).toBeGreaterThan(1);
  // Without this, DynamoDB may leave out items that were written shortly before.
  for (const read of reads) expect(read).toMatchObject({ ConsistentRead: true });
});

test('a restore never overwrites an item in the target table, and keeps items that only the target table has', async () => {
  await createSource();
  await put(tables.from, item('1'));
  await put(tables.from, item('2'));
  await put(tables.to, item('1', { content: { S: 'newer' } }));
  await put(tables.to, item('3'));
  expect(await restore()).toEqual({ restored: 1, 'already there': 1 });
  expect(await store.read('1')).toEqual(item('1', { content: { S: 'newer' } }));
  expect(await store.size()).toBe(3);
});

test('a restore goes on after an item that DynamoDB throttles or cannot store, and counts that item as failed', async () => {
  await createSource();
  for (const id of ['1', '2', '3']) await put(tables.from, item(id));
  store.fail('1', dynamoDbError(400, 'ThrottlingException'));
  store.fail('2', dynamoDbError(500, 'InternalServerError'));
  expect(await restore()).toEqual({ restored: 1, failed: 2 });
});

test('a restore stops after an error with which all remaining items would fail, too', async () => {
  await createSource();
  await putMany();
  for (const id of ids) store.fail(id, dynamoDbError(400, 'AccessDeniedException'));
  const callsBefore = store.calls();
  await expect(restore()).rejects.toThrow(expect.objectContaining({ name: 'AccessDeniedException' }));
  expect(store.calls() - callsBefore).toBeLessThan(ids.length);
});

test("checkTables refuses a restored table whose key differs from the live table's key", async () => {
  const { name, type } = tableKey;
  const other = type === 'N' ? 'S' : 'N';
  await createSource(other, [{ AttributeName: 'sort key', KeyType: 'RANGE' }]);
  await expect(checkTables(client, tables)).rejects.toThrow(
    `The keys must be the same: restored has ${name} (${other}), sort key (${other}), but live has ${name} (${type}).`,
  );
});
