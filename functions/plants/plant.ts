import type { NewPlant, Plant } from '../generated/contract.ts';

export type { NewPlant, Plant };

/** All fields of T, also the optional ones: the compiler refuses an object in which one is missing. */
export type AllFields<T> = { [Field in keyof Required<T>]: T[Field] };

/** Returns a plant as responses show it: without `id`. JSON leaves out a `tag` that is undefined. */
export const toPlant = ({ name, tag }: NewPlant): AllFields<Plant> => ({ name, tag });
