/** Tests that the gateway responds as AWS documents if a function misbehaves, and then serves the next request. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPlantRoute } from '../kit/gateway-events.ts';
import { misbehaving } from '../kit/misbehaving.ts';
import { type PlantsStore, startPlantsStore } from '../kit/plants-store.ts';
import { newId } from '../kit/responses.ts';
import { longTimeout, startTrialStack, type TrialStack } from '../kit/trial-stack.ts';
import { isUnavailable, retryWhile } from '../kit/waiting.ts';

let store: PlantsStore;
let stack: TrialStack;
beforeAll(async () => {
  store = await startPlantsStore('plants');
  const wrapper = misbehaving;
  stack = await startTrialStack(store.endpoint, { authorizer: { wrapper }, operations: { wrapper } });
});
afterAll(async () => {
  await stack.close();
  await store.close();
});

const postOnce = async (headers: Record<string, string> = {}): Promise<[status: number, body: string]> => {
  const response = await fetch(`${stack.url}/plants`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.token}`, 'content-type': 'application/json', ...headers },
    body: `{"id":${newId()},"name":"Moss"}`,
  });
  return [response.status, await response.text()];
};

const post = (headers?: Record<string, string>) => {
  const sent = () => postOnce(headers);
  return retryWhile(sent, ([status]) => isUnavailable(status));
};

const hanging = new Set(['takes too long', 'loops for ever']);
const served: [number, string] = [200, '{"name":"Moss"}'];
const failed: [number, string] = [500, '{"message":"Internal Server Error"}'];

const alike = ['throws', 'crashes', 'takes too long', 'loops for ever', 'returns what JSON cannot say'];

test.each<[role: 'operation' | 'authorizer', misbehaviour: string, answer: [number, string]]>([
  ...alike.map((what): ['operation', string, [number, string]] => ['operation', what, failed]),
  ...alike.map((what): ['authorizer', string, [number, string]] => ['authorizer', what, failed]),
  // If a result has no statusCode, API Gateway responds with 200 and the result as JSON.
  ['operation', 'returns rubbish', [200, '"rubbish"']],
  ['authorizer', 'returns rubbish', failed],
])('the gateway responds like AWS and recovers if the %s %s', async (role, misbehaviour, answer) => {
  const which = role === 'authorizer' ? role : createPlantRoute;
  if (hanging.has(misbehaviour)) stack.setFunctionTimeout(which, 400);
  expect(await post({ [`x-${role}`]: misbehaviour })).toEqual(answer);
  stack.setFunctionTimeout(which, longTimeout);
  expect(await post()).toEqual(served);
});
