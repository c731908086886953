import type { OngoingRequest, Table } from '../packages/runtime/dynamodb/call-store.ts';
import { FieldNotStorable, NumberOutOfRange } from '../packages/runtime/dynamodb/storable.ts';
import { addPlant, type NewPlant, PlantConflict, PlantTooLarge, toItem, toPlant } from './plant-table.ts';

/** This operation's own errors. packages/runtime/http/errors.ts has those that all operations share. */
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
  [
    FieldNotStorable,
    {
      status: 400,
      error: 40002,
      message: 'a field must have at most 32 levels of nesting, and each name in it 1 to 65,535 bytes',
    },
  ],
  [PlantTooLarge, { status: 413, error: 41301, message: 'the plant must be at most 400 KB' }],
] as const;

export const createPlant = async (table: Table, newPlant: NewPlant, request: OngoingRequest) => {
  const item = toItem(newPlant);
  return { outcome: await addPlant(table, item, request), plant: toPlant(item) };
};
