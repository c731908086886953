import { type AttributeValue, DynamoDBClient, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { parseJson, toJson } from '@lambda-service/client';
import { itemOf, newBody, newId, responseTo, tableKey } from '@lambda-service/testing/data';
import { anyCredentials, startItemStore } from '@lambda-service/testing/store';
import { afterAll, expect, test } from 'vitest';
import type { NewPlant } from '../../../../functions/generated/contract.ts';
import { key, toItem, toPlant } from '../../../../functions/plant-table.ts';
import { addItem, addUnlessOther } from '../../dynamodb/add-item.ts';
import { assertStorable, FieldNotStorable, NumberOutOfRange } from '../../dynamodb/storable.ts';

const store = await startItemStore('items');
afterAll(store.close);
const client = new DynamoDBClient({ ...anyCredentials, endpoint: store.endpoint });
afterAll(() => client.destroy());

test('adding a stored plant again keeps attributes in the table that are not fields of a plant', async () => {
  const id = newId();
  const Item = { ...itemOf(id), watered: { S: '2027-01-01' } };
  await client.send(new PutItemCommand({ TableName: 'items', Item }));
  const request = { signal: new AbortController().signal, storeCalls: [] };
  expect(await addItem({ name: 'items', client }, key, toItem(newBody<NewPlant>(id)), request)).toBe('repeated');
  expect(await store.read(id)).toEqual(Item);
});

test('a plant that has only a key is accepted again if it is sent again, and is not overwritten by a plant that has the same key and more', async () => {
  const id = newId();
  const whole = toItem(newBody<NewPlant>(id));
  const fields = Object.entries(whole).map(([field, value]) => [field, field === tableKey.name ? value : undefined]);
  const bare: typeof whole = Object.fromEntries(fields);
  const onlyKey = Object.fromEntries(Object.entries(itemOf(id)).filter(([field]) => field === tableKey.name));
  const update = (item: typeof whole) =>
    client.send(new UpdateItemCommand({ TableName: 'items', ...addUnlessOther(key, item) }));
  expect((await update(bare)).Attributes).toBeUndefined();
  expect((await update(bare)).Attributes).toEqual(onlyKey);
  await expect(update(whole)).rejects.toThrow('conditional');
  expect(await store.read(id)).toEqual(onlyKey);
});

test('an item becomes the plant from which it was made', () => {
  const id = newId();
  // A response may have more fields, which the service adds.
  expect(parseJson(toJson(toPlant(toItem(newBody<NewPlant>(id)))) ?? '')).toMatchObject(responseTo(id));
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

test('an item is accepted with 32 levels of lists and maps, as DynamoDB accepts it, and refused with 33', () => {
  const nested = (levels: number): AttributeValue =>
    levels === 0 ? { S: 'a' } : levels % 2 === 0 ? { L: [nested(levels - 1)] } : { M: { a: nested(levels - 1) } };
  expect(() => assertStorable({ more: nested(32) })).not.toThrow();
  expect(() => assertStorable({ more: nested(33) })).toThrow(FieldNotStorable);
});

test.each([
  ['no characters', '', false],
  ['65,535 bytes', 'x'.repeat(65_535), true],
  ['65,536 bytes in UTF-8', 'é'.repeat(32_768), false],
])('an item with a name of %s inside a field is accepted, if DynamoDB accepts it', (_, name, isAccepted) => {
  const check = () => assertStorable({ more: { L: [{ M: { [name]: { S: 'a' } } }] } });
  if (isAccepted) expect(check).not.toThrow();
  else expect(check).toThrow(FieldNotStorable);
});
