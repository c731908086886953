import type { OngoingRequest } from './plants/dynamodb.ts';
import { type AllFields, type NewPlant, type Plant, toPlant } from './plants/plant.ts';
import { type AddPlant, type Outcome, PlantConflict, PlantTooLarge } from './plants/plant-table.ts';

/** The errors of this operation, with their responses. functions/http/errors.ts has those of every operation. */
export const errors = [
  [PlantConflict, { status: 409, error: 40901, message: 'the id belongs to a plant with other content' }],
  [PlantTooLarge, { status: 413, error: 41301, message: 'the plant must be at most 400 KB' }],
] as const;

/** The operation createPlant: stores a plant, then returns it as responses show it. @throws as `AddPlant` */
export const createPlant =
  (addPlant: AddPlant) =>
  async (newPlant: NewPlant, request: OngoingRequest): Promise<{ outcome: Outcome; plant: AllFields<Plant> }> => ({
    outcome: await addPlant(newPlant, request),
    plant: toPlant(newPlant),
  });
