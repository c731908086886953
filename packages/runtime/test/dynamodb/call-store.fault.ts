import { Agent, type OutgoingHttpHeaders } from 'node:http';
import { type LookupFunction, Socket } from 'node:net';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { newBody, newId } from '@lambda-service/testing/data';
import * as faults from '@lambda-service/testing/store';
import { anyCredentials, type Fault, startFaultyStore } from '@lambda-service/testing/store';
import { startEventLoopClock } from '@lambda-service/testing/waiting';
import { afterAll, describe, expect, test } from 'vitest';
import type { NewPlant } from '../../../../functions/generated/contract.ts';
import { key, toItem } from '../../../../functions/plant-table.ts';
import { addItem } from '../../dynamodb/add-item.ts';
import { type OngoingRequest, StoreUnavailable, storeLimits } from '../../dynamodb/call-store.ts';

startEventLoopClock();
const store = await startFaultyStore('items');
afterAll(store.close);

type StoreCalls = OngoingRequest['storeCalls'];

/** Returns an `addItem` for plants with a new client, because a client that has met many faults makes no more retries. */
const adder = (config: DynamoDBClientConfig = {}) =>
  addWith(new DynamoDBClient({ ...anyCredentials, ...storeLimits, endpoint: store.endpoint, ...config }));

const addWith =
  (client: DynamoDBClient) =>
  (plant: NewPlant, signal = abortAfter(2_300), storeCalls: StoreCalls = []) =>
    addItem({ name: 'items', client }, key, toItem(plant), { signal, storeCalls });

/** Replaces AbortSignal.timeout, which would ignore the fake clock. */
const abortAfter = (milliseconds: number): AbortSignal => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), milliseconds);
  return controller.signal;
};

/** Returns a new plant, and injects `fault` into all calls to the store that this plant causes. */
const plantWith = (fault: Fault) => {
  const id = newId();
  store.fail(id, fault);
  return newBody<NewPlant>(id);
};

/**
 * Tests the outcomes and errors of `addItem`, and its calls to the store; packages/testing/suite/responses.ts tests the responses.
 */
describe.concurrent('addItem', () => {
  test.each([
    ['DynamoDB reports that the provisioned throughput is exceeded', 400, 'ProvisionedThroughputExceededException'],
    ['DynamoDB reports that a request limit is exceeded', 400, 'RequestLimitExceeded'],
    ['DynamoDB throttles, under the name Throttling', 400, 'Throttling'],
    ['DynamoDB throttles', 400, 'ThrottlingException'],
    ['a transaction is changing the item', 400, 'TransactionConflictException'],
    ['another region is writing the item', 400, 'ReplicatedWriteConflictException'],
    ['DynamoDB reports that a limit of the account is exceeded', 400, 'LimitExceededException'],
    ['DynamoDB reports a time-out', 400, 'RequestTimeoutException'],
    ['DynamoDB refuses the signature because the clocks differ', 400, 'InvalidSignatureException'],
    ['the response is a 429', 429, 'Whatever'],
    ['the response has an unknown 5xx status', 599, 'Whatever'],
  ])('throws StoreUnavailable if %s', async (_, status, type) => {
    const plant = plantWith(faults.dynamoDbError(status, type));
    // Allow only one attempt: the SDK throws the error in the response only after the last attempt, and the deadline
    // might end the call before that.
    await expect(adder({ maxAttempts: 1 })(plant)).rejects.toBeInstanceOf(StoreUnavailable);
  });

  test.each([
    [502, 'StoreUnavailable', StoreUnavailable],
    [200, 'StoreUnavailable', StoreUnavailable],
    [403, "the SDK's SyntaxError", SyntaxError],
    [302, "the SDK's SyntaxError", SyntaxError],
  ])('if a proxy responds with the status %i and an HTML page, throws %s', async (status, _, error) => {
    const plant = plantWith(({ response }) => response.writeHead(status).end('<html>'));
    await expect(adder()(plant)).rejects.toBeInstanceOf(error);
  });

  /**
   * Adds a plant while each connection fails with the error code `code`. @returns the connection's error, the number of
   * attempts, and the error that adding the plant throws
   */
  const addWithout = async (code: string) => {
    const fault = Object.assign(new Error(code), { code });
    let attempts = 0;
    const handle = () => {
      attempts += 1;
      return Promise.reject(fault);
    };
    const requestHandler = { handle, updateHttpClientConfig: () => {}, httpHandlerConfigs: () => ({}) };
    const thrown = await adder({ requestHandler })(newBody<NewPlant>()).catch((error) => error);
    return { fault, attempts, thrown };
  };

  test.each([
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EADDRNOTAVAIL', 'EHOSTDOWN', 'ENETDOWN', 'ENETRESET'],
    ...['EPROTO', 'EHOSTUNREACH', 'ENETUNREACH', 'ENONET', 'ECONNABORTED', 'ECANCELED', 'ENOTCONN', 'ESHUTDOWN', 'EOF'],
    ...['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'ERR_TLS_HANDSHAKE_TIMEOUT'],
    ...['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ERR_SOCKET_CLOSED', 'ERR_SOCKET_CONNECTION_TIMEOUT'],
    'HPE_HEADER_OVERFLOW',
    // The name did not resolve: getaddrinfo's codes, then c-ares's.
    ...[
      'ENOTFOUND',
      'EAI_ADDRFAMILY',
      'EAI_AGAIN',
      'EAI_CANCELED',
      'EAI_FAIL',
      'EAI_NODATA',
      'EAI_NONAME',
      'EAI_SYSTEM',
    ],
    ...['EBUSY', 'EINTR', 'EIO'],
    ...['EBADRESP', 'ECANCELLED', 'EDESTRUCTION', 'EFORMERR', 'ENODATA', 'ENONAME', 'ENOTIMP', 'EREFUSED', 'ESERVFAIL'],
    'ETIMEOUT',
  ])('after three attempts, throws StoreUnavailable if each fails with %s, a temporary error', async (code) => {
    const { fault, attempts, thrown } = await addWithout(code);
    expect(thrown).toBeInstanceOf(StoreUnavailable);
    expect(thrown.cause).toBe(fault);
    expect(attempts).toBe(3);
  });

  test.each([
    ...['ERR_INVALID_URL', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SOCKET_BAD_PORT', 'EACCES'],
    ...['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'ENOSPC', 'EAI_MEMORY', 'EAI_FAMILY', 'EBADNAME'],
  ])('throws the error unchanged, at once, if the connection fails with %s, which is not temporary', async (code) => {
    const { fault, attempts, thrown } = await addWithout(code);
    expect(thrown).toBe(fault);
    expect(attempts).toBe(1);
  });

  test("returns 'created' if the store's name resolves only at the second attempt", async () => {
    const faults = [Object.assign(new Error('getaddrinfo EBUSY'), { code: 'EBUSY' }), null];
    const lookup: LookupFunction = (_, __, callback) =>
      callback(faults.shift() ?? null, [{ address: '127.0.0.1', family: 4 }]);
    const requestHandler = { ...storeLimits.requestHandler, httpAgent: new Agent({ lookup }) };
    const addPlant = adder({ endpoint: store.endpoint.replace('127.0.0.1', 'store.example'), requestHandler });
    expect(await addPlant(newBody<NewPlant>())).toBe('created');
  });

  test.each([200, 302, 400, 403, 500])(
    'throws StoreUnavailable if the connection breaks after the headers of a response with the status %i',
    async (status) => {
      const plant = plantWith(({ response }) => {
        response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0', 'content-length': '1000' });
        response.write('{"__type":"Acc', () => response.socket?.resetAndDestroy());
      });
      await expect(adder()(plant)).rejects.toBeInstanceOf(StoreUnavailable);
    },
  );

  test('throws StoreUnavailable if the store does not speak TLS', async () => {
    const endpoint = store.endpoint.replace('http:', 'https:');
    const error = await adder({ endpoint, maxAttempts: 1 })(newBody<NewPlant>()).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(error.cause.code).toMatch(/^ERR_SSL_|^EPROTO$/);
  });

  test('makes no more retries after many calls have failed in a row, until calls succeed again', async () => {
    const addPlant = adder();
    const callsFor = async (fault: Fault): Promise<number> => {
      const id = newId();
      store.fail(id, fault);
      await addPlant(newBody<NewPlant>(id)).catch(() => undefined);
      return store.calls(id);
    };
    const calls: number[] = [];
    for (let request = 1; request <= 20; request += 1)
      calls.push(await callsFor(faults.dynamoDbError(500, 'InternalServerError')));
    expect(calls.slice(0, 16), 'calls for each of the first 16 requests').toEqual(Array(16).fill(3));
    expect(calls.at(-1), 'calls for the 20th request').toBe(1);
    // The SDK has a quota of 500 tokens for retries. A retry costs 14 tokens; a call that succeeds at once gives one
    // back.
    for (let request = 1; request <= 14; request += 1) await callsFor(faults.pass);
    expect(await callsFor(faults.dynamoDbError(500, 'InternalServerError')), 'calls after 14 successes').toBe(2);
  });

  test('tries to connect three times, for half a second each', async () => {
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
    const error = await addPlant(newBody<NewPlant>()).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailable);
    // The cause is that connecting timed out, not that the deadline aborted the call (AbortError) or that a request
    // timed out.
    expect(error.cause).toMatchObject({ name: 'TimeoutError', message: expect.stringContaining('connection') });
    expect(sockets.length, 'connections').toBe(3);
  });

  test.each<[after: string, fault: Fault, attempts: number]>([
    ['success', faults.pass, 1],
    [
      'two failed attempts',
      ({ number, ...call }) => (number < 3 ? faults.hangUp : faults.pass)({ number, ...call }),
      3,
    ],
    ['a response that is not from DynamoDB', faults.captivePortal, 1],
    ['an error that is not temporary', faults.dynamoDbError(400, 'AccessDeniedException'), 1],
    ['three errors', faults.dynamoDbError(500, 'InternalServerError'), 3],
  ])(
    'records when its call to DynamoDB began and ended, and how many attempts it took, after %s',
    async (_, fault, attempts) => {
      const storeCalls: StoreCalls = [];
      const before = performance.now();
      await adder()(plantWith(fault), undefined, storeCalls).catch(() => undefined);
      const [{ startedAt = 0, endedAt = 0 } = {}] = storeCalls;
      expect(storeCalls).toEqual([{ startedAt, endedAt, attempts }]);
      expect(startedAt).toBeGreaterThanOrEqual(before);
      expect(endedAt).toBeGreaterThanOrEqual(startedAt);
    },
  );

  test.each<[ids: string, headers: OutgoingHttpHeaders]>([
    ['no request id', {}],
    ['an empty one', { 'x-amzn-requestid': '' }],
    ['a blank one', { 'x-amzn-requestid': ' \t' }],
    ['two', { 'x-amzn-requestid': ['R1', 'R2'] }],
    ['two empty ones', { 'x-amzn-requestid': ['', ''] }],
    ['a placeholder for one', { 'x-amzn-requestid': '-' }],
    ['one with other characters', { 'x-amzn-requestid': '<none>' }],
  ])('throws StoreUnavailable if a response has %s: such a response is not from DynamoDB', async (_, headers) => {
    const id = newId();
    for (const fault of [faults.captivePortal, faults.dynamoDbError(400, 'ConditionalCheckFailedException')]) {
      store.fail(id, (call) => {
        for (const [name, value = ''] of Object.entries(headers)) call.response.setHeader(name, value);
        return fault(call);
      });
      const error = await adder()(newBody<NewPlant>(id)).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(StoreUnavailable);
      expect(error.message).toBe('The response is not from DynamoDB');
    }
  });

  test.each(['ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEFGHIJKLMNOP', '0b8d3c1e-7a54-4f0e-9b1d-2f6c5f0d7a11'])(
    "takes a response with the request id %s, as DynamoDB or an emulator sends it, for DynamoDB's",
    async (requestId) => {
      const plant = plantWith(({ response }) => response.writeHead(200, { 'x-amzn-requestid': requestId }).end('{}'));
      expect(await adder()(plant)).toBe('created');
    },
  );

  test.each([
    [204, ''],
    [201, '{}'],
    [200, ''],
    [200, 'null'],
    [200, '[1]'],
    [200, '7'],
    [200, '"stored"'],
    [200, '{"Attributes":null}'],
    [200, '{"Attributes":7}'],
    [200, '{"Attributes":[]}'],
    [200, '{"Attributes":{"tag":{"B":"!"}}}'],
  ])(
    "throws StoreUnavailable if the response is %i %s, which is not DynamoDB's, even with a request id",
    async (status, body) => {
      const plant = plantWith(({ response }) => response.writeHead(status, { 'x-amzn-requestid': 'R' }).end(body));
      await expect(adder()(plant)).rejects.toBeInstanceOf(StoreUnavailable);
    },
  );

  test("throws the SDK's error unchanged if the credentials are missing", async () => {
    const none = Object.assign(new Error('none'), { name: 'CredentialsProviderError' });
    await expect(adder({ credentials: () => Promise.reject(none) })(newBody<NewPlant>())).rejects.toBe(none);
  });

  test.each(['ResourceNotFoundException', 'AccessDeniedException', 'ValidationException', 'ExpiredTokenException'])(
    "throws DynamoDB's %s unchanged",
    async (type) => {
      await expect(adder()(plantWith(faults.dynamoDbError(400, type)))).rejects.toMatchObject({ name: type });
    },
  );

  test("after a failed first attempt, returns 'created' if the retry stores the plant, and 'stored' if the retry finds it, because the first attempt may have stored it", async () => {
    expect(await adder()(plantWith(faults.onFirstCall(faults.loseResponse)))).toBe('stored');
    expect(await adder()(plantWith(faults.onFirstCall(faults.hang)))).toBe('created');
  });

  test.each([10, -10])(
    "calls the store twice for the first plant if the store's clock is %i minutes ahead, but only once for each later plant",
    async (minutes) => {
      const addPlant = adder();
      /** Adds a plant. @returns the number of calls to the store, and either the outcome or the class of the error */
      const outcomeOf = async (fault: Fault): Promise<[outcome: unknown, calls: number]> => {
        const id = newId();
        store.fail(id, fault);
        const outcome = await addPlant(newBody<NewPlant>(id)).catch((error) => error.constructor);
        return [outcome, store.calls(id)];
      };
      expect(await outcomeOf(faults.clockAhead(minutes))).toEqual(['created', 2]);
      expect(await outcomeOf(faults.clockAhead(minutes))).toEqual(['created', 1]);
      // When the store's clock is right again, the next call fails: the SDK still adds the old difference between the
      // clocks to the time in its signatures. It then corrects the difference, but does not retry this call.
      expect(await outcomeOf(faults.clockAhead(0))).toEqual([StoreUnavailable, 1]);
      expect(await outcomeOf(faults.clockAhead(0))).toEqual(['created', 1]);
    },
  );
});
