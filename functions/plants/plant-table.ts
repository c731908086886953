import {
  type AttributeValue,
  ConditionalCheckFailedException,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { answered, type OngoingRequest, type Table } from './dynamodb.ts';
import type { NewPlant } from './plant.ts';

/** The id belongs to a plant with different content, which is left unchanged. */
export class PlantConflict extends Error {}

/** The plant exceeds DynamoDB's item limit, 400 KB. */
export class PlantTooLarge extends Error {}

/**
 * `created`: the plant is new. `repeated`: it was already stored. `stored`: either of these, because an earlier attempt
 * whose response was lost may have created it.
 */
export type Outcome = 'created' | 'repeated' | 'stored';

/**
 * Adds a plant to the store.
 * @throws PlantConflict, PlantTooLarge, StoreUnavailable, or the SDK's error if the fault is ours
 */
export type AddPlant = (plant: NewPlant, request: OngoingRequest) => Promise<Outcome>;

/** Adds plants to a table keyed by the number `id`. @example addPlantTo(openTable('plants')) */
export const addPlantTo =
  ({ name, client }: Table): AddPlant =>
  async (plant, request) => {
    const add = new UpdateItemCommand({ TableName: name, ...addUnlessOther(toItem(plant)) });
    try {
      const { Attributes, $metadata } = await answered(request, (abortSignal) => client.send(add, { abortSignal }));
      if (Attributes === undefined) return 'created';
      return $metadata.attempts === 1 ? 'repeated' : 'stored';
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) throw new PlantConflict();
      if (isItemTooLarge(error)) throw new PlantTooLarge();
      throw error;
    }
  };

/** DynamoDB has no error class for an item over 400 KB, only a message; docs/decisions/contract.md has the limit. */
const isItemTooLarge = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ValidationException' && /item size.*exceeded/i.test(error.message);

/** A plant as DynamoDB stores it. A field that the plant does not have is undefined. */
type PlantItem = { [Field in keyof NewPlant]-?: AttributeValue | (Field extends 'id' ? never : undefined) };

/** The compiler refuses this function if it leaves out a field of the contract. */
export const toItem = ({ id, name, tag }: NewPlant): PlantItem => ({
  id: { N: String(id) },
  name: { S: name },
  tag: tag === undefined ? undefined : { S: tag },
});

/**
 * Adds the plant, in one atomic call, if the id is free or already has this same plant. A retry by the SDK or by the
 * client therefore succeeds, a different plant stays as it is, and so do attributes that are not in the contract.
 */
export const addUnlessOther = ({ id, ...content }: PlantItem): Omit<UpdateItemCommandInput, 'TableName'> => {
  const given = Object.entries(content).flatMap(([field, value]) => (value === undefined ? [] : [{ field, value }]));
  const equations = given.map(({ field }) => `#${field} = :${field}`);
  const absent = Object.entries(content).filter(([, value]) => value === undefined);
  const isSame = [...equations, ...absent.map(([field]) => `attribute_not_exists(#${field})`)];
  return {
    Key: { id },
    // DynamoDB refuses an update expression whose SET is empty.
    ...(given.length > 0 && {
      UpdateExpression: `SET ${equations.join(', ')}`,
      ExpressionAttributeValues: Object.fromEntries(given.map(({ field, value }) => [`:${field}`, value])),
    }),
    ConditionExpression: `attribute_not_exists(id) OR (${isSame.join(' AND ')})`,
    ExpressionAttributeNames: Object.fromEntries(Object.keys(content).map((field) => [`#${field}`, field])),
    // The old attributes tell a repeated plant from a new one. Returning them consumes no read capacity.
    ReturnValues: 'ALL_OLD',
  };
};
