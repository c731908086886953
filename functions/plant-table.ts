import { type AttributeValue, attribute, fieldValue, optional } from '@lambda-service/runtime/dynamodb';
import type { NewPlant, Plant } from './generated/contract.ts';

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
