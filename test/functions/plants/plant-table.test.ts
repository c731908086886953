import { type AttributeValue, DynamoDBClient, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { assertStorable, NumberOutOfRange } from '../../../functions/plants/number-range.ts';
import type { NewPlant } from '../../../functions/plants/plant.ts';
import {
  addPlantTo,
  addUnlessOther,
  type Outcome,
  PlantTooLarge,
  toItem,
} from '../../../functions/plants/plant-table.ts';
import { anyCredentials, type PlantsStore, startPlantsStore } from '../../kit/plants-store.ts';

let store: PlantsStore;
let client: DynamoDBClient;
let add: (plant: NewPlant) => Promise<Outcome>;
beforeAll(async () => {
  store = await startPlantsStore('plants');
  client = new DynamoDBClient({ ...anyCredentials, endpoint: store.endpoint });
  add = (plant) =>
    addPlantTo({ name: 'plants', client })(plant, { signal: new AbortController().signal, storeCalls: [] });
});
afterAll(async () => {
  client.destroy();
  await store.close();
});

test('adding a stored plant again keeps attributes in the table that are not fields of a plant', async () => {
  const Item = { id: { N: '7' }, name: { S: 'Moss' }, watered: { S: '2027-01-01' } };
  await client.send(new PutItemCommand({ TableName: 'plants', Item }));
  expect(await add({ id: 7n, name: 'Moss' })).toBe('repeated');
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
  ['1e-130', true],
  ['-1e-130', true],
  ['9.9e-131', false],
  ['5e-324', false],
  ['9.99e125', true],
  ['-1e126', false],
  ['1.7976931348623157e308', false],
])('an item with the number %s, at any depth, is accepted: %s, as by the local store', async (N, isAccepted) => {
  const items: Record<string, AttributeValue | undefined>[] = [
    { tag: undefined, more: { N } },
    { more: { L: [{ S: 'a' }, { M: { N: { L: [{ N }] } } }] } },
    { more: { NS: ['1', N] } },
  ];
  for (const item of items) {
    const check = () => assertStorable(item);
    if (isAccepted) expect(check).not.toThrow();
    else expect(check).toThrow(NumberOutOfRange);
    const Item = { id: { N: '1' }, ...(item as Record<string, AttributeValue>) };
    const put = client.send(new PutItemCommand({ TableName: 'plants', Item }));
    if (isAccepted) await put;
    else await expect(put).rejects.toThrow(/^Number (under|over)flow/);
  }
});

test.each([
  ['0', 1],
  ['9007199254740993', 9],
  ['-9223372036854775808', 12],
])(
  'the local store accepts a plant of exactly 400 KB in UTF-8, with the id %s, and refuses it with one more byte',
  async (id, idBytes) => {
    const room = 409_600 - 'id'.length - idBytes - 'name'.length - 'tag'.length - Buffer.byteLength('é');
    await expect(add({ id: BigInt(id), name: 'x'.repeat(room + 1), tag: 'é' })).rejects.toBeInstanceOf(PlantTooLarge);
    expect(await store.read(id)).toBeUndefined();
    expect(await add({ id: BigInt(id), name: 'x'.repeat(room), tag: 'é' })).toBe('created');
  },
);
