import {
  type AttributeValue,
  ConditionalCheckFailedException,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { attribute, fieldValue, optional } from '../packages/runtime/dynamodb/attributes.ts';
import { callStore, type OngoingRequest, type Table } from '../packages/runtime/dynamodb/call-store.ts';
import { assertStorable } from '../packages/runtime/dynamodb/storable.ts';
import type { NewPlant, Plant } from './generated/contract.ts';

export type { NewPlant };

/** Thrown if the id belongs to a plant with different content. That plant stays unchanged. */
export class PlantConflict extends Error {}

/** Thrown if the plant exceeds DynamoDB's limit for an item, 400 KB. */
export class PlantTooLarge extends Error {}

/** `stored` is one of the others, but unknown which: an attempt without a response may have created the plant. */
export type Outcome = 'created' | 'repeated' | 'stored';

/**
 * Adds a plant to the table, unless a different one has its id.
 * @throws PlantConflict, PlantTooLarge, as `assertStorable` and `callStore`
 */
export const addPlant = async (table: Table, item: PlantItem, request: OngoingRequest): Promise<Outcome> => {
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

/** The partition key of the table in infra/plants-table.ts. */
export const key = 'id' satisfies keyof NewPlant;

/** An attribute for each field of the contract. One that is undefined is not stored. */
export type PlantItem = {
  [Field in keyof NewPlant]-?: AttributeValue | (Field extends typeof key ? never : undefined);
};

/** This function does not compile if it omits a field of the contract. */
export const toItem = ({ id, name, tag }: NewPlant): PlantItem => ({
  id: attribute(id),
  name: attribute(name),
  tag: optional(tag),
});

/** A plant of which no field may be left out, so that the compiler finds the code that misses a new field. */
export type WholePlant = { [Field in keyof Required<Plant>]: Plant[Field] };

/** The way back from an item. JSON leaves out a field that is undefined. */
export const toPlant = ({ name, tag }: Partial<PlantItem>): WholePlant => ({
  name: fieldValue(name),
  tag: fieldValue(tag),
});

/**
 * Returns the input of one atomic, repeatable call: it succeeds if the id is free or belongs to this same plant, and
 * never changes a different plant, or attributes that are not in the contract.
 */
export const addUnlessOther = ({ [key]: id, ...content }: PlantItem): Omit<UpdateItemCommandInput, 'TableName'> => {
  // Placeholders have numbers, because a field's name may have characters that they must not have.
  const fields = Object.entries(content).map(([field, value], index) => ({ field, value, index }));
  const given = fields.flatMap(({ value, index }) => (value === undefined ? [] : [{ value, index }]));
  const isSame = fields.map(({ value, index }) =>
    value === undefined ? `attribute_not_exists(#f${index})` : `#f${index} = :v${index}`,
  );
  return {
    Key: { [key]: id },
    // DynamoDB refuses an empty SET.
    ...(given.length > 0 && {
      UpdateExpression: `SET ${given.map(({ index }) => `#f${index} = :v${index}`).join(', ')}`,
      ExpressionAttributeValues: Object.fromEntries(given.map(({ value, index }) => [`:v${index}`, value])),
    }),
    ConditionExpression: `attribute_not_exists(#key) OR (${isSame.join(' AND ')})`,
    ExpressionAttributeNames: {
      '#key': key,
      ...Object.fromEntries(fields.map(({ field, index }) => [`#f${index}`, field])),
    },
    // The old attributes show whether the plant was already stored. Returning them consumes no read capacity.
    ReturnValues: 'ALL_OLD',
  };
};
