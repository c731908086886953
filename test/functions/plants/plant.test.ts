import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { itemBytes, toPlant } from '../../../functions/plants/plant.ts';
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
  const room = maxItemBytes - itemBytes({ id, name: '', tag: '' });
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
  const empty = itemBytes({ id: 1, name: '' });
  expect(itemBytes({ id: 1, name: 'é🌱' }) - empty, 'bytes of a name').toBe(2 + 4);
  expect(itemBytes({ id: 1, name: '', tag: 'é🌱' }) - empty, 'bytes of a tag').toBe('tag'.length + 2 + 4);
});

test('toPlant returns a Plant without the id, and with a tag only if the NewPlant has one', () => {
  expect(toPlant({ id: 1, name: 'Moss', tag: '' })).toStrictEqual({ name: 'Moss', tag: '' });
  expect(toPlant({ id: 1, name: 'Moss' })).toStrictEqual({ name: 'Moss' });
});
