import { Agent } from 'node:http';
import { Socket } from 'node:net';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NewPlant } from '../../../functions/plants/plant.ts';
import {
  addPlantTo,
  PlantConflict,
  PlantTooLarge,
  StoreUnavailable,
  storeLimits,
} from '../../../functions/plants/plant-table.ts';
import { startEventLoopClock } from '../../kit/event-loop-clock.ts';
import {
  clockAhead,
  dynamoDbError,
  type Fault,
  type FaultyStore,
  hang,
  loseResponse,
  onFirstCall,
  pass,
  startFaultyStore,
} from '../../kit/faulty-store.ts';
import { anyCredentials } from '../../kit/plants-store.ts';
import { newId } from '../../kit/responses.ts';

let store: FaultyStore;
beforeAll(async () => {
  startEventLoopClock();
  store = await startFaultyStore('plants');
});
afterAll(() => store.close());

/** Returns an `addPlant` with a new client, because a client that has met many faults has no retries left. */
const adder = (config: DynamoDBClientConfig = {}) =>
  add('plants', new DynamoDBClient({ ...anyCredentials, ...storeLimits, endpoint: store.endpoint, ...config }));

const add =
  (...to: Parameters<typeof addPlantTo>) =>
  (plant: NewPlant, deadline = abortAfter(2_300)) =>
    addPlantTo(...to)(plant, deadline);

/** Replaces AbortSignal.timeout, which ignores the fake clock. */
const abortAfter = (milliseconds: number): AbortSignal => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), milliseconds);
  return controller.signal;
};

/** Returns a new plant, and injects `fault` into all calls to the store for it. */
const plantWith = (fault: Fault) => {
  const id = newId();
  store.fail(id, fault);
  return { id: BigInt(id), name: 'Moss' };
};

/** Tests differences that do not show in the service's responses; test/kit/responses.ts tests the responses. */
describe.concurrent('the store', () => {
  test.each([
    ['has no throughput left', 400, 'ProvisionedThroughputExceededException'],
    ['reaches a request limit', 400, 'RequestLimitExceeded'],
    ['throttles with another error name', 400, 'Throttling'],
    ['throttles', 400, 'ThrottlingException'],
    ['is in a transaction with the item', 400, 'TransactionConflictException'],
    ['writes the item in another region', 400, 'ReplicatedWriteConflictException'],
    ['reaches a limit of the account', 400, 'LimitExceededException'],
    ['timed out', 400, 'RequestTimeoutException'],
    ['has a different clock', 400, 'InvalidSignatureException'],
    ['has too many requests', 429, 'Whatever'],
    ['fails with an unknown status', 599, 'Whatever'],
  ])('is unavailable if it %s', async (_, status, type) => {
    const plant = plantWith(dynamoDbError(status, type));
    // With one attempt the error comes from this response, not from the time-out of several attempts.
    await expect(adder({ maxAttempts: 1 })(plant)).rejects.toBeInstanceOf(StoreUnavailable);
  });

  test.each([
    [502, 'is unavailable', StoreUnavailable],
    [200, 'is unavailable', StoreUnavailable],
    [403, 'causes a fault of ours', SyntaxError],
    [302, 'causes a fault of ours', SyntaxError],
  ])('behind a proxy that returns a %i in HTML %s', async (status, _, error) => {
    const plant = plantWith(({ response }) => response.writeHead(status).end('<html>'));
    await expect(adder()(plant)).rejects.toBeInstanceOf(error);
  });

  test.each([
    ['ECONNREFUSED', StoreUnavailable],
    ['ECONNRESET', StoreUnavailable],
    ['EPIPE', StoreUnavailable],
    ['ETIMEDOUT', StoreUnavailable],
    ['ERR_SSL_WRONG_VERSION_NUMBER', StoreUnavailable],
    ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', StoreUnavailable],
    ['ERR_STREAM_PREMATURE_CLOSE', StoreUnavailable],
    ['EADDRNOTAVAIL', StoreUnavailable],
    ['EHOSTDOWN', StoreUnavailable],
    ['ENETDOWN', StoreUnavailable],
    ['EPROTO', StoreUnavailable],
    ['HPE_HEADER_OVERFLOW', StoreUnavailable],
    ['ENOTFOUND', StoreUnavailable],
    ['EAI_AGAIN', StoreUnavailable],
    ['EHOSTUNREACH', StoreUnavailable],
    ['ENETUNREACH', StoreUnavailable],
    ['ECONNABORTED', StoreUnavailable],
    ['ERR_INVALID_URL', Error],
    ['CERT_HAS_EXPIRED', Error],
    ['ERR_TLS_CERT_ALTNAME_INVALID', Error],
  ])(
    'is unavailable if the connection fails with %s, unless the cause is our own configuration',
    async (code, errorClass) => {
      const fault = Object.assign(new Error(code), { code });
      const client = new DynamoDBClient({ ...anyCredentials, ...storeLimits, maxAttempts: 1 });
      client.middlewareStack.add(() => () => Promise.reject(fault), { step: 'finalizeRequest', priority: 'low' });
      const error = await add('plants', client)({ id: 1, name: 'Moss' }).catch((thrown) => thrown);
      expect(error.constructor).toBe(errorClass);
      expect(errorClass === Error ? error : error.cause).toBe(fault);
    },
  );

  test.each([200, 302, 400, 403, 500])(
    'is unavailable if it breaks the connection after the headers of a %i',
    async (status) => {
      const plant = plantWith(({ response }) => {
        response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0', 'content-length': '1000' });
        response.write('{"__type":"Acc', () => response.socket?.resetAndDestroy());
      });
      await expect(adder()(plant)).rejects.toBeInstanceOf(StoreUnavailable);
    },
  );

  test('is unavailable if it does not speak TLS', async () => {
    const endpoint = store.endpoint.replace('http:', 'https:');
    const error = await adder({ endpoint, maxAttempts: 1 })({ id: 1, name: 'Moss' }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(error.cause.code).toMatch(/^ERR_SSL_|^EPROTO$/);
  });

  test('is called only once per request after it has failed many in a row, until it answers again', async () => {
    const addPlant = adder();
    const callsFor = async (fault: Fault): Promise<number> => {
      const plant = plantWith(fault);
      await addPlant(plant).catch(() => undefined);
      return store.calls(String(plant.id));
    };
    const calls: number[] = [];
    for (let request = 1; request <= 20; request += 1)
      calls.push(await callsFor(dynamoDbError(500, 'InternalServerError')));
    expect(calls.slice(0, 16), 'calls for each of the first 16 requests').toEqual(Array(16).fill(3));
    expect(calls.at(-1), 'calls for the 20th request').toBe(1);
    // A call that succeeds at the first attempt returns one of 500 quota tokens; a retry costs 14.
    for (let request = 1; request <= 14; request += 1) await callsFor(pass);
    expect(await callsFor(dynamoDbError(500, 'InternalServerError')), 'calls after 14 successes').toBe(2);
  });

  test('is tried three times, half a second each, if it accepts no connection', async () => {
    const sockets: Socket[] = [];
    class Unconnected extends Socket {
      override readonly connecting = true;
    }
    const httpAgent = Object.assign(new Agent(), {
      createConnection: () => {
        const socket = new Unconnected();
        sockets.push(socket);
        return socket;
      },
    });
    const addPlant = adder({ requestHandler: { ...storeLimits.requestHandler, httpAgent } });
    const error = await addPlant({ id: 1, name: 'Moss' }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailable);
    // The cause is neither the AbortError of the deadline for all attempts nor the time-out of a request.
    expect(error.cause).toMatchObject({ name: 'TimeoutError', message: expect.stringContaining('connection') });
    expect(sockets.length, 'connections').toBe(3);
  });

  test('is not called once the deadline is over', async () => {
    const plant = plantWith(hang);
    await expect(adder()(plant, AbortSignal.abort())).rejects.toBeInstanceOf(StoreUnavailable);
    expect(store.calls(String(plant.id)), 'calls to the store').toBe(0);
  });

  test('is unavailable if it reports a taken id but is not DynamoDB', async () => {
    const plant = plantWith(dynamoDbError(400, 'ConditionalCheckFailedException'));
    const error = await adder()(plant).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(error.message).toBe('The response is not from DynamoDB');
  });

  test('is not called if the credentials are missing: the error is thrown unchanged', async () => {
    const none = Object.assign(new Error('none'), { name: 'CredentialsProviderError' });
    await expect(adder({ credentials: () => Promise.reject(none) })({ id: 1, name: 'Moss' })).rejects.toBe(none);
  });

  test.each(['ResourceNotFoundException', 'AccessDeniedException', 'ValidationException', 'ExpiredTokenException'])(
    'may return %s: the error is thrown unchanged',
    async (type) => {
      await expect(adder()(plantWith(dynamoDbError(400, type)))).rejects.toMatchObject({ name: type });
    },
  );

  test("gives 'stored' if it loses the response after the write, and 'created' if it hangs before the write", async () => {
    expect(await adder()(plantWith(onFirstCall(loseResponse)))).toBe('stored');
    expect(await adder()(plantWith(onFirstCall(hang)))).toBe('created');
  });

  test.each([10, -10])(
    'accepts the second call if its clock is %i minutes ahead, and then the first call of each later request',
    async (minutes) => {
      const addPlant = adder();
      /** Adds a plant. @returns the outcome, or the class of the error, and the number of calls */
      const outcomeOf = async (fault: Fault): Promise<[outcome: unknown, calls: number]> => {
        const plant = plantWith(fault);
        const outcome = await addPlant(plant).catch((error) => error.constructor);
        return [outcome, store.calls(String(plant.id))];
      };
      expect(await outcomeOf(clockAhead(minutes))).toEqual(['created', 2]);
      expect(await outcomeOf(clockAhead(minutes))).toEqual(['created', 1]);
      // The SDK retries after it has corrected its clock, but not after it has undone a correction.
      expect(await outcomeOf(clockAhead(0))).toEqual([StoreUnavailable, 1]);
      expect(await outcomeOf(clockAhead(0))).toEqual(['created', 1]);
    },
  );

  test('is not called with a plant over its item limit', async () => {
    const plant = { ...plantWith(hang), name: 'x'.repeat(409_600) };
    await expect(adder()(plant)).rejects.toBeInstanceOf(PlantTooLarge);
    expect(store.calls(String(plant.id)), 'calls to the store').toBe(0);
  });

  test("gives 'repeated' if it has the plant, and a conflict if the id belongs to a different plant", async () => {
    const plant = { id: BigInt(newId()), name: 'Moss', tag: 'green' };
    expect(await adder()(plant)).toBe('created');
    expect(await adder()(plant)).toBe('repeated');
    await expect(adder()({ ...plant, tag: '' })).rejects.toBeInstanceOf(PlantConflict);
  });
});
