import type { OngoingRequest, Table } from './plants/dynamodb.ts';
import { NumberOutOfRange } from './plants/number-range.ts';
import { type NewPlant, toPlant } from './plants/plant.ts';
import { addPlant, PlantConflict, PlantTooLarge } from './plants/plant-table.ts';

/** This operation's own errors. functions/http/errors.ts has those that all operations share. */
export const errors = [
  [PlantConflict, { status: 409, error: 40901, message: 'the id belongs to a plant with other content' }],
  [
    NumberOutOfRange,
    {
      status: 400,
      error: 40002,
      message: 'every number must be 0 or have an absolute value from 1e-130 to below 1e126',
    },
  ],
  [PlantTooLarge, { status: 413, error: 41301, message: 'the plant must be at most 400 KB' }],
] as const;

/** @throws the errors of `addPlant` */
export const createPlant = async (table: Table, newPlant: NewPlant, request: OngoingRequest) => ({
  outcome: await addPlant(table, newPlant, request),
  plant: toPlant(newPlant),
});
