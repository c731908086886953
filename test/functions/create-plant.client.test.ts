import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect, test, vi } from 'vitest';

vi.mock('@aws-sdk/client-dynamodb', { spy: true });

test('nothing is copied for a logger of the SDK, which has a middleware for it by default', async () => {
  vi.stubEnv('TABLE_NAME', 'plants');
  vi.stubEnv('AWS_REGION', 'us-east-1');
  const middlewares = (client: DynamoDBClient) => client.middlewareStack.identify().join();
  expect(middlewares(new DynamoDBClient())).toContain('loggerMiddleware');
  vi.mocked(DynamoDBClient).mockClear();
  await import('../../functions/create-plant.lambda.ts');
  const [client] = vi.mocked(DynamoDBClient).mock.instances;
  expect(client && middlewares(client)).not.toContain('loggerMiddleware');
  expect(client && middlewares(client)).toContain('retryMiddleware');
});
