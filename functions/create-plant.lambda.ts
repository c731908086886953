import {
  FieldNotStorable,
  ItemConflict,
  ItemTooLarge,
  NumberOutOfRange,
  openTable,
  StoreUnavailable,
} from '@lambda-service/runtime/dynamodb';
import { fromEnvironment } from '@lambda-service/runtime/environment';
import {
  type ErrorTable,
  httpOperation,
  jsonBody,
  jsonResponse,
  storeTime,
  timeLeft,
  validEvent,
} from '@lambda-service/runtime/http';
import { createPlant } from './create-plant.ts';
import type { Operations } from './generated/contract.ts';
import * as rules from './generated/create-plant.js';

const table = openTable(fromEnvironment('TABLE_NAME'));

/** Which error is which response, besides those that all operations share. Without a message, it is the shared one. */
export const errors: ErrorTable<Operations['createPlant']> = {
  40002: [
    [NumberOutOfRange, 'every number must be 0 or have an absolute value from 1e-130 to below 1e126'],
    [FieldNotStorable, 'a field must have at most 32 levels of nesting, and each name in it 1 to 65,535 bytes'],
  ],
  40901: [[ItemConflict, 'the id belongs to a plant with other content']],
  41301: [[ItemTooLarge, 'the plant must be at most 400 KB']],
  50301: [[StoreUnavailable]],
};

export const handler = httpOperation(errors)
  .use(jsonBody())
  .use(validEvent(rules))
  .use(timeLeft())
  .handler(async ({ body, requestContext }, { storeCalls }, { signal }) => {
    const { outcome, plant } = await createPlant(table, body, { signal, storeCalls });
    console.info({ outcome, store: storeTime(storeCalls), gatewayRequestId: requestContext.requestId });
    return jsonResponse(200, plant, outcome === 'repeated' ? { 'idempotent-replayed': 'true' } : {});
  });
