/** Tests the command `restore` as the runbook uses it, but between two tables of a local store. */
import {
  type AttributeValue,
  DynamoDB,
  type KeySchemaElement,
  PutItemCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { type Item, tableKey } from '@lambda-service/testing/data';
import {
  anyCredentials,
  dynamoDbError,
  type FaultyStore,
  hang,
  startFaultyStore,
  storeEnvironment,
} from '@lambda-service/testing/store';
import { until } from '@lambda-service/testing/waiting';
import { createTable } from 'http-api-emulator/testing/store';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { checkTables, restoreItems } from '../../cli/restore-items.ts';
import { runHere } from './kit/run-here.ts';

const tables = { from: 'restored', to: 'live' };
const both = ['--from', tables.from, '--to', tables.to];

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

const put = (TableName: string, Item: Item) => client.send(new PutItemCommand({ TableName, Item }));

const item = (id: string, content: Record<string, AttributeValue> = { content: { S: 'old' } }): Item => ({
  ...content,
  ...{ [tableKey.name]: tableKey.type === 'N' ? { N: id } : { S: id } },
});

/** Creates the table `restored`, by default with the key of the live table. */
const createSource = async (items: Item[], type = tableKey.type, sortKey: KeySchemaElement[] = []) => {
  const key = [{ AttributeName: tableKey.name, KeyType: 'HASH' as const }, ...sortKey];
  const AttributeDefinitions = key.map(({ AttributeName }) => ({ AttributeName, AttributeType: type }));
  await createTable(client, { TableName: tables.from, KeySchema: key, AttributeDefinitions });
  for (const each of items) await put(tables.from, each);
};

const start = (args = both) => runHere(['restore', ...args], storeEnvironment(store.endpoint)).ended;
/** Restores all items. @returns their outcomes, sorted */
const restoreAll = async (): Promise<string[]> => {
  const outcomes: string[] = [];
  for await (const { outcome } of restoreItems(client, tables, tableKey.name)) outcomes.push(outcome);
  return outcomes.sort();
};

test('restore copies each item unchanged: every digit, every attribute type, and attributes that are not in the contract', async () => {
  const odd = item('-9223372036854775808', {
    exact: { N: '12345678901234567890123456789012345678' },
    tiny: { N: '0.00000000000000000000000000000000000001' },
    bytes: { B: new Uint8Array([0, 255]) },
    nested: { M: { list: { L: [{ NULL: true }, { BOOL: false }, { NS: ['1', '9007199254740993'] }] } } },
    empty: { S: '' },
  });
  await createSource([odd, item('9223372036854775807')]);
  expect(await start()).toEqual({ code: 0, stdout: '2 restored, 0 already there, 0 failed\n', stderr: '' });
  expect(await store.read('-9223372036854775808')).toEqual(odd);
  expect(await store.read('9223372036854775807')).toEqual(item('9223372036854775807'));
  expect(await start(), 'again').toMatchObject({ code: 0, stdout: '0 restored, 2 already there, 0 failed\n' });
});

test('a restore copies the items from every page of the table', async () => {
  // DynamoDB returns at most 1 MB in a page, so these four items need several pages.
  const long = { content: { S: 'x'.repeat(390_000) } };
  await createSource(['1', '2', '3', '4'].map((id) => item(id, long)));
  const send = vi.spyOn(client, 'send');
  expect(await restoreAll()).toEqual(Array(4).fill('restored'));
  expect(await store.read('4')).toEqual(item('4', long));
  const reads = send.mock.calls.flatMap(([command]) => (command instanceof ScanCommand ? [command.input] : []));
  expect(reads.length).toBeGreaterThan(1);
  // Without this, DynamoDB may leave out items that were written shortly before.
  for (const read of reads) expect(read).toMatchObject({ ConsistentRead: true });
});

test('a restore never overwrites an item in the target table, and keeps items that only the target table has', async () => {
  await createSource([item('1'), item('2')]);
  await put(tables.to, item('1', { content: { S: 'newer' } }));
  await put(tables.to, item('3'));
  expect(await restoreAll()).toEqual(['already there', 'restored']);
  expect(await store.read('1')).toEqual(item('1', { content: { S: 'newer' } }));
  expect(await store.size()).toBe(3);
});

test('restore goes on after an item that DynamoDB throttles or cannot store, counts that item as failed, and says why', async () => {
  await createSource(['1', '2', '3', '4'].map((id) => item(id)));
  store.fail('1', dynamoDbError(400, 'ThrottlingException'));
  store.fail('2', dynamoDbError(500, 'InternalServerError'));
  expect(await restoreAll()).toEqual(['failed', 'failed', 'restored', 'restored']);
  for (const id of ['1', '2']) store.fail(id, dynamoDbError(400, 'ValidationException'));
  const { code, stdout, stderr } = await start();
  expect([code, stdout]).toEqual([1, '0 restored, 2 already there, 2 failed\n']);
  expect(stderr).toMatch(/^Not complete: .*secret.*\nRun the same command again: /);
});

test('a restore stops after an error with which all remaining items would fail, too', async () => {
  const ids = Array.from({ length: 60 }, (_, index) => String(index + 1));
  await createSource(ids.map((id) => item(id)));
  for (const id of ids) store.fail(id, dynamoDbError(400, 'AccessDeniedException'));
  const callsBefore = store.calls();
  await expect(restoreAll()).rejects.toThrow(expect.objectContaining({ name: 'AccessDeniedException' }));
  expect(store.calls() - callsBefore).toBeLessThan(ids.length);
});

test('restore prints how many items it has restored if the user stops it', async () => {
  await createSource([item('1'), item('2')]);
  const reached = Promise.withResolvers<void>();
  store.fail('2', (call) => {
    reached.resolve();
    return hang(call);
  });
  const { child, ended } = runHere(['restore', ...both], storeEnvironment(store.endpoint));
  await reached.promise;
  // The store must not be closed while it still writes this item.
  await until(async () => (await store.read('1')) !== undefined);
  child.emit('SIGINT');
  const stderr = /^Stopped: \d restored, 0 already there, 0 failed so far\. Run the same command/;
  expect(await ended).toEqual({ code: 130, stdout: '', stderr: expect.stringMatching(stderr) });
});

test('a restore refuses a restored table whose key differs from that of the live table', async () => {
  const { name, type } = tableKey;
  const other = type === 'N' ? 'S' : 'N';
  await createSource([], other, [{ AttributeName: 'sort key', KeyType: 'RANGE' }]);
  await expect(checkTables(client, tables)).rejects.toThrow(
    `The keys must be the same: restored has ${name} (${other}), sort key (${other}), but live has ${name} (${type}).`,
  );
});

test.each<[what: string, args: string[], sentence: string]>([
  ['one table twice', ['--from', 'live', '--to', 'live'], '--from and --to are the same table\n'],
  ['an unknown table', ['--from', 'live', '--to', 'other'], 'The table other cannot be read: '],
])('restore says in one sentence what is wrong: %s', async (_, args, sentence) => {
  const { code, stdout, stderr } = await start(args);
  expect([code, stdout, stderr.startsWith(sentence)]).toEqual([1, '', true]);
});
