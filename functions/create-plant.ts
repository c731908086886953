import { type NewPlant, type Plant, toPlant } from './plants/plant.ts';
import type { AddPlant } from './plants/plant-table.ts';

/**
 * The operation: stores the plant, then answers with what the contract shows of it.
 * @throws what `addPlant` throws; the plant may then be stored or not, and calling again is safe
 */
export const createPlant =
  (addPlant: AddPlant) =>
  async (newPlant: NewPlant): Promise<Plant> => {
    await addPlant(newPlant);
    return toPlant(newPlant);
  };
