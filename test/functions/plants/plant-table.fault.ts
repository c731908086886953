import { createServer, type ServerResponse } from 'node:http';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type AddPlant,
  addPlantTo,
  PlantConflict,
  PlantTooLarge,
  StoreUnavailable,
  storeLimits,
} from '../../../functions/plants/plant-table.ts';
import { anyCredentials, type PlantsStore, startPlantsStore } from '../../plants-store.ts';
import { startServer } from '../../servers.ts';

const addTo = (endpoint: string): AddPlant =>
  addPlantTo('plants', new DynamoDBClient({ ...anyCredentials, ...storeLimits, endpoint }));

type Call = {
  response: ServerResponse;
  /** 1 for the first call. */
  number: number;
  /** Hands the call on to another store and gives its answer, undelivered. */
  forward: (endpoint: string) => Promise<Response>;
};

/** A store that does `behave` to every call, for one test. */
const startFaultyStore = async (behave: (call: Call) => unknown) => {
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const { host, connection, 'content-length': length, ...headers } = request.headers as Record<string, string>;
    store.calls += 1;
    const forward = (endpoint: string) => fetch(endpoint, { method: 'POST', headers, body });
    await behave({ response, number: store.calls, forward });
  });
  const store = { addPlant: addTo(`http://127.0.0.1:${await startServer(server)}`), calls: 0 };
  return store;
};

const answer =
  (status: number, type: string) =>
  ({ response }: Call) => {
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: 'made by a test' }));
  };

const plant = { id: 1, name: 'Moss' };

describe.concurrent('the store', () => {
  test.each([
    ['throttles', answer(400, 'ThrottlingException')],
    ['has no throughput left', answer(400, 'ProvisionedThroughputExceededException')],
    ['reaches a request limit', answer(400, 'RequestLimitExceeded')],
    ['throttles, in another word', answer(400, 'Throttling')],
    ['is in a transaction with the item', answer(400, 'TransactionConflictException')],
    ['writes the item in another region', answer(400, 'ReplicatedWriteConflictException')],
    ['is out of a limit', answer(400, 'LimitExceededException')],
    ['waited for too long', answer(400, 'RequestTimeoutException')],
    ['has too many requests', answer(429, 'Whatever')],
    ['fails', answer(500, 'InternalServerError')],
    ['is not there', answer(503, 'ServiceUnavailable')],
    ['hangs up', ({ response }: Call) => response.destroy()],
    ['answers with rubbish', ({ response }: Call) => response.end('<html>')],
    ['is a proxy without a store', ({ response }: Call) => response.writeHead(502).end('<html>')],
    [
      'stops in the middle of an answer',
      ({ response }: Call) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{');
      },
    ],
    [
      'drips',
      ({ response }: Call) => {
        response.writeHead(200, { 'content-length': '100' });
        const timer = setInterval(() => response.write(' '), 100);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('%s: StoreUnavailable, after at most 3 calls', async (_, fault) => {
    const store = await startFaultyStore(fault);
    await expect(store.addPlant(plant)).rejects.toBeInstanceOf(StoreUnavailable);
    expect(store.calls).toBeGreaterThanOrEqual(1);
    expect(store.calls).toBeLessThanOrEqual(3);
  });

  test('fails: it is asked 3 times', async () => {
    const store = await startFaultyStore(answer(500, 'InternalServerError'));
    await expect(store.addPlant(plant)).rejects.toBeInstanceOf(StoreUnavailable);
    expect(store.calls).toBe(3);
  });

  test('never answers: it is asked again, since one call does not get all the time', async () => {
    const store = await startFaultyStore(() => {});
    await expect(store.addPlant(plant)).rejects.toBeInstanceOf(StoreUnavailable);
    expect(store.calls).toBeGreaterThanOrEqual(2);
    expect(store.calls).toBeLessThanOrEqual(3);
  });

  test('is something else, that refuses: a fault of ours', async () => {
    const store = await startFaultyStore(({ response }) => response.writeHead(403).end('<html>'));
    await expect(store.addPlant(plant)).rejects.toMatchObject({ name: 'SyntaxError' });
  });

  test('cannot be asked without credentials: a fault of ours', async () => {
    const credentials = async () =>
      Promise.reject(Object.assign(new Error('none'), { name: 'CredentialsProviderError' }));
    const addPlant = addPlantTo('plants', new DynamoDBClient({ ...anyCredentials, ...storeLimits, credentials }));
    await expect(addPlant(plant)).rejects.toMatchObject({ name: 'CredentialsProviderError' });
  });

  test('has a name that does not resolve: StoreUnavailable', async () => {
    const lookUp = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    const client = new DynamoDBClient({ ...anyCredentials, ...storeLimits });
    client.middlewareStack.add(() => () => Promise.reject(lookUp), { step: 'finalizeRequest', priority: 'low' });
    await expect(addPlantTo('plants', client)(plant)).rejects.toMatchObject({
      name: 'StoreUnavailable',
      cause: lookUp,
    });
  });

  test.each(['ResourceNotFoundException', 'AccessDeniedException', 'ValidationException', 'ExpiredTokenException'])(
    'answers %s: that is a fault of ours and passes through, after one call',
    async (type) => {
      const store = await startFaultyStore(answer(400, type));
      await expect(store.addPlant(plant)).rejects.toMatchObject({ name: type });
      expect(store.calls).toBe(1);
    },
  );

  test('cannot be connected to: StoreUnavailable', async () => {
    await expect(addTo('http://127.0.0.1:9')(plant)).rejects.toBeInstanceOf(StoreUnavailable);
  });

  test('is not asked to hold a plant over its item limit', async () => {
    const store = await startFaultyStore(() => {});
    await expect(store.addPlant({ id: 1, name: 'x'.repeat(409_600) })).rejects.toBeInstanceOf(PlantTooLarge);
    expect(store.calls).toBe(0);
  });
});

describe('with a store that keeps what it gets', () => {
  let store: PlantsStore;
  beforeEach(async () => {
    store = await startPlantsStore();
  });
  afterEach(() => store.close());

  test('an answer lost after the write is made good by the retry, which meets its own item', async () => {
    const { endpoint } = store;
    const between = await startFaultyStore(async ({ response, number, forward }) => {
      const stored = await forward(endpoint);
      if (number === 1) return response.destroy();
      return response.writeHead(stored.status).end(await stored.text());
    });
    await expect(between.addPlant(plant)).resolves.toBeUndefined();
    expect(between.calls).toBe(2);
    expect(await store.read('1')).toEqual({ id: { N: '1' }, name: { S: 'Moss' } });
  });

  test('of 20 different plants that race for an id one wins, the others are conflicts', async () => {
    const add = addTo(store.endpoint);
    const plants = Array.from({ length: 20 }, (_, index) => ({ id: 7, name: `plant ${index}` }));
    const results = await Promise.allSettled(plants.map(add));
    const winners = plants.filter((_, index) => results[index]?.status === 'fulfilled');
    expect(winners).toHaveLength(1);
    expect(await store.read('7')).toEqual({ id: { N: '7' }, name: { S: winners[0]?.name } });
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(PlantConflict);
    }
  });

  test('of 20 equal plants that race for an id all are acknowledged', async () => {
    const add = addTo(store.endpoint);
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => add({ id: 8, name: 'Moss', tag: 'x' })));
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
  });
});
