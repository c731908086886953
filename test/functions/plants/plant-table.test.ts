import { type AttributeValue, DynamoDBClient, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addPlantTo, addUnlessOther, itemBytes, toItem } from '../../../functions/plants/plant-table.ts';
import { anyCredentials, type PlantsStore, startPlantsStore } from '../../kit/plants-store.ts';

const maxItemBytes = 409_600;

let store: PlantsStore;
let client: DynamoDBClient;
beforeAll(async () => {
  store = await startPlantsStore('plants');
  client = new DynamoDBClient({ ...anyCredentials, endpoint: store.endpoint });
});
afterAll(async () => {
  client.destroy();
  await store.close();
});

test.each([
  0,
  -0,
  1,
  -1,
  10,
  99,
  100,
  101,
  -12,
  -100,
  1000,
  1010,
  1_000_000,
  123456,
  9007199254740993n,
  2n ** 63n - 1n,
  -(2n ** 63n),
])('the size of a plant with id %s is the size that the store measures, to the byte', async (id) => {
  const room = maxItemBytes - itemBytes(toItem({ id, name: '', tag: '' }));
  const put = (tag: string) =>
    client.send(
      new PutItemCommand({
        TableName: 'plants',
        Item: { id: { N: String(id) }, name: { S: '' }, tag: { S: tag } },
      }),
    );
  await expect(put('x'.repeat(room))).resolves.toBeDefined();
  await expect(put('x'.repeat(room + 1))).rejects.toThrow('Item size has exceeded the maximum allowed size');
});

test('adding a stored plant again keeps attributes that it does not have', async () => {
  const Item = { id: { N: '7' }, name: { S: 'Moss' }, watered: { S: '2027-01-01' } };
  await client.send(new PutItemCommand({ TableName: 'plants', Item }));
  const addPlant = addPlantTo({ name: 'plants', client });
  expect(await addPlant({ id: 7n, name: 'Moss' }, new AbortController().signal)).toBe('repeated');
  expect(await store.read('7')).toEqual(Item);
});

test('a plant that has only an id can be added, and added again, but is not added over a plant with a name', async () => {
  const bare = { id: { N: '8' }, name: undefined, tag: undefined };
  const add = (item: Parameters<typeof addUnlessOther>[0]) =>
    client.send(new UpdateItemCommand({ TableName: 'plants', ...addUnlessOther(item) }));
  expect((await add(bare)).Attributes).toBeUndefined();
  expect((await add(bare)).Attributes).toEqual({ id: { N: '8' } });
  await expect(add({ ...bare, name: { S: 'Moss' } })).rejects.toThrow('conditional');
  expect(await store.read('8')).toEqual({ id: { N: '8' } });
});

test('the size of a plant counts its text in UTF-8 bytes', () => {
  const empty = itemBytes(toItem({ id: 1, name: '' }));
  expect(itemBytes(toItem({ id: 1, name: 'é🌱' })) - empty, 'bytes of a name').toBe(2 + 4);
  expect(itemBytes(toItem({ id: 1, name: '', tag: 'é🌱' })) - empty, 'bytes of a tag').toBe('tag'.length + 2 + 4);
});

test.each<[what: string, more: Record<string, AttributeValue>]>([
  ['a boolean and null', { yes: { BOOL: true }, nothing: { NULL: true } }],
  ['fractions', { small: { N: '0.05' }, precise: { N: '-1.2345' }, huge: { N: '1e30' }, tiny: { N: '1e-7' } }],
  ['a list', { list: { L: [{ S: 'é' }, { N: '7' }, { BOOL: false }] } }],
  ['a map with an empty list', { map: { M: { key: { S: 'x' }, empty: { L: [] } } } }],
])(
  'the size of an item with %s is at least the size that the store measures, and at most a few bytes more',
  async (_, more) => {
    const item = { id: { N: '1' }, text: { S: '' }, ...more };
    const room = maxItemBytes - itemBytes(item);
    const put = (text: string) =>
      client.send(new PutItemCommand({ TableName: 'plants', Item: { ...item, text: { S: text } } }));
    await expect(put('x'.repeat(room))).resolves.toBeDefined();
    await expect(put('x'.repeat(room + 5))).rejects.toThrow('Item size has exceeded the maximum allowed size');
  },
);
