import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { expect, test, vi } from 'vitest';

vi.mock('@aws-sdk/client-dynamodb', { spy: true });

/** Returns the DynamoDB client that createPlant makes with these environment variables. */
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

test("createPlant's client leaves out the SDK's logging middleware, which copies each request and response", async () => {
  const middlewares = (client: DynamoDBClient) => client.middlewareStack.identify().join();
  expect(middlewares(new DynamoDBClient())).toContain('loggerMiddleware');
  const client = await clientOf();
  expect(middlewares(client)).not.toContain('loggerMiddleware');
  expect(middlewares(client)).toContain('retryMiddleware');
});

test("createPlant's client makes three attempts in standard retry mode, whatever the environment says", async () => {
  const { config } = await clientOf({ AWS_RETRY_MODE: 'adaptive', AWS_MAX_ATTEMPTS: '9' });
  expect(await config.retryStrategy()).toHaveProperty('mode', 'standard');
  expect(await config.maxAttempts(), 'attempts').toBe(3);
});

test("createPlant's client calls DynamoDB in AWS_REGION, whatever else the environment says", async () => {
  const client = await clientOf({
    AWS_REGION: 'eu-central-1',
    AWS_USE_FIPS_ENDPOINT: 'true',
    AWS_USE_DUALSTACK_ENDPOINT: 'true',
    AWS_ENDPOINT_URL: 'https://elsewhere.example',
    AWS_ACCOUNT_ID_ENDPOINT_MODE: 'required',
  });
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  const addressed = new Promise((resolve) => {
    client.config.requestHandler.handle = (request) => {
      resolve(request.hostname);
      return new Promise(() => {});
    };
  });
  const answered = client.send(new PutItemCommand({ TableName: 'plants', Item: {} }));
  expect(await Promise.race([addressed, answered])).toBe('dynamodb.eu-central-1.amazonaws.com');
});
