import { type AttributeValue, DynamoDBClient, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, expect, test } from 'vitest';
import { errors } from '../../../functions/create-plant.ts';
import { attribute, fieldValue, optional } from '../../../functions/plants/attributes.ts';
import { addPlant, addUnlessOther, toItem, toPlant } from '../../../functions/plants/plant-table.ts';
import { assertStorable, FieldNotStorable, NumberOutOfRange } from '../../../functions/plants/storable.ts';
import { parseJson, toJson } from '../../../packages/client/json.ts';
import { itemOf, newId, newPlant, responseTo, tableKey } from '../../kit/example.ts';
import { anyCredentials, startPlantsStore } from '../../kit/plants-store.ts';

const store = await startPlantsStore('plants');
afterAll(store.close);
const client = new DynamoDBClient({ ...anyCredentials, endpoint: store.endpoint });
afterAll(() => client.destroy());

test('adding a stored plant again keeps attributes in the table that are not fields of a plant', async () => {
  const id = newId();
  const Item = { ...itemOf(id), watered: { S: '2027-01-01' } };
  await client.send(new PutItemCommand({ TableName: 'plants', Item }));
  const request = { signal: new AbortController().signal, storeCalls: [] };
  expect(await addPlant({ name: 'plants', client }, toItem(newPlant(id)), request)).toBe('repeated');
  expect(await store.read(id)).toEqual(Item);
});

test('a plant that has only a key is accepted again if it is sent again, and is not overwritten by a plant that has the same key and more', async () => {
  const id = newId();
  const whole = toItem(newPlant(id));
  const fields = Object.entries(whole).map(([field, value]) => [field, field === tableKey.name ? value : undefined]);
  const bare: typeof whole = Object.fromEntries(fields);
  const onlyKey = Object.fromEntries(Object.entries(itemOf(id)).filter(([field]) => field === tableKey.name));
  const update = (item: typeof whole) =>
    client.send(new UpdateItemCommand({ TableName: 'plants', ...addUnlessOther(item) }));
  expect((await update(bare)).Attributes).toBeUndefined();
  expect((await update(bare)).Attributes).toEqual(onlyKey);
  await expect(update(whole)).rejects.toThrow('conditional');
  expect(await store.read(id)).toEqual(onlyKey);
});

test('an item becomes the plant from which it was made', () => {
  const id = newId();
  // A response may have more fields, which the service adds.
  expect(parseJson(toJson(toPlant(toItem(newPlant(id)))) ?? '')).toMatchObject(responseTo(id));
});

test('createPlant responds 400 to a number that DynamoDB refuses', () => {
  const [, entry] = errors.find(([thrown]) => thrown === NumberOutOfRange) ?? [];
  expect(entry).toMatchObject({ status: 400, error: 40002, message: expect.stringMatching(/^every number must/) });
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

test.each<[value: NonNullable<unknown> | null, stored: object, back?: unknown]>([
  ['', { S: '' }],
  [7, { N: '7' }],
  [9007199254740993n, { N: '9007199254740993' }],
  [-(2n ** 63n), { N: '-9223372036854775808' }],
  [0.1, { N: '0.1' }],
  [1e21, { N: '1e+21' }],
  [1e20, { N: '100000000000000000000' }, 10n ** 20n],
  [false, { BOOL: false }],
  [null, { NULL: true }],
  [[], { L: [] }],
  [['a', null, 2n ** 60n], { L: [{ S: 'a' }, { NULL: true }, { N: '1152921504606846976' }] }],
  [{}, { M: {} }],
  [{ constructor: { name: 'String' } }, { M: { constructor: { M: { name: { S: 'String' } } } } }],
  [{ S: 'a', N: '7' }, { M: { S: { S: 'a' }, N: { S: '7' } } }],
  [{ items: [{ count: 1 }] }, { M: { items: { L: [{ M: { count: { N: '1' } } }] } } }],
])('the field %o is stored as %o, and becomes the same value again', (value, stored, back = value) => {
  expect(attribute(value)).toEqual(stored);
  expect(fieldValue(attribute(value))).toEqual(back);
});

test('a field that is left out has no attribute', () => {
  expect(optional(undefined)).toBeUndefined();
  expect(fieldValue(undefined)).toBeUndefined();
});
