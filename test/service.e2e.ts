/** Tests the contract over HTTP, against a local service or a deployment, whose table keeps the plants. */

import { bodyOf, itemOf, newBody, newId, otherContent, responseTo } from '@lambda-service/testing/data';
import { isDeployed, isToSendAgain, reachService } from '@lambda-service/testing/programs';
import { dynamoDbError } from '@lambda-service/testing/store';
import { testResponses } from '@lambda-service/testing/suite';
import { retryWhile } from '@lambda-service/testing/waiting';
import { describe, expect, test } from 'vitest';
import { createPlantStoreClient, type NewPlant } from '../client/plant-store-client.ts';

const service = await reachService();

const json = { 'content-type': 'application/json' };

testResponses(service);

if (!isDeployed) {
  test.each([
    [500, 'InternalServerError', 503, 50301],
    [400, 'ResourceNotFoundException', 500, 50001],
  ])('if the store answers %i %s, the response is a %i with the error %i', async (status, type, expected, error) => {
    const id = newId();
    service.faults?.fail(id, dynamoDbError(status, type));
    const response = await service.postOnce(bodyOf(id), { ...json, authorization: `Bearer ${service.token}` });
    expect(response).toMatchObject({ status: expected, body: { error } });
  });
}

describe('a request', () => {
  test('without a token gets a 401', async () => {
    const unauthorized = { status: 401, body: { message: 'Unauthorized' } };
    expect(await service.post(bodyOf(), json)).toMatchObject(unauthorized);
    expect(await service.post(bodyOf(), { ...json, authorization: '' })).toMatchObject(unauthorized);
  });

  test('with an invalid token gets a 403', async () => {
    const [header, payload, signature = ''] = service.token.split('.');
    const forged = [header, payload, signature.split('').reverse().join('')].join('.');
    for (const authorization of [
      `Bearer ${forged}`,
      'Bearer x',
      `Basic ${service.token}`,
      `Bearer ${header}.${payload}.`,
    ]) {
      const forbidden = { status: 403, body: { message: 'Forbidden' } };
      expect(await service.post(bodyOf(), { ...json, authorization })).toMatchObject(forbidden);
    }
  });
});

test.each([
  ['POST', '/no-route'],
  ['DELETE', '/'],
])('a request to the unknown route %s %s gets a 404', async (method, path) => {
  const headers = { authorization: `Bearer ${service.token}` };
  const { status, body } = await service.request(path, { method, headers });
  expect({ status, body }).toEqual({ status: 404, body: { message: 'Not Found' } });
});

test('the client stores a plant, acknowledges it again, and returns a conflict for a different one with its id', async () => {
  const token = ({ refused }: { refused: boolean }) => (refused ? service.token : 'x');
  const { createPlant } = createPlantStoreClient({ baseUrl: service.url, token });
  const create = (plant: NewPlant) =>
    retryWhile(
      () => createPlant(plant),
      (result) => {
        if (result.ok || result.error === 'no answer') return false;
        return isToSendAgain(result.status, typeof result.error === 'number' ? result : {});
      },
    );
  const id = newId();
  const stored = { ok: true, requestId: expect.stringMatching(/./), body: responseTo(id) };
  expect(await create(newBody(id))).toMatchObject(stored);
  expect(await create(newBody(id))).toMatchObject(stored);
  expect(await create(newBody(id, otherContent))).toMatchObject({ ok: false, status: 409, error: 40901 });
  expect(await service.read(id)).toEqual(itemOf(id));
});
