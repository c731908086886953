import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { itemOf, newId, tableKey } from '@lambda-service/testing/data';
import { anyCredentials, startItemStore } from '@lambda-service/testing/store';
import { afterAll, expect, test } from 'vitest';
import { addItem, addUnlessOther, type Item } from '../../dynamodb/add-item.ts';

const store = await startItemStore('items');
afterAll(store.close);
const client = new DynamoDBClient({ ...anyCredentials, endpoint: store.endpoint });
afterAll(() => client.destroy());

test('adding a stored item again keeps attributes in the table that the item does not name', async () => {
  const id = newId();
  const stored = { ...itemOf(id), 'not a field': { S: '2027-01-01' } };
  await store.write(stored);
  const request = { signal: new AbortController().signal, storeCalls: [] };
  expect(await addItem({ name: 'items', client }, tableKey.name, itemOf(id), request)).toBe('repeated');
  expect(await store.read(id)).toEqual(stored);
});

test('an item that has only a key is accepted again if it is sent again, and is not overwritten by an item that has the same key and more', async () => {
  const id = newId();
  const whole = itemOf(id);
  const { [tableKey.name]: key = { NULL: true }, ...others } = whole;
  const onlyKey = { [tableKey.name]: key };
  const bare = { ...Object.fromEntries(Object.keys(others).map((name) => [name, undefined])), ...onlyKey };
  const update = (item: Item) =>
    client.send(new UpdateItemCommand({ TableName: 'items', ...addUnlessOther(tableKey.name, item) }));
  expect((await update(bare)).Attributes).toBeUndefined();
  expect((await update(bare)).Attributes).toEqual(onlyKey);
  await expect(update(whole)).rejects.toThrow('conditional');
  expect(await store.read(id)).toEqual(onlyKey);
});
