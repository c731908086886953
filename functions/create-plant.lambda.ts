import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import middy from '@middy/core';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { createPlant } from './create-plant.ts';
import { fromEnvironment } from './environment.ts';
import * as contract from './generated/validators.js';
import { deadline, timeLeft } from './http/deadline.ts';
import { errorResponse } from './http/error-response.ts';
import { errors } from './http/errors.ts';
import { jsonBody } from './http/json-body.ts';
import { validBody } from './http/valid-body.ts';
import { addPlantTo, PlantConflict, PlantTooLarge, StoreUnavailable, storeLimits } from './plants/plant-table.ts';

/**
 * What the SDK would look for in the environment and in files at the first request, at a tenth of its time: here it stands in
 * the environment, or is the SDK's own default. So AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT, AWS_ENDPOINT_URL and
 * the like have no say: who needs them changes it here.
 */
const settled: DynamoDBClientConfig = {
  region: fromEnvironment('AWS_REGION'),
  retryMode: 'standard',
  useDualstackEndpoint: false,
  useFipsEndpoint: false,
  accountIdEndpointMode: 'preferred',
  authSchemePreference: [],
  userAgentAppId: async () => undefined,
  disableClockSkewCorrection: false,
  // The one that this service has a use for: its store on a laptop.
  ...(process.env['AWS_ENDPOINT_URL_DYNAMODB'] && { endpoint: process.env['AWS_ENDPOINT_URL_DYNAMODB'] }),
  ignoreConfiguredEndpointUrls: true,
};

const client = new DynamoDBClient({ ...settled, ...storeLimits });
// It copies what is sent and answered for a logger that there is not.
client.middlewareStack.remove('loggerMiddleware');
const create = createPlant(addPlantTo(fromEnvironment('TABLE_NAME'), client));

/**
 * Milliseconds after which a request is answered, whatever the store does: 2.5 s are promised, and the function's own
 * time-out, at which Lambda would answer for it, is far away.
 */
const timeLimit = 2_300;

/** POST /plants. Middy's own time-out is off: `deadline` ends every request long before it could. */
export const handler = middy<unknown, APIGatewayProxyStructuredResultV2>({ timeoutEarlyInMillis: 0 })
  .use(
    errorResponse([
      [PlantConflict, errors.conflict],
      [PlantTooLarge, errors.tooLarge],
      [StoreUnavailable, errors.storeUnavailable],
    ]),
  )
  .use(deadline(timeLimit))
  .use(jsonBody())
  .use(validBody(contract.createPlant))
  .use(timeLeft())
  .handler(async ({ body }, context) => {
    const { outcome, plant } = await create(body, context.deadline);
    console.info({ outcome });
    return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(plant) };
  });
