import { type NewPlant, type Plant, toPlant } from './plants/plant.ts';
import type { AddPlant, Outcome } from './plants/plant-table.ts';

/**
 * The operation createPlant: stores a plant, then returns it as responses show it.
 * @throws as `AddPlant`; after StoreUnavailable the plant may or may not be stored, and calling again is safe
 */
export const createPlant =
  (addPlant: AddPlant) =>
  async (newPlant: NewPlant, deadline: AbortSignal): Promise<{ outcome: Outcome; plant: Plant }> => ({
    outcome: await addPlant(newPlant, deadline),
    plant: toPlant(newPlant),
  });
