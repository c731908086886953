/** A store behind a proxy that does wrong to the calls for chosen plants. */
import { createServer, type ServerResponse } from 'node:http';
import { leave, listen } from '../../local/listen.ts';
import { type PlantsStore, startPlantsStore } from './plants-store.ts';

/** One PutItem at the proxy. */
type Call = {
  response: ServerResponse;
  /** 1 for the first call for this plant. */
  number: number;
  /** 1 for the calls of the first request for this plant: the SDK may make several for one. */
  request: number;
  /** When its sender's clock says that it was signed, in milliseconds since the epoch. */
  signedAt: number;
  /** Puts the item into the store. @returns the store's answer, which the caller has not got yet */
  put: () => Promise<StoreAnswer>;
};
type StoreAnswer = { status: number; requestId: string; body: string };

export type Fault = (call: Call) => unknown;

export type FaultyStore = PlantsStore & Faults;

export type Faults = {
  /** From now on does `fault` to every call that puts a plant with this id; no fault without one. */
  fail: (id: string, fault?: Fault) => void;
  /** How often a plant with this id was put, or any plant. */
  calls: (id?: string) => number;
  /** Refuses connections while `during` runs. */
  gone: <T>(during: () => Promise<T>) => Promise<T>;
};

/** `tableName` is left out where somebody else makes the table. */
export const startFaultyStore = async (tableName?: string): Promise<FaultyStore> => {
  const store = await startPlantsStore(tableName);
  const faults = new Map<string, Fault>();
  const calls = new Map<string, number>();
  const requests = new Map<string, Set<string>>();

  const proxy = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const { host, connection, 'content-length': length, ...headers } = request.headers as Record<string, string>;
    const put = async (): Promise<StoreAnswer> => {
      const answer = await fetch(store.endpoint, { method: 'POST', headers, body });
      const requestId = answer.headers.get('x-amzn-requestid') ?? '';
      return { status: answer.status, requestId, body: await answer.text() };
    };
    const signedAt = readBasicDate(headers['x-amz-date'] ?? '');
    if (!headers['x-amz-target']?.endsWith('.PutItem')) {
      await pass({ response, number: 1, request: 1, signedAt, put });
      return;
    }
    const id: string = JSON.parse(body.toString()).Item.id.N;
    const number = (calls.get(id) ?? 0) + 1;
    calls.set(id, number);
    const known = requests.get(id) ?? new Set();
    requests.set(id, known.add(headers['amz-sdk-invocation-id'] ?? ''));
    await (faults.get(id) ?? pass)({ response, number, request: known.size, signedAt, put });
  });
  const port = await listen(proxy, 0);

  return {
    ...store,
    endpoint: `http://127.0.0.1:${port}`,
    fail: (id, fault = pass) => faults.set(id, fault),
    calls: (id) => (id === undefined ? [...calls.values()].reduce((sum, each) => sum + each, 0) : (calls.get(id) ?? 0)),
    gone: async (during) => {
      await leave(proxy);
      try {
        return await during();
      } finally {
        await listen(proxy, port);
      }
    },
    close: async () => {
      await leave(proxy);
      await store.close();
    },
  };
};

/** 20261121T130509Z */
const readBasicDate = (text: string): number =>
  Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

const jsonType = { 'content-type': 'application/x-amz-json-1.0' };

/** No fault. */
export const pass: Fault = async ({ response, put }) => {
  const { status, requestId, body } = await put();
  response.writeHead(status, { ...jsonType, 'x-amzn-requestid': requestId }).end(body);
};

/** Waits before `fault`, whether or not the caller does. */
export const later =
  (milliseconds: number, fault: Fault): Fault =>
  async (call) => {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    await fault(call);
  };

/** Puts the item, and lets the caller wait for the answer. */
export const answerLate =
  (milliseconds: number): Fault =>
  async (call) => {
    const answered = await call.put();
    await later(milliseconds, pass)({ ...call, put: async () => answered });
  };

/**
 * Has a clock that is ahead, and takes no signature that is more than five minutes off by it.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html
 */
export const clockAhead =
  (minutes: number): Fault =>
  async (call) => {
    const now = Date.now() + minutes * 60_000;
    call.response.setHeader('date', new Date(now).toUTCString());
    await (Math.abs(now - call.signedAt) > 5 * 60_000 ? answer(400, 'InvalidSignatureException') : pass)(call);
  };

/** Answers an error of DynamoDB's, with a message that must not be passed on, and puts nothing. */
export const answer =
  (status: number, type: string): Fault =>
  ({ response }) =>
    response
      .writeHead(status, jsonType)
      .end(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: 'no secret Moss' }));

export const hang: Fault = () => {};

export const hangUp: Fault = ({ response }) => response.destroy();

/** A space every 100 ms, and no end. */
export const drip: Fault = ({ response }) => {
  response.writeHead(200, { ...jsonType, 'content-length': '1000' });
  const drops = setInterval(() => response.write(' '), 100);
  response.on('close', () => clearInterval(drops));
};

export const loseAnswer: Fault = async ({ response, put }) => {
  await put();
  response.destroy();
};

/** Puts the item, then breaks the connection after half of a long answer. */
export const cutAnswer: Fault = async ({ response, put }) => {
  await put();
  response.writeHead(200, { ...jsonType, 'content-length': '1000' });
  response.write('{"Attributes":{', () => response.destroy());
};

/** Puts the item, then answers nonsense in which the item stands. */
export const garbleAnswer: Fault = async ({ response, put }) => {
  await put();
  response.writeHead(200, jsonType).end('x\n    at secret');
};

/** What a captive portal may do. */
export const answerForDynamo: Fault = ({ response }) => response.writeHead(200, jsonType).end('{}');

export const talkNonsense: Fault = ({ response }) => response.socket?.end('secret nonsense\r\n\r\n');

export const askForPatience: Fault = ({ response }) => response.writeHead(503, { 'retry-after': '30' }).end('{}');

/** Only the first call goes wrong. */
export const atFirst =
  (fault: Fault): Fault =>
  (call) =>
    (call.number === 1 ? fault : pass)(call);

/** Only the first request goes wrong, with all its calls: the service answers it, and it has to be sent again. */
export const atFirstRequest =
  (fault: Fault): Fault =>
  (call) =>
    (call.request === 1 ? fault : pass)(call);
