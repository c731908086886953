import { type AttributeValue, DynamoDBClient, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { assertStorable, NumberOutOfRange } from '../../../functions/plants/number-range.ts';
import { addPlant, addUnlessOther, toItem } from '../../../functions/plants/plant-table.ts';
import { anyCredentials, type PlantsStore, startPlantsStore } from '../../kit/plants-store.ts';

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

test('adding a stored plant again keeps attributes in the table that are not fields of a plant', async () => {
  const Item = { id: { N: '7' }, name: { S: 'Moss' }, watered: { S: '2027-01-01' } };
  await client.send(new PutItemCommand({ TableName: 'plants', Item }));
  const request = { signal: new AbortController().signal, storeCalls: [] };
  expect(await addPlant({ name: 'plants', client }, { id: 7n, name: 'Moss' }, request)).toBe('repeated');
  expect(await store.read('7')).toEqual(Item);
});

test('a plant that has only an id is accepted again if it is sent again, and is not overwritten by a plant that has the same id and also a name', async () => {
  const bare = { ...toItem({ id: 8, name: '' }), name: undefined };
  const update = (item: Parameters<typeof addUnlessOther>[0]) =>
    client.send(new UpdateItemCommand({ TableName: 'plants', ...addUnlessOther(item) }));
  expect((await update(bare)).Attributes).toBeUndefined();
  expect((await update(bare)).Attributes).toEqual({ id: { N: '8' } });
  await expect(update({ ...bare, name: { S: 'Moss' } })).rejects.toThrow('conditional');
  expect(await store.read('8')).toEqual({ id: { N: '8' } });
});

test.each<[number: string, isAccepted: boolean]>([
  ['0', true],
  ['-1e-130', true],
  ['9.9e-131', false],
  ['9.99e125', true],
  ['-1e126', false],
])('an item with the number %s, at any depth, is accepted: %s', (N, isAccepted) => {
  const items: Record<string, AttributeValue | undefined>[] = [
    { tag: undefined, more: { N } },
    { more: { L: [{ S: 'a' }, { M: { N: { L: [{ N }] } } }] } },
    { more: { NS: ['1', N] } },
  ];
  for (const item of items) {
    const check = () => assertStorable(item);
    if (isAccepted) expect(check).not.toThrow();
    else expect(check).toThrow(NumberOutOfRange);
  }
});
