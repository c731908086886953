/** Tests the client of the contract, whatever operations it has. The other tests invent operations. */
import { type Operation, type Outcome, parseJson, toJson } from '@lambda-service/client';
import { answer, startScriptedService } from '@lambda-service/testing/servers';
import { expect, test } from 'vitest';
import { operations } from '../../functions/generated/contract.ts';
import { createPlantStoreClient } from '../plant-store-client.ts';
import { argumentsFor, bodyFor, bodyOf } from './kit/any-call.ts';

const all = Object.entries<Operation>(operations).map(([id, operation]) => ({ id, ...operation }));

type Any = (typeof all)[number];

/** Calls an operation of a service that sends this response. @returns the result, and the requests */
const call = async ({ id, ...operation }: Any, ...script: Parameters<typeof startScriptedService>) => {
  const { baseUrl, received, requests } = await startScriptedService(...script);
  // The base URL of a service may have a path, and end with slashes.
  const client = createPlantStoreClient({ baseUrl: `${baseUrl}/prod//`, token: 'a.b.c' });
  const result: Outcome<unknown, number> = await Reflect.apply(
    Reflect.get(client, id),
    client,
    argumentsFor(operation),
  );
  return { result, received, requests };
};

test.each(all)('the client sends a request of $id, and returns each response of success', async (operation) => {
  for (const response of operation.responses) {
    const { status } = response;
    const body = bodyOf(operation, response);
    const { result, received, requests } = await call(operation, answer(status, body, { 'x-more': 'yes' }));
    expect(result).toMatchObject({ ok: true, status, body });
    expect(result.ok && result.headers.get('x-more')).toBe('yes');
    const url = new RegExp(`^/prod${operation.path.replaceAll(/\{.*?\}/g, '7')}(?:\\?|$)`);
    expect(requests).toMatchObject([{ method: operation.method, url: expect.stringMatching(url) }]);
    const sent = operation.body && toJson(bodyFor(operation));
    expect(received).toEqual([{ authorization: 'Bearer a.b.c', body: expect.any(String) }]);
    expect(parseJson(received[0]?.body ?? '')).toEqual(sent && parseJson(sent));
  }
});

const errors = all.flatMap((operation) =>
  operation.errorCodes.map((error) => ({ operation, id: operation.id, error })),
);

test.each(errors)('the client returns the error $error of $id', async ({ operation, error }) => {
  const status = Math.floor(error / 100);
  const { result } = await call(operation, answer(status, { error, message: 'no' }, { 'retry-after': '0' }));
  expect(result).toEqual({ ok: false, status, error, message: 'no' });
});

test('createPlantStoreClient throws at once if the base URL is not a URL', () => {
  expect(() => createPlantStoreClient({ baseUrl: 'plants', token: 'a.b.c' })).toThrow(TypeError);
});
