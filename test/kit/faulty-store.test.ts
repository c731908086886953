import { DynamoDBClient, GetItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { expect, onTestFinished, test } from 'vitest';
import { dynamoDbError, hangUp, loseResponse, startFaultyStore } from './faulty-store.ts';
import { anyCredentials } from './plants-store.ts';

test("a fault that is set without a plant's id affects every call, even a Scan; but a plant with a separate fault gets that one instead", async () => {
  const store = await startFaultyStore('plants');
  onTestFinished(store.close);
  const client = new DynamoDBClient({ ...anyCredentials, endpoint: store.endpoint, maxAttempts: 1 });
  const scan = () => client.send(new ScanCommand({ TableName: 'plants' }));
  const read = (id: string) => client.send(new GetItemCommand({ TableName: 'plants', Key: { id: { N: id } } }));
  store.fail('1', hangUp);
  store.fail(undefined, dynamoDbError(400, 'AccessDeniedException'));
  await expect(scan()).rejects.toThrow(expect.objectContaining({ name: 'AccessDeniedException' }));
  await expect(read('2')).rejects.toThrow(expect.objectContaining({ name: 'AccessDeniedException' }));
  await expect(read('1')).rejects.toThrow(expect.objectContaining({ code: 'ECONNRESET' }));
  expect(store.calls()).toBe(3);
  store.fail(undefined);
  expect(await scan()).toMatchObject({ Count: 0 });
});

test('the faulty store records the outcome of every call that DynamoDB handled, even if the caller got no response', async () => {
  const store = await startFaultyStore('plants');
  onTestFinished(store.close);
  const client = new DynamoDBClient({ ...anyCredentials, endpoint: store.endpoint, maxAttempts: 1 });
  const read = () => client.send(new GetItemCommand({ TableName: 'plants', Key: { id: { N: '1' } } }));
  await read();
  for (const fault of [dynamoDbError(500, 'InternalServerError'), loseResponse, hangUp]) {
    store.fail('1', fault);
    await expect(read()).rejects.toThrow();
  }
  store.fail('1');
  await expect(client.send(new ScanCommand({ TableName: 'lost' }))).rejects.toThrow();
  expect(store.performed).toEqual([
    { operation: 'GetItem', status: 200, error: undefined },
    { operation: 'GetItem', status: 500, error: 'InternalServerError' },
    { operation: 'GetItem', status: 200, error: undefined },
    { operation: 'Scan', status: 400, error: 'ResourceNotFoundException' },
  ]);
});
