/** A DynamoDB emulator behind a proxy, which can inject faults into the calls for chosen items. */
import { createServer, type ServerResponse } from 'node:http';
import { closeServer, listen } from 'http-api-emulator/servers';
import { tableKey } from '../data/example.ts';
import { closedDuring, keepingIdle } from '../servers/servers.ts';
import { type ItemStore, startItemStore } from './item-store.ts';

/**
 * A DynamoDB call that the faulty store, a proxy, receives: for one item (PutItem, GetItem, DeleteItem, ...) or for no
 * particular one (Scan, Query).
 */
type Call = {
  response: ServerResponse;
  /**
   * The number of this call among all calls for its item, counted from 1. Calls without an item are counted together.
   */
  number: number;
  /** The time of the call's signature, by the sender's clock, in milliseconds since the epoch. */
  signedAt: number;
  /** Passes the call on to the store. The fault decides whether the SDK gets the store's response. */
  perform: () => Promise<StoreResponse>;
};
type StoreResponse = { status: number; requestId: string; body: string };

export type Fault = (call: Call) => unknown;

export type FaultyStore = ItemStore & Faults;

export type Faults = {
  /**
   * Injects `fault` into all later calls for the item with this id. Without `fault`, these calls succeed again. If
   * `id` is undefined, `fault` applies to calls for no particular item, and for items without a separate fault.
   */
  fail: (id: string | undefined, fault?: Fault) => void;
  /** Returns the number of calls for the item with this id, or of all calls if `id` is undefined. */
  calls: (id?: string) => number;
  refuseConnections: <T>(during: () => Promise<T>) => Promise<T>;
};

/** Starts the store with an empty table. Omit `tableName` if other code creates the table. */
export const startFaultyStore = async (tableName?: string): Promise<FaultyStore> => {
  const store = await startItemStore(tableName);
  const faults = new Map<string | undefined, Fault>();
  const calls = new Map<string | undefined, number>();
  let isClosed = false;

  const proxy = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const { host, connection, 'content-length': length, ...headers } = request.headers as Record<string, string>;
    const perform = async (): Promise<StoreResponse> => {
      const stored = await fetch(store.endpoint, { method: 'POST', headers, body });
      const requestId = stored.headers.get('x-amzn-requestid') ?? '';
      return { status: stored.status, requestId, body: await stored.text() };
    };
    const signedAt = readBasicDate(headers['x-amz-date'] ?? '');
    const { Item, Key } = JSON.parse(body.toString());
    const [id] = Object.values<string>((Item ?? Key)?.[tableKey.name] ?? {});
    const number = (calls.get(id) ?? 0) + 1;
    calls.set(id, number);
    const fault = faults.get(id) ?? faults.get(undefined) ?? pass;
    try {
      await fault({ response, number, signedAt, perform });
    } catch (error) {
      // A call may outlive its caller, or the store.
      if (!response.destroyed && !isClosed) throw error;
    }
  });
  const port = await listen(keepingIdle(proxy), 0);

  return {
    ...store,
    endpoint: `http://127.0.0.1:${port}`,
    fail: (id, fault = pass) => faults.set(id, fault),
    calls: (id) => (id === undefined ? [...calls.values()].reduce((sum, each) => sum + each, 0) : (calls.get(id) ?? 0)),
    refuseConnections: (during) => closedDuring(proxy, port, during),
    close: async () => {
      isClosed = true;
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

/** A text of clients and of the store, which neither an error response nor a log line may contain. */
export const secret = 'top secret';

/** Answers with a DynamoDB error instead of performing the call. */
export const dynamoDbError =
  (status: number, type: string): Fault =>
  ({ response }) => {
    const body = JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: secret });
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

/** Performs the call, then returns invalid JSON with `secret`. */
export const corruptResponse: Fault = async ({ response, perform }) => {
  await perform();
  response.writeHead(200, jsonType).end(`x\n    at ${secret}`);
};

/** Returns 200 with an empty object without performing the call, as a captive portal or a faulty proxy might. */
export const captivePortal: Fault = ({ response }) => response.writeHead(200, jsonType).end('{}');

export const sendNonHttp: Fault = ({ response }) => response.socket?.end(`${secret} nonsense\r\n\r\n`);

export const sendRetryAfter: Fault = ({ response }) => response.writeHead(503, { 'retry-after': '30' }).end('{}');

/** Injects `fault` only into the first call for each item, so that a second call for the same item succeeds. */
export const onFirstCall =
  (fault: Fault): Fault =>
  (call) =>
    (call.number === 1 ? fault : pass)(call);
