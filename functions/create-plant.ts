import { type NewPlant, type Plant, toPlant } from './plants/plant.ts';
import type { AddPlant, Outcome } from './plants/plant-table.ts';

/**
 * The operation: stores the plant, then answers with what the contract shows of it.
 * @throws what `addPlant` throws; the plant may then be stored or not, and calling again is safe
 */
export const createPlant =
  (addPlant: AddPlant) =>
  async (newPlant: NewPlant, deadline: AbortSignal): Promise<{ outcome: Outcome; plant: Plant }> => ({
    outcome: await addPlant(newPlant, deadline),
    plant: toPlant(newPlant),
  });
