import type { NewPlant, Plant } from '../generated/contract.ts';

export type { NewPlant, Plant };

/** T with all its fields, also the optional ones: the compiler refuses an object in which one is missing. */
export type AllFields<T> = T extends readonly (infer Item)[]
  ? AllFields<Item>[]
  : T extends object
    ? { [Field in keyof Required<T>]: AllFields<T[Field]> }
    : T;

/** Returns a plant as responses show it: without `id`. JSON leaves out a `tag` that is undefined. */
export const toPlant = ({ name, tag }: NewPlant): AllFields<Plant> => ({ name, tag });
