import { Agent, type OutgoingHttpHeaders } from 'node:http';
import { type LookupFunction, Socket } from 'node:net';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { itemOf, newId, tableKey } from '@lambda-service/testing/data';
import * as faults from '@lambda-service/testing/store';
import { anyCredentials, type Fault, startFaultyStore } from '@lambda-service/testing/store';
import { startEventLoopClock } from '@lambda-service/testing/waiting';
import { afterAll, describe, expect, test } from 'vitest';
import { addItem, type Item, ItemConflict } from '../../dynamodb/add-item.ts';
import { type OngoingRequest, StoreUnavailable, storeLimits } from '../../dynamodb/call-store.ts';

startEventLoopClock();
const store = await startFaultyStore('items');
afterAll(store.close);

type StoreCalls = OngoingRequest['storeCalls'];

/** Returns an `addItem` with a new client, because a client that has met many faults makes no more retries. */
const adder = (config: DynamoDBClientConfig = {}) => {
  const client = new DynamoDBClient({ ...anyCredentials, ...storeLimits, endpoint: store.endpoint, ...config });
  return (item: Item, storeCalls: StoreCalls = []) =>
    addItem({ name: 'items', client }, tableKey.name, item, { signal: abortAfter(2_300), storeCalls });
};

/** Replaces AbortSignal.timeout, which would ignore the fake clock. */
const abortAfter = (milliseconds: number): AbortSignal => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), milliseconds);
  return controller.signal;
};

/** Returns a new item, and injects `fault` into all calls to the store that this item causes. */
const itemWith = (fault: Fault) => {
  const id = newId();
  store.fail(id, fault);
  return itemOf(id);
};

const respond =
  (status: number, body: string, headers: OutgoingHttpHeaders = {}): Fault =>
  ({ response }) =>
    response.writeHead(status, headers).end(body);

/** Breaks the connection after the headers of a response. */
const breakOff =
  (status: number): Fault =>
  ({ response }) => {
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0', 'content-length': '1000' });
    response.write('{"__type":"Acc', () => response.socket?.resetAndDestroy());
  };

/** Tests `callStore` by the outcomes and errors of `addItem`. The suite in packages/testing tests the responses. */
describe.concurrent('addItem', () => {
  test.each<[what: string, fault: Fault]>([
    ...[
      ...['ProvisionedThroughputExceededException', 'RequestLimitExceeded', 'Throttling', 'ThrottlingException'],
      ...['TransactionConflictException', 'ReplicatedWriteConflictException', 'LimitExceededException'],
      ...['RequestTimeoutException', 'InvalidSignatureException'],
    ].map((type): [string, Fault] => [`DynamoDB answers ${type}`, faults.dynamoDbError(400, type)]),
    ['the response is a 429', faults.dynamoDbError(429, 'Whatever')],
    ['the response has an unknown 5xx status', faults.dynamoDbError(599, 'Whatever')],
    ['a proxy responds with the status 502', respond(502, '<html>')],
    ['a proxy responds with the status 200', respond(200, '<html>')],
    ...[200, 302, 400, 403, 500].map((status): [string, Fault] => [
      `the connection breaks after the headers of a response with the status ${status}`,
      breakOff(status),
    ]),
    ...[
      ...['null', '[1]', '7', '"stored"', '{"Attributes":null}', '{"Attributes":7}', '{"Attributes":[]}'],
      ...['', '{"Attributes":{"tag":{"B":"!"}}}'],
    ].map((body): [string, Fault] => [
      `the response is 200 ${body}, which DynamoDB does not send, even with a request id`,
      respond(200, body, { 'x-amzn-requestid': 'R' }),
    ]),
    ['the response is a 201, even with a request id', respond(201, '{}', { 'x-amzn-requestid': 'R' })],
    ['the response is a 204, even with a request id', respond(204, '', { 'x-amzn-requestid': 'R' })],
  ])('throws StoreUnavailable if %s', async (_, fault) => {
    // Allow only one attempt: the SDK throws the error in the response only after the last attempt, and the deadline
    // might end the call before that.
    await expect(adder({ maxAttempts: 1 })(itemWith(fault))).rejects.toBeInstanceOf(StoreUnavailable);
  });

  test.each<[name: string, fault: Fault]>([
    ...['ResourceNotFoundException', 'AccessDeniedException', 'ValidationException', 'ExpiredTokenException'].map(
      (type): [string, Fault] => [type, faults.dynamoDbError(400, type)],
    ),
    ['SyntaxError', respond(403, '<html>')],
    ['SyntaxError', respond(302, '<html>')],
  ])("throws the SDK's %s unchanged, which is not temporary", async (name, fault) => {
    await expect(adder()(itemWith(fault))).rejects.toMatchObject({ name });
  });

  /**
   * Adds an item while each connection fails with the error code `code`. @returns the connection's error, the number of
   * attempts, and the error that adding the item throws
   */
  const addWithout = async (code: string) => {
    const fault = Object.assign(new Error(code), { code });
    let attempts = 0;
    const handle = () => {
      attempts += 1;
      return Promise.reject(fault);
    };
    const requestHandler = { handle, updateHttpClientConfig: () => {}, httpHandlerConfigs: () => ({}) };
    const thrown = await adder({ requestHandler })(itemOf(newId())).catch((error) => error);
    return { fault, attempts, thrown };
  };

  test.each([
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EADDRNOTAVAIL', 'EHOSTDOWN', 'ENETDOWN', 'ENETRESET'],
    ...['EPROTO', 'EHOSTUNREACH', 'ENETUNREACH', 'ENONET', 'ECONNABORTED', 'ECANCELED', 'ENOTCONN', 'ESHUTDOWN', 'EOF'],
    ...['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'ERR_TLS_HANDSHAKE_TIMEOUT'],
    ...['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ERR_SOCKET_CLOSED', 'ERR_SOCKET_CONNECTION_TIMEOUT'],
    'HPE_HEADER_OVERFLOW',
    // The name did not resolve: getaddrinfo's codes, then c-ares's.
    ...['ENOTFOUND', 'EAI_ADDRFAMILY', 'EAI_AGAIN', 'EAI_CANCELED', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME'],
    'EAI_SYSTEM',
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
    const add = adder({ endpoint: store.endpoint.replace('127.0.0.1', 'store.example'), requestHandler });
    expect(await add(itemOf(newId()))).toBe('created');
  });

  test('throws StoreUnavailable if the store does not speak TLS', async () => {
    const endpoint = store.endpoint.replace('http:', 'https:');
    const error = await adder({ endpoint, maxAttempts: 1 })(itemOf(newId())).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(error.cause.code).toMatch(/^ERR_SSL_|^EPROTO$/);
  });

  test('makes no more retries after many calls have failed in a row, until calls succeed again', async () => {
    const add = adder();
    const callsFor = async (fault: Fault): Promise<number> => {
      const id = newId();
      store.fail(id, fault);
      await add(itemOf(id)).catch(() => undefined);
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
    const add = adder({ requestHandler: { ...storeLimits.requestHandler, httpAgent } });
    const error = await add(itemOf(newId())).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailable);
    // The cause is that connecting timed out, not that the deadline aborted the call (AbortError) or that a request
    // timed out.
    expect(error.cause).toMatchObject({ name: 'TimeoutError', message: expect.stringContaining('connection') });
    expect(sockets.length, 'connections').toBe(3);
  });

  test.each<[after: string, fault: Fault, attempts: number]>([
    ['success', faults.pass, 1],
    ['two failed attempts', (call) => (call.number < 3 ? faults.hangUp : faults.pass)(call), 3],
    ['a response that is not from DynamoDB', faults.captivePortal, 1],
    ['an error that is not temporary', faults.dynamoDbError(400, 'AccessDeniedException'), 1],
    ['three errors', faults.dynamoDbError(500, 'InternalServerError'), 3],
  ])(
    'records when its call to DynamoDB began and ended, and how many attempts it took, after %s',
    async (_, fault, attempts) => {
      const storeCalls: StoreCalls = [];
      const before = performance.now();
      await adder()(itemWith(fault), storeCalls).catch(() => undefined);
      const [{ startedAt = 0, endedAt = 0 } = {}] = storeCalls;
      expect(storeCalls).toEqual([{ startedAt, endedAt, attempts }]);
      expect(startedAt).toBeGreaterThanOrEqual(before);
      expect(endedAt).toBeGreaterThanOrEqual(startedAt);
    },
  );

  test.each<[ids: string, id: string | string[] | undefined, isFromDynamoDB: boolean]>([
    ['no request id', undefined, false],
    ['an empty one', '', false],
    ['a blank one', ' \t', false],
    ['two', ['R1', 'R2'], false],
    ['two empty ones', ['', ''], false],
    ['a placeholder for one', '-', false],
    ['one with other characters', '<none>', false],
    ["one of DynamoDB's", 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEFGHIJKLMNOP', true],
    ["an emulator's", '0b8d3c1e-7a54-4f0e-9b1d-2f6c5f0d7a11', true],
  ])('counts a response with %s as one from DynamoDB: %j %j', async (_, requestId, isFromDynamoDB) => {
    const outcomeOf = (fault: Fault) =>
      adder()(
        itemWith((call) => {
          if (requestId !== undefined) call.response.setHeader('x-amzn-requestid', requestId);
          return fault(call);
        }),
      ).catch((error) => error);
    const notDynamoDB = new StoreUnavailable('The response is not from DynamoDB');
    expect(await outcomeOf(faults.captivePortal)).toEqual(isFromDynamoDB ? 'created' : notDynamoDB);
    const conflict = await outcomeOf(faults.dynamoDbError(400, 'ConditionalCheckFailedException'));
    expect(conflict).toEqual(isFromDynamoDB ? new ItemConflict() : notDynamoDB);
  });

  test("throws the SDK's error unchanged if the credentials are missing", async () => {
    const none = Object.assign(new Error('none'), { name: 'CredentialsProviderError' });
    await expect(adder({ credentials: () => Promise.reject(none) })(itemOf(newId()))).rejects.toBe(none);
  });

  test("after a failed first attempt, returns 'created' if the retry stores the item, and 'stored' if the retry finds it, because the first attempt may have stored it", async () => {
    expect(await adder()(itemWith(faults.onFirstCall(faults.loseResponse)))).toBe('stored');
    expect(await adder()(itemWith(faults.onFirstCall(faults.hang)))).toBe('created');
  });

  test.each([10, -10])(
    "calls the store twice for the first item if the store's clock is %i minutes ahead, but only once for each later item",
    async (minutes) => {
      const add = adder();
      /** Adds an item. @returns the number of calls to the store, and either the outcome or the class of the error */
      const outcomeOf = async (fault: Fault): Promise<[outcome: unknown, calls: number]> => {
        const id = newId();
        store.fail(id, fault);
        const outcome = await add(itemOf(id)).catch((error) => error.constructor);
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
