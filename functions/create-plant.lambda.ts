import { openTable, StoreUnavailable } from '../packages/runtime/dynamodb/call-store.ts';
import { fromEnvironment } from '../packages/runtime/environment.ts';
import { httpOperation, timeLeft } from '../packages/runtime/http/http-operation.ts';
import { jsonBody } from '../packages/runtime/http/json-body.ts';
import { jsonResponse } from '../packages/runtime/http/json-response.ts';
import { storeTime } from '../packages/runtime/http/store-time.ts';
import { validEvent } from '../packages/runtime/http/valid-event.ts';
import { createPlant, errors } from './create-plant.ts';
import * as contract from './generated/create-plant.js';

const table = openTable(fromEnvironment('TABLE_NAME'));

export const handler = httpOperation({ errors, unavailable: StoreUnavailable })
  .use(jsonBody())
  .use(validEvent(contract))
  .use(timeLeft())
  .handler(async ({ body, requestContext }, { storeCalls }, { signal }) => {
    const { outcome, plant } = await createPlant(table, body, { signal, storeCalls });
    console.info({ outcome, store: storeTime(storeCalls), gatewayRequestId: requestContext.requestId });
    return jsonResponse(200, plant, outcome === 'repeated' ? { 'idempotent-replayed': 'true' } : {});
  });
