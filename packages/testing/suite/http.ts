/** Tests the contract over HTTP, against a local service or a deployment, whose table keeps the items. */
import { createClient } from '@lambda-service/client';
import { describe, expect, test } from 'vitest';
import { bodyOf, conflict, createOperation, itemOf, newBody, newId, otherContent, responseTo } from '../data/index.ts';
import { isDeployed, isToSendAgain, reachService } from '../programs/index.ts';
import { dynamoDbError } from '../store/index.ts';
import { retryWhile } from '../waiting.ts';
import { part } from './part.ts';
import { testResponses } from './responses.ts';

type AddOperation = { add: { parameters: object; body: object; response: unknown; errorCode: number } };

export const testHttp = part('http', async () => {
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

  test('the client stores an item, acknowledges it again, and returns a conflict for a different one with its id', async () => {
    const token = ({ refused }: { refused: boolean }) => (refused ? service.token : 'x');
    const { add } = createClient<AddOperation>({ add: createOperation }, { baseUrl: service.url, token });
    const create = (item: object) =>
      retryWhile(
        () => add(item),
        (result) => {
          if (result.ok || result.error === 'no answer') return false;
          return isToSendAgain(result.status, typeof result.error === 'number' ? result : {});
        },
      );
    const id = newId();
    const stored = { ok: true, requestId: expect.stringMatching(/./), body: responseTo(id) };
    expect(await create(newBody(id))).toMatchObject(stored);
    expect(await create(newBody(id))).toMatchObject(stored);
    expect(await create(newBody(id, otherContent))).toMatchObject({ ok: false, status: 409, error: conflict });
    expect(await service.read(id)).toEqual(itemOf(id));
  });
});
