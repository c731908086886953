import { createPlant, errors } from './create-plant.ts';
import { fromEnvironment } from './environment.ts';
import * as contract from './generated/create-plant.js';
import { httpOperation, timeLeft } from './http/http-operation.ts';
import { jsonBody } from './http/json-body.ts';
import { jsonResponse } from './http/json-response.ts';
import { storeTime } from './http/store-time.ts';
import { validEvent } from './http/valid-event.ts';
import { openTable, StoreUnavailable } from './plants/dynamodb.ts';

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
