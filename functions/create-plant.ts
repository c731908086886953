import { addItem, type OngoingRequest, type Table } from '@lambda-service/runtime/dynamodb';
import type { NewPlant } from './generated/contract.ts';
import { key, toItem, toPlant } from './plant-table.ts';

/** The operation createPlant. @throws ItemConflict if another plant has the id, or as `addItem` */
export const createPlant = async (table: Table, newPlant: NewPlant, request: OngoingRequest) => {
  const item = toItem(newPlant);
  return { outcome: await addItem(table, key, item, request), plant: toPlant(item) };
};
