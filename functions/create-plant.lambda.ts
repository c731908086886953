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
 * Given so that the SDK does not look for these settings in the environment and in config files (10 % of the first
 * request). It therefore ignores AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT, AWS_ENDPOINT_URL and the like.
 */
const explicitConfig: DynamoDBClientConfig = {
  region: fromEnvironment('AWS_REGION'),
  retryMode: 'standard',
  useDualstackEndpoint: false,
  useFipsEndpoint: false,
  accountIdEndpointMode: 'preferred',
  authSchemePreference: [],
  userAgentAppId: async () => undefined,
  disableClockSkewCorrection: false,
  // The local run sets AWS_ENDPOINT_URL_DYNAMODB to the address of its store.
  ...(process.env['AWS_ENDPOINT_URL_DYNAMODB'] && { endpoint: process.env['AWS_ENDPOINT_URL_DYNAMODB'] }),
  ignoreConfiguredEndpointUrls: true,
};

const client = new DynamoDBClient({ ...explicitConfig, ...storeLimits });
// The SDK's logger middleware copies each request and response for a logger, but this client has no logger.
client.middlewareStack.remove('loggerMiddleware');
const create = createPlant(addPlantTo(fromEnvironment('TABLE_NAME'), client));

/**
 * Milliseconds until a request is answered, even if the store hangs. docs/decisions/contract.md promises 2.5 s. Lambda
 * would end the function only after 5 s (infra/plant-store-stack.ts).
 */
const timeLimit = 2_300;

/** Handles POST /plants. Middy's own time-out is off, because `deadline` ends every request long before it. */
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
