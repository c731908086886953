import type { NewPlant, Plant } from '../generated/contract.ts';

export type { NewPlant, Plant };

/** A plant of which no field may be left out, so that the compiler finds the code that misses a new field. */
export type WholePlant = { [Field in keyof Required<Plant>]: Plant[Field] };

/** Returns a plant without its `id`. JSON leaves out a `tag` that is undefined. */
export const toPlant = ({ name, tag }: NewPlant): WholePlant => ({ name, tag });
