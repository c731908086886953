/** createPlant, from its source or its bundle, in the process of the test. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { expect } from 'vitest';
import { eventBody } from '../../local/gateway-event.ts';
import type { FaultyService, PlantAnswer, PlantRequest, PlantService } from './answers.ts';
import { expectInContract } from './contract.ts';
import { startEventLoopClock } from './event-loop-clock.ts';
import { startFaultyStore } from './faulty-store.ts';
import { lambdaContext, proxyEvent } from './gateway-events.ts';

/** A line of the log: the level, and what the function logged. */
export type Line = { level: string; entry: unknown };

/** Sends an event to a function. @returns the answer, and the lines logged meanwhile */
export type Invoke = (event: unknown) => Promise<PlantAnswer & { log: Line[] }>;

export type InProcess = PlantService & { invoke: Invoke; faults: FaultyService; close: () => Promise<void> };

type LambdaModule = { handler: unknown };
type Handler = (event: unknown, context: object) => Promise<APIGatewayProxyStructuredResultV2>;

/** Milliseconds within which every request is answered, whatever the store does. */
const timeBound = 2_500;

/**
 * Loads the function into this process, for as long as the test file runs, with a store and a clock of its own.
 * @param load gives a new instance at each call, as a cold start does
 */
export const startInProcess = async (load: () => Promise<LambdaModule>): Promise<InProcess> => {
  startEventLoopClock();
  const store = await startFaultyStore('plants');
  Object.assign(process.env, {
    TABLE_NAME: 'plants',
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL_DYNAMODB: store.endpoint,
  });
  const invoke = invoker(await load());
  return {
    invoke,
    send: sender(invoke),
    read: store.read,
    faults: {
      ...store,
      start: async () => ({ send: sender(invoker(await load())), hasAllRetries: true }),
    },
    close: store.close,
  };
};

/** As the gateway hands a request over. */
const sender =
  (invoke: Invoke): PlantService['send'] =>
  ({ body = '', contentType, contentEncoding, isChunked }: PlantRequest) => {
    const bytes = Buffer.from(body);
    const headers = {
      'content-type': contentType,
      'content-encoding': contentEncoding,
      ...(!isChunked && { 'content-length': String(bytes.length) }),
    };
    const event = eventBody(bytes, contentType);
    return invoke(proxyEvent(event.body, { headers, isBase64Encoded: event.isBase64Encoded }));
  };

/** Holds every answer against the contract and the time bound, and the log against the answer. */
export const invoker =
  ({ handler }: LambdaModule): Invoke =>
  async (event) => {
    // Each invocation gets an event and a context of its own, as from Lambda.
    const own: unknown = event === undefined ? undefined : JSON.parse(JSON.stringify(event));
    const log: Line[] = [];
    const result = await logOf.run(log, () => inTime((handler as Handler)(own, { ...lambdaContext })));
    const { statusCode: status = 0, headers = {}, body: text = '' } = result;
    expectInContract(status, String(headers['content-type']), text);
    const body = JSON.parse(text);
    expect(log).toEqual([lineOf(status, body.error)]);
    expect(JSON.stringify(log)).not.toContain('secret');
    if (status !== 200) expect(text).not.toContain('secret');
    return { status, headers, body, log };
  };

/** By the clock of the function's own timers: what is due first comes first. */
const inTime = <T>(answer: Promise<T>): Promise<T> => {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`There is no answer after ${timeBound} ms.`)), timeBound);
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
};

/** What the log must say of an answer. */
const lineOf = (status: number, error: number | undefined): Line => {
  if (status === 200)
    return { level: 'info', entry: { outcome: expect.stringMatching(/^(created|repeated|stored)$/) } };
  if (status < 500) return { level: 'info', entry: { outcome: 'refused', error } };
  const level = status === 503 ? 'warn' : 'error';
  return { level, entry: { outcome: 'failed', error, cause: expect.any(Object) } };
};

/** The lines of the request under way, for requests that run side by side. */
const logOf = new AsyncLocalStorage<Line[]>();

for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const) {
  const outside = console[level];
  console[level] = (...values: unknown[]) => {
    const log = logOf.getStore();
    if (log === undefined) outside(...values);
    else log.push({ level, entry: values.length === 1 ? values[0] : values });
  };
}
