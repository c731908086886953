import {
  type AttributeValue,
  ConditionalCheckFailedException,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { attributeExpressions } from '../attribute-expressions.ts';
import { callStore, type OngoingRequest, type Table } from './call-store.ts';
import { assertStorable } from './storable.ts';

/** Thrown if the key belongs to an item with different content. That item stays unchanged. */
export class ItemConflict extends Error {}

/** Thrown if the item exceeds DynamoDB's limit, 400 KB. */
export class ItemTooLarge extends Error {}

/** An item's attributes by name. One that is undefined is not stored, and must be missing in an equal item. */
export type Item = { readonly [name: string]: AttributeValue | undefined };

/** `stored` is one of the others, but unknown which: an attempt without a response may have created the item. */
export type Outcome = 'created' | 'repeated' | 'stored';

/**
 * Adds an item to a table, unless a different one has its key. `key` is the name of the table's partition key.
 * @throws ItemConflict, ItemTooLarge, as `assertStorable` and `callStore`
 * @example await addItem(table, 'id', { id: { N: '7' }, name: { S: 'Desk' } }, { signal, storeCalls: [] })
 */
export const addItem = async (table: Table, key: string, item: Item, request: OngoingRequest): Promise<Outcome> => {
  assertStorable(item);
  const add = new UpdateItemCommand({ TableName: table.name, ...addUnlessOther(key, item) });
  try {
    const { Attributes, $metadata } = await callStore(request, table.client, add);
    if (Attributes === undefined) return 'created';
    return $metadata.attempts === 1 ? 'repeated' : 'stored';
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) throw new ItemConflict();
    if (isItemTooLarge(error)) throw new ItemTooLarge();
    throw error;
  }
};

/** DynamoDB has no error class for an item over 400 KB, so look at the error's message. */
const isItemTooLarge = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ValidationException' && /item size.*exceeded/i.test(error.message);

/**
 * Returns the input of one atomic, repeatable call: it succeeds if the key is free or belongs to an equal item,
 * and never changes a different item, or attributes that `item` does not name.
 */
export const addUnlessOther = (key: string, item: Item): Omit<UpdateItemCommandInput, 'TableName'> => {
  const { [key]: keyValue, ...content } = item;
  const { isFreeOrSame, assignments, names, values } = attributeExpressions(key, content);
  return {
    Key: keyValue && { [key]: keyValue },
    // DynamoDB refuses an empty SET.
    ...(assignments && { UpdateExpression: `SET ${assignments}`, ExpressionAttributeValues: values }),
    ConditionExpression: isFreeOrSame,
    ExpressionAttributeNames: names,
    // The old attributes show whether the item was already stored. Returning them consumes no read capacity.
    ReturnValues: 'ALL_OLD',
  };
};
