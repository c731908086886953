/**
 * Tests the contract over HTTP, against a new local service. If API_URL, ACCESS_TOKEN and TABLE_NAME are set, tests a
 * deployment (`npm run journey`), reads its table with AWS credentials, and leaves the plants in the table.
 */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPlantStoreClient, type NewPlant } from '../packages/client/plant-store-client.ts';
import { fetchToken, readSession } from '../tools/start/session.ts';
import { expectInContract } from './kit/contract.ts';
import { dynamoDbError, type Faults, startFaultyStore } from './kit/faulty-store.ts';
import { startLocalService, temporaryFolder } from './kit/local-service.ts';
import { readItem } from './kit/plants-store.ts';
import { item, newId, type PlantRequest, type PlantService, testResponses } from './kit/responses.ts';
import { isOverQuota, isUnavailable, retryWhile } from './kit/waiting.ts';

type Reached = Pick<PlantService, 'read'> & { url: string; token: string; faults?: Faults };

const cleanUp: (() => unknown)[] = [];

const { API_URL, ACCESS_TOKEN, TABLE_NAME } = process.env;
const isDeployed = [API_URL, ACCESS_TOKEN, TABLE_NAME].some(Boolean);

const reachDeployment = (): Reached => {
  if (!API_URL || !ACCESS_TOKEN || !TABLE_NAME) {
    throw new Error('Set API_URL, ACCESS_TOKEN and TABLE_NAME for a deployment, or none of them for a local service.');
  }
  const client = new DynamoDBClient();
  cleanUp.push(() => client.destroy());
  return { url: API_URL.replace(/\/$/, ''), token: ACCESS_TOKEN, read: (id) => readItem(client, TABLE_NAME, id) };
};

const startLocal = async (): Promise<Reached> => {
  const { folder, remove } = await temporaryFolder();
  cleanUp.push(remove);
  const store = await startFaultyStore();
  cleanUp.push(store.close);
  const service = await startLocalService(folder, { AWS_ENDPOINT_URL_DYNAMODB: store.endpoint });
  cleanUp.push(() => service.stop());
  const token = await fetchToken(readSession(folder));
  return { url: service.url, token, read: store.read, faults: store };
};

/**
 * Returns whether to send a request again: after a 503, and after a 429 or 500 from the gateway itself. A gateway
 * responds 500 if a quota is exceeded or, locally, if loading a function takes longer than Lambda's 10 s.
 */
const isToSendAgain = (status: number, body: unknown): boolean => isUnavailable(status) || isOverQuota(status, body);

let reached: Reached;
let service: PlantService;
beforeAll(async () => {
  reached = isDeployed ? reachDeployment() : await startLocal();
  const sendOnce = ({ body, contentType, contentEncoding }: PlantRequest) => {
    const headers = {
      authorization: `Bearer ${reached.token}`,
      ...(contentType !== undefined && { 'content-type': contentType }),
      ...(contentEncoding !== undefined && { 'content-encoding': contentEncoding }),
    };
    return postOnce(body, headers);
  };
  service = { read: reached.read, send: (request) => untilAnswered(() => sendOnce(request)) };
});
afterAll(async () => {
  for (const undo of cleanUp.reverse()) await undo();
});

const untilAnswered = <T extends { status: number; body: unknown }>(send: () => Promise<T>): Promise<T> =>
  retryWhile(send, ({ status, body }) => isToSendAgain(status, body));

const request = async (path: string, init: RequestInit) => {
  const response = await fetch(reached.url + path, init);
  const text = await response.text();
  expect(response.headers.get('apigw-requestid'), 'id of the request').toMatch(/./);
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as unknown };
};

const postOnce = async (content: PlantRequest['body'], headers: Record<string, string>) => {
  // Send bytes, because fetch adds a content type to a body that is a string.
  const body = content === undefined ? null : Buffer.from(content);
  const answer = await request('/plants', { method: 'POST', headers, body });
  expectInContract(answer.status, answer.headers.get('content-type'), answer.text);
  return { status: answer.status, headers: Object.fromEntries(answer.headers), body: answer.body };
};

const post = (content: PlantRequest['body'], headers: Record<string, string>) =>
  untilAnswered(() => postOnce(content, headers));

testResponses(() => service, false);

if (!isDeployed) {
  test.each([
    [500, 'InternalServerError', 503, 50301],
    [400, 'ResourceNotFoundException', 500, 50001],
  ])('if the store answers %i %s, the response is a %i with the error %i', async (status, type, expected, error) => {
    const id = newId();
    reached.faults?.fail(id, dynamoDbError(status, type));
    const headers = { authorization: `Bearer ${reached.token}`, 'content-type': 'application/json' };
    const response = await postOnce(`{"id":${id},"name":"Moss"}`, headers);
    expect(response).toMatchObject({ status: expected, body: { error } });
  });
}

describe('a request', () => {
  const plant = `{"id":${newId()},"name":"Moss"}`;
  const json = { 'content-type': 'application/json' };

  test('without a token gets a 401', async () => {
    const unauthorized = { status: 401, body: { message: 'Unauthorized' } };
    expect(await post(plant, json)).toMatchObject(unauthorized);
    expect(await post(plant, { ...json, authorization: '' })).toMatchObject(unauthorized);
  });

  test('with an invalid token gets a 403', async () => {
    const [header, payload, signature = ''] = reached.token.split('.');
    const forged = [header, payload, signature.split('').reverse().join('')].join('.');
    for (const authorization of [
      `Bearer ${forged}`,
      'Bearer x',
      `Basic ${reached.token}`,
      `Bearer ${header}.${payload}.`,
    ]) {
      const forbidden = { status: 403, body: { message: 'Forbidden' } };
      expect(await post(plant, { ...json, authorization })).toMatchObject(forbidden);
    }
  });
});

test.each([
  ['POST', '/no-route'],
  ['DELETE', '/'],
])('a request to the unknown route %s %s gets a 404', async (method, path) => {
  const headers = { authorization: `Bearer ${reached.token}` };
  const { status, body } = await untilAnswered(() => request(path, { method, headers }));
  expect({ status, body }).toEqual({ status: 404, body: { message: 'Not Found' } });
});

test('the client stores a plant with an id beyond 2^53, acknowledges it again, and returns a conflict for a different one', async () => {
  const token = ({ refused }: { refused: boolean }) => (refused ? reached.token : 'x');
  const { createPlant } = createPlantStoreClient({ baseUrl: reached.url, token });
  const create = (plant: NewPlant) =>
    retryWhile(
      () => createPlant(plant),
      (result) => {
        if (result.ok || result.error === 'no answer') return false;
        return isToSendAgain(result.status, result.error === 'gateway' ? {} : result);
      },
    );
  const id = 2n ** 62n + BigInt.asIntN(62, BigInt(newId()));
  const stored = { ok: true, requestId: expect.stringMatching(/./), body: { name: 'Löwenzahn 🌱', tag: '' } };
  expect(await create({ id, name: 'Löwenzahn 🌱', tag: '' })).toMatchObject(stored);
  expect(await create({ id, name: 'Löwenzahn 🌱', tag: '' })).toMatchObject(stored);
  expect(await create({ id, name: 'Moss' })).toMatchObject({ ok: false, status: 409, error: 40901 });
  expect(await reached.read(String(id))).toEqual(item(String(id), 'Löwenzahn 🌱', ''));
});
