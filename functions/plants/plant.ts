import type { NewPlant, Plant } from '../generated/contract.ts';

export type { NewPlant, Plant };

/**
 * T with every optional field made required, at every depth: the compiler refuses an object that leaves out a field.
 */
export type AllFields<T> = T extends readonly (infer Item)[]
  ? AllFields<Item>[]
  : T extends object
    ? { [Field in keyof Required<T>]: AllFields<T[Field]> }
    : T;

/** Returns a plant as responses contain it: without its `id`. JSON leaves out a `tag` that is undefined. */
export const toPlant = ({ name, tag }: NewPlant): AllFields<Plant> => ({ name, tag });
