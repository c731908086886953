/**
 * Runs the function of an operation within the test process, from its source or from its bundle.
 * @example
 * const service = await startInProcess(() => import('../functions/create-order.lambda.ts'));
 * expect(await service.invoke(proxyEvent(bodyOf()))).toMatchObject({ status: 200, log: [{ level: 'info' }] });
 * @throws Error on loading, as the function does, if a variable is missing
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { parseJson, toJson } from '@lambda-service/client';
import { errors } from '@lambda-service/runtime/http';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { eventBody } from 'http-api-emulator/testing';
import { afterAll, beforeEach, expect, inject } from 'vitest';
import { expectInContract, operations } from './data/contract.ts';
import { proxyEvent } from './data/index.ts';
import { lambdaContext } from './events.ts';
import { secret, startFaultyStore } from './store/faulty-store.ts';
import { storeEnvironment } from './store/item-store.ts';
import type { FaultyService, ServiceRequest, ServiceResponse, ServiceUnderTest } from './suite/responses.ts';
import { startEventLoopClock } from './waiting.ts';

type Line = { level: string; value: unknown };

/**
 * Sends an event to the function. @returns the response, and the log line with its `outcome`. In the response's body, an
 * integer beyond ±(2^53 - 1) is a bigint.
 */
export type Invoke = (event: unknown) => Promise<ServiceResponse & { log: Line[] }>;

/** `send` and `faults` work only for the operation that adds an item; tests of other operations use `invoke`. */
type InProcess = ServiceUnderTest & { invoke: Invoke; faults: FaultyService };

type LambdaModule = { handler: unknown };
type Handler = (event: unknown, context: object) => Promise<APIGatewayProxyStructuredResultV2>;

/** Says what a function must log. The alarms, the dashboard and the runbook's queries read it. */
const needed = 'For each request, a function logs one line with `outcome`, `store` and `gatewayRequestId`';

/** The service must respond to every request within this many milliseconds, whatever the store does. */
const timeBound = 2_500;

/** All variables that the stack gives the functions of its routes. */
const routeVariables = (): Record<string, string> => {
  const { functions, api } = inject('stack');
  const names = api.routes.map(({ target }) => target?.functionName);
  return Object.assign({}, ...functions.filter(({ name }) => names.includes(name)).map((each) => each.environment));
};

/**
 * Loads a function into this process for one test file, with a new store and with the clock of waiting.ts. After the
 * file's tests, the store is closed.
 * @param load returns a new instance of the function at each call, as a cold start does
 */
export const startInProcess = async (load: () => Promise<LambdaModule>): Promise<InProcess> => {
  startEventLoopClock();
  // A response does not say why it is a 500.
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error('The function last logged:', ...lastLog)));
  const store = await startFaultyStore('items');
  afterAll(store.close);
  Object.assign(process.env, routeVariables(), storeEnvironment(store.endpoint));
  const invoke = invoker(await load());
  return {
    invoke,
    send: sender(invoke),
    read: store.read,
    faults: {
      ...store,
      start: async () => ({ send: sender(invoker(await load())) }),
    },
  };
};

/** Invokes the function with the event that the gateway would create from a request. */
const sender =
  (invoke: Invoke): ServiceUnderTest['send'] =>
  ({ body = '', contentType, contentEncoding }: ServiceRequest) => {
    const bytes = Buffer.from(body);
    const headers = {
      'content-type': contentType,
      'content-encoding': contentEncoding,
      'content-length': String(bytes.length),
    };
    const event = eventBody(bytes, contentType);
    return invoke(proxyEvent(event.body, { headers, isBase64Encoded: event.isBase64Encoded }));
  };

/** Invokes the function, and checks that it responds in time, follows the contract and logs the right line. */
export const invoker =
  ({ handler }: LambdaModule): Invoke =>
  async (event) => {
    // As in Lambda, each invocation gets a new event and a new context.
    const own: unknown = event === undefined ? undefined : JSON.parse(JSON.stringify(event));
    const log: Line[] = [];
    lastLog = log;
    const result = await logOf.run(log, () => inTime((handler as Handler)(own, { ...lambdaContext })));
    const { statusCode: status = 0, headers = {}, body: text = '' } = result;
    // No gateway would send an event for a route that the contract lacks.
    const operation = operations.find(({ routeKey }) => routeKey === Object(own).routeKey);
    expectInContract(status, String(headers['content-type']), text, operation?.routeKey);
    const declared = operation?.responses.find((each) => each.status === status)?.headers ?? [];
    expect(['content-type', ...declared], 'what schemas/openapi.yaml declares, and what the function sends').toEqual(
      expect.arrayContaining(Object.keys(headers)),
    );
    const body = parseJson(text);
    const gatewayRequestId = Object(own).requestContext?.requestId;
    // The function may log more, but one line says how the request ended.
    const ends = log.filter(({ value }) => 'outcome' in Object(value));
    const { store } = Object(ends[0]?.value);
    expect(ends, needed).toEqual([lineOf(status, Object(body).error, gatewayRequestId, store)]);
    expectStoreTime(store, status, Object(body).error);
    expect(toJson(log), 'what the function logs').not.toContain(secret);
    if (status >= 400) expect(text).not.toContain(secret);
    return { status, headers, body, log: ends };
  };

/**
 * Rejects if the response takes longer than `timeBound`. The bound is a timer of the same fake clock as the function's
 * timers, so that it fires in order with them.
 */
const inTime = <T>(response: Promise<T>): Promise<T> => {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`There is no response after ${timeBound} ms.`)), timeBound);
  return Promise.race([response, late.promise]).finally(() => clearTimeout(timer));
};

/**
 * Returns the line that the function must log for this response. After a success, it may say more, and `outcome` may be
 * any lower-case word that does not begin with `refused` or `failed`.
 */
const lineOf = (status: number, error: number | undefined, gatewayRequestId: unknown, store: unknown): Line => {
  const ofSuccess = expect.stringMatching(/^(?!refused|failed)[a-z]+$/);
  if (status < 400)
    return { level: 'info', value: expect.objectContaining({ outcome: ofSuccess, store, gatewayRequestId }) };
  if (status < 500) {
    const reason = expect.stringMatching(/./);
    return { level: 'info', value: { outcome: 'refused', error, reason, store, gatewayRequestId } };
  }
  const level = status === 503 ? 'warn' : 'error';
  const bundle = process.env['BUNDLE_SHA256'];
  return { level, value: { outcome: 'failed', error, cause: expect.any(Object), bundle, store, gatewayRequestId } };
};

/** The error numbers, such as 40001, of responses that the function sends without calling the store. */
const beforeStore: number[] = (['notJson', 'notValid', 'notJsonType', 'encoded', 'noTimeLeft'] as const).map(
  (name) => errors[name].error,
);

/**
 * Expects that the log line of a successful request says how long the store took, and that the log line of a request
 * without calls to the store does not.
 */
const expectStoreTime = (store: unknown, status: number, error: number): void => {
  if (status < 400) expect(store).toEqual({ milliseconds: expect.any(Number), attempts: expect.any(Number) });
  else if (beforeStore.includes(error)) expect(store).toBeUndefined();
};

/** What the function has logged for its last event. */
let lastLog: Line[] = [];

/** Keeps the log lines of concurrent requests apart. */
const logOf = new AsyncLocalStorage<Line[]>();

for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const) {
  const outside = console[level];
  console[level] = (...values: unknown[]) => {
    const log = logOf.getStore();
    if (log === undefined) outside(...values);
    else log.push({ level, value: values.length === 1 ? values[0] : values });
  };
}
