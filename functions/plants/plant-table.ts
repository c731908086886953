import {
  type AttributeValue,
  ConditionalCheckFailedException,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { callStore, type OngoingRequest, type Table } from './dynamodb.ts';
import { assertStorable } from './number-range.ts';
import type { NewPlant } from './plant.ts';

/** Thrown if the id belongs to a plant with different content. That plant stays unchanged. */
export class PlantConflict extends Error {}

/** Thrown if the plant exceeds DynamoDB's limit for an item, 400 KB. */
export class PlantTooLarge extends Error {}

/** `stored` is one of the others, but unknown which: an attempt without a response may have created the plant. */
export type Outcome = 'created' | 'repeated' | 'stored';

/**
 * Adds a plant to a table whose partition key is the number `id`.
 * @throws PlantConflict, PlantTooLarge, NumberOutOfRange, StoreUnavailable, or the SDK's error if the fault is ours
 * @example await addPlant(openTable('plants'), { id: 7, name: 'Moss' }, { signal, storeCalls: [] })
 */
export const addPlant = async (table: Table, plant: NewPlant, request: OngoingRequest): Promise<Outcome> => {
  const item = toItem(plant);
  assertStorable(item);
  const add = new UpdateItemCommand({ TableName: table.name, ...addUnlessOther(item) });
  try {
    const { Attributes, $metadata } = await callStore(request, table.client, add);
    if (Attributes === undefined) return 'created';
    return $metadata.attempts === 1 ? 'repeated' : 'stored';
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) throw new PlantConflict();
    if (isItemTooLarge(error)) throw new PlantTooLarge();
    throw error;
  }
};

/** DynamoDB has no error class for an item over 400 KB (docs/decisions/contract.md), so look at the error's message. */
const isItemTooLarge = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ValidationException' && /item size.*exceeded/i.test(error.message);

type PlantItem = { [Field in keyof NewPlant]-?: AttributeValue | (Field extends 'id' ? never : undefined) };

/** This function does not compile if it omits a field of the contract. */
export const toItem = ({ id, name, tag }: NewPlant): PlantItem => ({
  id: { N: String(id) },
  name: { S: name },
  tag: tag === undefined ? undefined : { S: tag },
});

/**
 * Returns the input of one atomic, repeatable call: it succeeds if the id is free or belongs to this same plant, and
 * never changes a different plant, or attributes that are not in the contract.
 */
export const addUnlessOther = ({ id, ...content }: PlantItem): Omit<UpdateItemCommandInput, 'TableName'> => {
  const given = Object.entries(content).flatMap(([field, value]) => (value === undefined ? [] : [{ field, value }]));
  const equations = given.map(({ field }) => `#${field} = :${field}`);
  const absent = Object.entries(content).filter(([, value]) => value === undefined);
  const isSame = [...equations, ...absent.map(([field]) => `attribute_not_exists(#${field})`)];
  return {
    Key: { id },
    // DynamoDB refuses an empty SET.
    ...(given.length > 0 && {
      UpdateExpression: `SET ${equations.join(', ')}`,
      ExpressionAttributeValues: Object.fromEntries(given.map(({ field, value }) => [`:${field}`, value])),
    }),
    ConditionExpression: `attribute_not_exists(id) OR (${isSame.join(' AND ')})`,
    ExpressionAttributeNames: Object.fromEntries(Object.keys(content).map((field) => [`#${field}`, field])),
    // The old attributes show whether the plant was already stored. Returning them consumes no read capacity.
    ReturnValues: 'ALL_OLD',
  };
};
