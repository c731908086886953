import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import middy from '@middy/core';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { createPlant } from './create-plant.ts';
import { fromEnvironment } from './environment.ts';
import * as contract from './generated/validators.js';
import { errorResponse } from './http/error-response.ts';
import { errors } from './http/errors.ts';
import { jsonBody } from './http/json-body.ts';
import { validBody } from './http/valid-body.ts';
import { addPlantTo, PlantConflict, PlantTooLarge, StoreUnavailable, storeLimits } from './plants/plant-table.ts';

const create = createPlant(addPlantTo(fromEnvironment('TABLE_NAME'), new DynamoDBClient(storeLimits)));

/** POST /plants */
export const handler = middy<unknown, APIGatewayProxyStructuredResultV2>()
  .use(
    errorResponse([
      [PlantConflict, errors.conflict],
      [PlantTooLarge, errors.tooLarge],
      [StoreUnavailable, errors.storeUnavailable],
    ]),
  )
  .use(jsonBody())
  .use(validBody(contract.createPlant))
  .handler(async ({ body }) => {
    const plant = await create(body);
    console.info({ outcome: 'stored' });
    return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(plant) };
  });
