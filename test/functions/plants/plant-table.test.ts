import { type AttributeValue, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { itemBytes, toItem } from '../../../functions/plants/plant-table.ts';
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
