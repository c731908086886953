/** A DynamoDB emulator behind a proxy, which can inject faults into the calls for chosen plants. */
import { createServer, type ServerResponse } from 'node:http';
import { closeServer, listen } from '../../local/listen.ts';
import { type PlantsStore, startPlantsStore } from './plants-store.ts';
import { closedDuring, keepingIdle } from './servers.ts';

/**
 * A DynamoDB call that the faulty store, a proxy, receives: for one plant (PutItem, GetItem, DeleteItem, ...) or for no
 * particular one (Scan, Query).
 */
type Call = {
  response: ServerResponse;
  /**
   * The number of this call among all calls for its plant, counted from 1. Calls without a plant are counted together.
   */
  number: number;
  /**
   * The number of the SDK request to which this call belongs, counting the requests for the same plant from 1. A retry
   * by the SDK is a new call, but not a new request.
   */
  request: number;
  /** The time of the call's signature, by the sender's clock, in milliseconds since the epoch. */
  signedAt: number;
  /**
   * Passes the call on to the store.
   * @returns the store's response. The `Fault` that calls this function decides whether the SDK gets that response.
   */
  perform: () => Promise<StoreResponse>;
  /**
   * Adds to `performed` the outcome of a call that an injected fault answered instead of the store. Do not use it for a
   * call that `perform` passes on to the store: `perform` adds that outcome.
   */
  note: (response: Pick<StoreResponse, 'status' | 'body'>) => void;
};
type StoreResponse = { status: number; requestId: string; body: string };

/**
 * A call that DynamoDB performed or refused, even if the caller got no response. If `error` is not set, the call
 * succeeded.
 */
export type PerformedCall = { operation: string; status: number; error: string | undefined };

export type Fault = (call: Call) => unknown;

export type FaultyStore = PlantsStore & Faults;

export type Faults = {
  /**
   * Injects `fault` into all later calls for the plant with this id. Without `fault`, these calls succeed again. If
   * `id` is undefined, `fault` applies to calls for no particular plant, and for plants without a separate fault.
   */
  fail: (id: string | undefined, fault?: Fault) => void;
  /** Returns the number of calls for the plant with this id, or of all calls if `id` is undefined. */
  calls: (id?: string) => number;
  performed: PerformedCall[];
  refuseConnections: <T>(during: () => Promise<T>) => Promise<T>;
};

/** Starts the store with an empty table. Omit `tableName` if other code creates the table. */
export const startFaultyStore = async (tableName?: string): Promise<FaultyStore> => {
  const store = await startPlantsStore(tableName);
  const faults = new Map<string | undefined, Fault>();
  const calls = new Map<string | undefined, number>();
  const requests = new Map<string | undefined, Set<string>>();
  const performed: PerformedCall[] = [];

  const proxy = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const { host, connection, 'content-length': length, ...headers } = request.headers as Record<string, string>;
    const note: Call['note'] = (response) => {
      const operation = headers['x-amz-target']?.replace('DynamoDB_20120810.', '') ?? '';
      const error = response.status === 200 ? undefined : JSON.parse(response.body).__type?.replace(/^.*#/, '');
      performed.push({ operation, status: response.status, error });
    };
    const perform = async (): Promise<StoreResponse> => {
      const stored = await fetch(store.endpoint, { method: 'POST', headers, body });
      const requestId = stored.headers.get('x-amzn-requestid') ?? '';
      const answer = { status: stored.status, requestId, body: await stored.text() };
      note(answer);
      return answer;
    };
    const signedAt = readBasicDate(headers['x-amz-date'] ?? '');
    const { Item, Key } = JSON.parse(body.toString());
    const id: string | undefined = (Item ?? Key)?.id?.N;
    const number = (calls.get(id) ?? 0) + 1;
    calls.set(id, number);
    const known = requests.get(id) ?? new Set();
    requests.set(id, known.add(headers['amz-sdk-invocation-id'] ?? ''));
    const fault = faults.get(id) ?? faults.get(undefined) ?? pass;
    await fault({ response, number, request: known.size, signedAt, perform, note });
  });
  const port = await listen(keepingIdle(proxy), 0);

  return {
    ...store,
    endpoint: `http://127.0.0.1:${port}`,
    fail: (id, fault = pass) => faults.set(id, fault),
    calls: (id) => (id === undefined ? [...calls.values()].reduce((sum, each) => sum + each, 0) : (calls.get(id) ?? 0)),
    performed,
    refuseConnections: (during) => closedDuring(proxy, port, during),
    close: async () => {
      await closeServer(proxy);
      await store.close();
    },
  };
};

/** Parses a date such as 20261121T130509Z. @returns milliseconds since the epoch */
const readBasicDate = (text: string): number =>
  Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

const jsonType = { 'content-type': 'application/x-amz-json-1.0' };

/** Injects no fault: the call reaches the store and the caller gets the store's response. */
export const pass: Fault = async ({ response, perform }) => {
  const { status, requestId, body } = await perform();
  response.writeHead(status, { ...jsonType, 'x-amzn-requestid': requestId }).end(body);
};

/** Injects `fault` after a pause. If the caller gives up during the pause, the fault happens all the same. */
export const delayed =
  (milliseconds: number, fault: Fault): Fault =>
  async (call) => {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    await fault(call);
  };

/** Injects a slow response: performs the call at once, but sends the response late. */
export const delayResponse =
  (milliseconds: number): Fault =>
  async (call) => {
    const response = await call.perform();
    await delayed(milliseconds, pass)({ ...call, perform: async () => response });
  };

/**
 * Simulates a store whose clock is ahead. The store refuses a signature that is more than five minutes off this clock.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html
 */
export const clockAhead =
  (minutes: number): Fault =>
  async (call) => {
    const now = Date.now() + minutes * 60_000;
    call.response.setHeader('date', new Date(now).toUTCString());
    await (Math.abs(now - call.signedAt) > 5 * 60_000 ? dynamoDbError(400, 'InvalidSignatureException') : pass)(call);
  };

/**
 * Answers with a DynamoDB error instead of performing the call. The error's message must appear neither in
 * createPlant's response nor in its log.
 */
export const dynamoDbError =
  (status: number, type: string): Fault =>
  ({ response, note }) => {
    const body = JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: 'no secret Moss' });
    note({ status, body });
    response.writeHead(status, jsonType).end(body);
  };

export const hang: Fault = () => {};

export const hangUp: Fault = ({ response }) => response.destroy();

/** Sends a space every 100 ms and never ends the response. */
export const drip: Fault = ({ response }) => {
  response.writeHead(200, { ...jsonType, 'content-length': '1000' });
  const drops = setInterval(() => response.write(' '), 100);
  response.on('close', () => clearInterval(drops));
};

export const loseResponse: Fault = async ({ response, perform }) => {
  await perform();
  response.destroy();
};

/** Performs the call, then closes the connection in the middle of the response. */
export const truncateResponse: Fault = async ({ response, perform }) => {
  await perform();
  response.writeHead(200, { ...jsonType, 'content-length': '1000' });
  response.write('{"Attributes":{', () => response.destroy());
};

/** Performs the call, then returns invalid JSON with the word "secret", which must not reach the client or the log. */
export const corruptResponse: Fault = async ({ response, perform }) => {
  await perform();
  response.writeHead(200, jsonType).end('x\n    at secret');
};

/** Returns 200 with an empty object without performing the call, as a captive portal or a faulty proxy might. */
export const captivePortal: Fault = ({ response }) => response.writeHead(200, jsonType).end('{}');

export const sendNonHttp: Fault = ({ response }) => response.socket?.end('secret nonsense\r\n\r\n');

export const sendRetryAfter: Fault = ({ response }) => response.writeHead(503, { 'retry-after': '30' }).end('{}');

/** Injects `fault` only into the first call for each plant, so that a second call for the same plant succeeds. */
export const onFirstCall =
  (fault: Fault): Fault =>
  (call) =>
    (call.number === 1 ? fault : pass)(call);

/**
 * Injects `fault` into the first SDK request for each plant and into the SDK's retries of that request. Only a second
 * request for the plant can succeed, so the client must send the plant again.
 */
export const onFirstRequest =
  (fault: Fault): Fault =>
  (call) =>
    (call.request === 1 ? fault : pass)(call);
