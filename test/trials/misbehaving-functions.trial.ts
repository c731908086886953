/** Tests that the gateway responds as AWS documents if a function misbehaves, and then serves the next request. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPlantRoute } from '../kit/gateway-events.ts';
import { isUnavailable, retryWhile } from '../kit/over-quota.ts';
import { type PlantsStore, startPlantsStore } from '../kit/plants-store.ts';
import { newId } from '../kit/responses.ts';
import { report } from '../kit/scale.ts';
import { type FunctionName, type Handler, longTimeout, startTrialStack, type TrialStack } from '../kit/trial-stack.ts';

/**
 * Wraps a handler so that it misbehaves as the header x-authorizer or x-function says. Without that header, it works as
 * usual.
 */
const misbehaving =
  (handler: Handler): Handler =>
  async (event: { headers: Record<string, string>; type?: string }, context) => {
    const misbehaviour = event.headers[event.type === 'REQUEST' ? 'x-authorizer' : 'x-function'];
    switch (misbehaviour) {
      case 'throws':
        throw new TypeError('oops');
      case 'throws a value that is not an Error':
        throw 7;
      case 'exits':
        return process.exit(0);
      case 'never answers':
        return new Promise(() => {});
      case 'loops for ever':
        for (;;);
      case 'throws outside its handler':
        setTimeout(() => {
          throw new Error('late');
        });
        return new Promise(() => {});
      case 'leaves a timer behind':
        setInterval(() => {}, 1);
        break;
      case 'closes its message ports':
        require('node:worker_threads').parentPort.close();
        break;
      case undefined:
        break;
      default:
        // Any value of the header x-authorizer or x-function that is none of the names above is a JavaScript expression
        // for the result that the function returns.
        return require('node:vm').runInThisContext(`(${misbehaviour})`);
    }
    return handler(event as never, context);
  };

let store: PlantsStore;
let stack: TrialStack;
beforeAll(async () => {
  store = await startPlantsStore('plants');
  stack = await startTrialStack(store.endpoint, {
    operations: { wrapper: misbehaving },
    authorizer: { wrapper: misbehaving },
  });
});
afterAll(async () => {
  await stack.close();
  await store.close();
});

const post = (headers?: Record<string, string>) =>
  retryWhile(
    () => postOnce(headers),
    ([status]) => isUnavailable(status),
  );

const hanging = new Set(['never answers', 'loops for ever', 'closes its message ports']);

/** Posts a plant while a function misbehaves. A function that hangs has a time-out of 400 ms, so the test is short. */
const misbehave = async (which: FunctionName, misbehaviour: string, headers: Record<string, string>) => {
  if (hanging.has(misbehaviour)) stack.setFunctionTimeout(which, 400);
  const answer = await post(headers);
  stack.setFunctionTimeout(which, longTimeout);
  return answer;
};

const postOnce = async (headers: Record<string, string> = {}): Promise<[status: number, body: string]> => {
  const response = await fetch(`${stack.url}/plants`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.token}`, 'content-type': 'application/json', ...headers },
    body: `{"id":${newId()},"name":"Moss"}`,
  });
  return [response.status, await response.text()];
};

const served: [number, string] = [200, '{"name":"Moss"}'];
const failed: [number, string] = [500, '{"message":"Internal Server Error"}'];

/**
 * Misbehaviours, each with the response that the gateway must give. They are tested with both functions, one at a time.
 * A misbehaviour is a name from `misbehaving`, or a JavaScript expression for the result that the function returns.
 */
const misbehaviours: [misbehaviour: string, answer: [number, string]][] = [
  ['throws', failed],
  ['throws a value that is not an Error', failed],
  ['exits', failed],
  ['never answers', failed],
  ['loops for ever', failed],
  ['throws outside its handler', failed],
  ['leaves a timer behind', served],
  ['closes its message ports', failed],
  ['{ statusCode: 200, isAuthorized: true, body: 7n }', failed],
  ['(() => { const loop = { statusCode: 200, isAuthorized: true }; return (loop.body = loop) })()', failed],
];

test.each<[misbehaviour: string, answer: [number, string]]>([
  ...misbehaviours,
  ['{ statusCode: "x" }', failed],
  ['{ statusCode: 42 }', failed],
  ['{ statusCode: 200.5 }', failed],
  ['{ statusCode: 200, body: {} }', failed],
  ['{ statusCode: 200, headers: "x" }', failed],
  ['{ statusCode: 200, headers: { "a b": 1 } }', failed],
  ['{ statusCode: 200, cookies: 1 }', failed],
  ['{ statusCode: 200, body: "x".repeat(7e6) }', failed],
  // If a result has no statusCode, API Gateway responds with 200 and the result as JSON.
  ['undefined', [200, 'null']],
  ['"rubbish"', [200, '"rubbish"']],
  ['{ name: "rubbish" }', [200, '{"name":"rubbish"}']],
])('the gateway responds like AWS and recovers if an operation misbehaves: %s', async (misbehaviour, answer) => {
  expect(await misbehave(createPlantRoute, misbehaviour, { 'x-function': misbehaviour })).toEqual(answer);
  expect(await post()).toEqual(served);
  report(`${createPlantRoute}: ${misbehaviour}: ${answer[0]}, the next: 200`);
});

test.each<[misbehaviour: string, answer: [number, string]]>([
  ...misbehaviours,
  ['undefined', failed],
  ['null', failed],
  ['"rubbish"', failed],
  ['[]', failed],
  ['{}', failed],
  ['{ isAuthorized: 1 }', failed],
  ['{ isAuthorized: "true" }', failed],
  ['{ isAuthorized: [true] }', failed],
  ['{ isAuthorized: true, context: "rubbish" }', failed],
  ['{ isAuthorized: true, context: null }', failed],
  ['{ principalId: "me", policyDocument: { Statement: [{ Effect: "Allow" }] } }', failed],
])('the gateway responds like AWS and recovers if the authorizer misbehaves: %s', async (misbehaviour, answer) => {
  expect(await misbehave('authorizer', misbehaviour, { 'x-authorizer': misbehaviour })).toEqual(answer);
  expect(await post()).toEqual(served);
  report(`authorizer: ${misbehaviour}: ${answer[0]}, the next: 200`);
});
