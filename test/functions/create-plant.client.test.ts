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

test("createPlant's DynamoDB client makes three attempts, whatever the environment variables say", async () => {
  const { config } = await clientOf({ AWS_MAX_ATTEMPTS: '9' });
  expect(await config.maxAttempts(), 'attempts').toBe(3);
});

test.each([
  ['in the region AWS_REGION', {}, 'dynamodb.us-east-2.amazonaws.com'],
  [
    'that complies with FIPS, if AWS_USE_FIPS_ENDPOINT is true',
    { AWS_USE_FIPS_ENDPOINT: 'true' },
    'dynamodb-fips.us-east-2.amazonaws.com',
  ],
])("createPlant's DynamoDB client sends its calls to the DynamoDB endpoint %s", async (_, environment, host) => {
  const client = await clientOf({
    AWS_REGION: 'us-east-2',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    ...environment,
  });
  const addressed = new Promise((resolve) => {
    client.config.requestHandler.handle = (request) => {
      resolve(request.hostname);
      return new Promise(() => {});
    };
  });
  const answered = client.send(new PutItemCommand({ TableName: 'plants', Item: {} }));
  expect(await Promise.race([addressed, answered])).toBe(host);
});
