/** Sends many requests to one warm instance of each function, which must not leak memory, handles or listeners. */
import { createServer } from 'node:http';
import type { HeapSpaceInfo } from 'node:v8';
import { expect, onTestFinished, test } from 'vitest';
import { bodyOf, createRoute, invalidBody, isAllowed, newId, proxyEvent, tableKey, withText } from '../data/index.ts';
import { authorizerEvent } from '../events.ts';
import { startServer } from '../servers/index.ts';
import { sign } from '../tokens.ts';
import {
  claims,
  type FunctionName,
  type Handler,
  progress,
  report,
  startTrialStack,
  type TrialStack,
  trialSize,
} from '../trial/index.ts';
import { retryWhile } from '../waiting.ts';
import { part } from './part.ts';

export const testEndurance = part('endurance', async () => {
  /** The resources that a function could leak, measured after a garbage collection. Memory is in bytes. */
  type Holdings = { heap: number; buffers: number; handles: Record<string, number>; listeners: number };

  /** Wraps a handler so that, for the event 'holdings', it returns the resources that the function's instance holds. */
  const open =
    (handler: Handler): Handler =>
    (event, context) => {
      if (event !== 'holdings') return handler(event, context);
      const v8 = require('node:v8');
      v8.setFlagsFromString('--expose-gc');
      const collectGarbage = require('node:vm').runInNewContext('gc');
      collectGarbage();
      collectGarbage();
      const handles: Record<string, number> = {};
      for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1;
      const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
      const { arrayBuffers } = process.memoryUsage();
      // Leave out compiled code, which grows with every function that V8 finds worth optimizing.
      const objects = v8
        .getHeapSpaceStatistics()
        .filter((each: HeapSpaceInfo) => !/code|trusted/.test(each.space_name));
      const heap = objects.reduce((sum: number, each: HeapSpaceInfo) => sum + each.space_used_size, 0);
      return { heap, buffers: arrayBuffers, handles, listeners };
    };

  const requests = trialSize(200_000, 400);
  /**
   * The number of requests before the first measurement. These requests let V8 compile the code, and fill the caches.
   */
  const warmUp = trialSize(20_000, 600);

  /** By how many bytes memory may grow: a leak of 6 bytes per request is more, in the short trial one of 650 bytes. */
  const tolerance = trialSize(1024, 256) * 1024;

  /**
   * Warms up an instance of the Lambda function that `which` names, then calls `ask` for each request. Expects that the
   * instance then holds no more than after the warm-up.
   */
  const endure = async (which: FunctionName, stack: TrialStack, ask: (turn: number) => Promise<void>) => {
    const holdings = async (): Promise<Holdings> => {
      const outcome = await stack.invoke(which, 'holdings');
      if (!('result' in outcome)) throw new Error(outcome.failure);
      return JSON.parse(outcome.result);
    };
    const tick = progress(which, requests);
    for (let turn = 0; turn < warmUp; turn += 1) await ask(turn);
    const before = await holdings();
    for (let turn = 0; turn < requests; turn += 1) {
      await ask(turn);
      tick();
    }
    const after = await holdings();
    report(`${which}, ${requests} requests: ${JSON.stringify(before)} before, ${JSON.stringify(after)} after`);
    expect(after.heap - before.heap, 'bytes of heap more').toBeLessThan(tolerance);
    expect(after.buffers - before.buffers, 'bytes of buffers more').toBeLessThan(tolerance);
    expect(after.handles, 'handles').toEqual(before.handles);
    expect(after.listeners, 'listeners').toBe(before.listeners);
  };

  test(`${createRoute} leaks no memory, handle or listener in ${requests} requests`, async () => {
    const [taken, lost] = [newId(), newId()];
    // A store that responds at once. The id of the item selects the response of the store.
    const store = createServer(async (request, response) => {
      const call = Buffer.concat(await request.toArray()).toString();
      if (call.includes(`"${lost}"`)) response.destroy();
      const __type = 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException';
      const [status, body] = call.includes(`"${taken}"`) ? [400, { __type }] : [200, {}];
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': 'A1' });
      response.end(JSON.stringify(body));
    });
    const stack = await startTrialStack(`http://127.0.0.1:${await startServer(store)}`, {
      operations: { wrapper: open },
    });
    onTestFinished(stack.close);
    /**
     * Unusual requests by position, each with its body and the expected status. The keys 1 to 5 are positions in every
     * hundred requests. Once in every thousand requests, the key 201 applies instead of the key 1.
     */
    const id = newId();
    const large = withText('x'.repeat(10_000));
    const bodies: Record<number, [body: string, status: number]> = {
      1: [bodyOf(taken), 409],
      2: [invalidBody, 400],
      3: [bodyOf().slice(0, -1), 400],
      ...(tableKey.type === 'N' && { 4: [bodyOf(id).replace(id, `${id}.0`), 200] }),
      ...(isAllowed(large) && { 5: [bodyOf(id, large), 200] }),
      201: [bodyOf(lost), 503],
    };
    await endure(createRoute, stack, async (turn) => {
      const [body, status] = bodies[turn % 1_000] ?? bodies[turn % 100] ?? [bodyOf(), 200];
      const statusOf = async () => {
        const outcome = await stack.invoke(createRoute, proxyEvent(body));
        return 'result' in outcome && JSON.parse(outcome.result).statusCode;
      };
      expect(await retryWhile(statusOf, (code) => code !== status && code === 503), 'status').toBe(status);
    });
  });

  test(`the authorizer leaks no memory, handle or listener in ${requests} requests`, async () => {
    const stack = await startTrialStack('http://127.0.0.1:9', { authorizer: { wrapper: open } });
    onTestFinished(stack.close);
    const { issuer, key } = stack.issuer;
    const scarce: Record<number, string> = {
      1: await sign(key, claims({ iss: issuer, scope: 'other/read' })),
      2: await sign(key, claims({ iss: `${issuer}/` })),
      3: stack.token.replace(/.{9}$/, 'AAAAAAAAA'),
      4: await sign(key, claims({ iss: issuer }), { kid: 'unknown' }),
      5: 'a.b.c',
    };
    await endure('authorizer', stack, async (turn) => {
      const token = scarce[turn % 10];
      const outcome = await stack.invoke('authorizer', authorizerEvent(`Bearer ${token ?? stack.token}`, createRoute));
      expect('result' in outcome && JSON.parse(outcome.result).isAuthorized, 'isAuthorized').toBe(token === undefined);
    });
  });
});
