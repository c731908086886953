import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect, test, vi } from 'vitest';

vi.mock('@aws-sdk/client-dynamodb', { spy: true });

/** The client of createPlant as it starts in this environment. */
const clientOf = async (environment: Record<string, string> = {}): Promise<DynamoDBClient> => {
  const variables = { TABLE_NAME: 'plants', AWS_REGION: 'us-east-1', ...environment };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  vi.resetModules();
  vi.mocked(DynamoDBClient).mockClear();
  await import('../../functions/create-plant.lambda.ts');
  const [client] = vi.mocked(DynamoDBClient).mock.instances;
  if (client === undefined) throw new Error('createPlant made no client.');
  return client;
};

test('nothing is copied for a logger of the SDK, which has a middleware for it by default', async () => {
  const middlewares = (client: DynamoDBClient) => client.middlewareStack.identify().join();
  expect(middlewares(new DynamoDBClient())).toContain('loggerMiddleware');
  const client = await clientOf();
  expect(middlewares(client)).not.toContain('loggerMiddleware');
  expect(middlewares(client)).toContain('retryMiddleware');
});

test('a call is retried in standard mode, three attempts in all, whatever the environment says', async () => {
  const { config } = await clientOf({ AWS_RETRY_MODE: 'adaptive', AWS_MAX_ATTEMPTS: '9' });
  expect(await config.retryStrategy()).toHaveProperty('mode', 'standard');
  expect(await config.maxAttempts()).toBe(3);
});
