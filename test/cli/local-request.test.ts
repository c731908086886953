/**
 * Tests that `npm run request` finds the cause of every error by the id of the request, with the real bundles behind
 * the local gateway.
 */
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { findLocalRequest } from '../../cli/local-request.ts';
import { describe as describeRequest } from '../../cli/traced-request.ts';
import { createPlantStoreClient } from '../../client/plant-store-client.ts';
import { writeSession } from '../../local/session.ts';
import { createPlantOperation, examplesOf } from '../kit/contract.ts';
import { dynamoDbError, type FaultyStore, startFaultyStore } from '../kit/faulty-store.ts';
import { createPlantRoute } from '../kit/gateway-events.ts';
import { temporaryFolder } from '../kit/local-service.ts';
import { isUnavailable, retryWhile } from '../kit/over-quota.ts';
import { newId } from '../kit/responses.ts';
import { type Handler, startTrialStack, type TrialStack } from '../kit/trial-stack.ts';

/** Wraps a handler, which then misbehaves as the header x-function of a request says. Without the header, it works. */
const misbehaving =
  (handler: Handler): Handler =>
  async (event: { headers: Record<string, string>; body?: string }, context) => {
    let { body } = event;
    switch (event.headers['x-function']) {
      case 'crash':
        throw new TypeError('oops');
      case 'hang':
        // Keep a timer running, so that the event loop is not empty: otherwise, Lambda would end the function at once,
        // because nothing could settle the handler's promise any more.
        return new Promise((resolve) => setTimeout(resolve, 300_000));
      case 'slow body': {
        // Make reading the body seem to take 2.2 s: when the Lambda function reads the body, move the clocks that it
        // reads, performance.now and Date.now, forward.
        const clocks = [performance, Date].map((clock) => ({ clock, now: clock.now.bind(clock) }));
        const read = () => {
          for (const { clock, now } of clocks) clock.now = () => now() + 2_200;
          return body;
        };
        const write = (value: string) => {
          body = value;
        };
        const late = Object.defineProperty({ ...event }, 'body', { get: read, set: write, enumerable: true });
        try {
          return await handler(late as never, context);
        } finally {
          for (const { clock, now } of clocks) clock.now = now;
        }
      }
    }
    return handler(event as never, context);
  };

const routes = inject('stack').api.routes.map((route) => ({ ...route, throttle: { rate: 1e9, burst: 1_000 } }));
const route = routes.find(({ routeKey }) => routeKey === createPlantRoute);

let store: FaultyStore;
let stack: TrialStack;
beforeAll(async () => {
  store = await startFaultyStore('plants');
  const gateway = { api: { routes }, throttleClock: () => performance.now() };
  stack = await startTrialStack(store.endpoint, { operations: { wrapper: misbehaving }, gateway });
});
afterAll(async () => {
  await stack.close();
  await store.close();
});

/** Writes a session file, so that the commands treat the service at `url` as the running local service. */
const makeLocal = async (url: string): Promise<void> => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const unused = { tokenUrl: 'x', clientId: 'x', clientSecret: 'x', scope: 'x', certificate: 'x' };
  writeSession(folder, { url, ...unused });
  vi.stubEnv('DATA_DIR', folder);
};
beforeEach(() => makeLocal(stack.url));

type Sent = { body?: string; path?: string; headers?: Record<string, string | undefined> };
type Received = { status: number; id: string; error: number | undefined };

/** Sends a plant with a valid token. The parameters replace parts of the request; `undefined` removes a header. */
const send = ({ body = moss(), path = '/plants', headers = {} }: Sent, { url, token } = stack): Promise<Received> => {
  const all = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers };
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method: 'POST', headers: JSON.parse(JSON.stringify(all)) }, async (response) => {
      const { error } = JSON.parse(Buffer.concat(await response.toArray()).toString());
      resolve({ status: response.statusCode ?? 0, id: String(response.headers['apigw-requestid']), error });
    });
    sent.on('error', reject).end(body);
  });
};

const moss = (id = newId()): string => `{"id":${id},"name":"Moss"}`;

/** Sends a plant for which the store returns the DynamoDB error `type` with the HTTP status `status`. */
const sendWithFault = (status: number, type: string) => {
  const id = newId();
  store.fail(id, dynamoDbError(status, type));
  return send({ body: moss(id) });
};

/**
 * The errors of the contract. Each is named by its status, followed by its error number or, if the gateway responds, by
 * `gateway`. Each has a request that causes the error, and a pattern that must match the cause which `npm run request`
 * reports.
 */
const causes: Record<string, [get: () => Promise<Received>, cause: RegExp]> = {
  '400 40001': [() => send({ body: '{' }), /^CreatePlant INFO .*"outcome":"refused","error":40001\b/m],
  '400 40002': [() => send({ body: '{}' }), /^CreatePlant INFO .*"outcome":"refused","error":40002\b/m],
  '400 gateway': [() => send({ path: '/%' }), /^Gateway: the path has an invalid escape sequence$/m],
  '401 gateway': [() => send({ headers: { authorization: undefined } }), /^Gateway: .* no Authorization header$/m],
  '403 gateway': [
    () => send({ headers: { authorization: 'Bearer a.b.c' } }),
    /^Authorizer INFO .*"outcome":"refused","reason":"malformed"/m,
  ],
  '404 gateway': [() => send({ path: '/shrubs' }), /^POST \/shrubs 404 .*\nGateway: the API has no route/],
  '409 40901': [
    async () => {
      const id = newId();
      await send({ body: moss(id) });
      return send({ body: `{"id":${id},"name":"Fern"}` });
    },
    /^CreatePlant INFO .*"outcome":"refused","error":40901\b/m,
  ],
  '413 41301': [
    () => send({ body: `{"id":1,"name":"${'x'.repeat(409_600)}"}` }),
    /^CreatePlant INFO .*"outcome":"refused","error":41301\b/m,
  ],
  '413 gateway': [() => send({ body: 'x'.repeat(11_000_000) }), /^Gateway: the body is over 10 MB$/m],
  '415 41501': [
    () => send({ headers: { 'content-type': 'text/plain' } }),
    /^CreatePlant INFO .*"outcome":"refused","error":41501\b/m,
  ],
  '415 41502': [
    () => send({ headers: { 'content-encoding': 'gzip' } }),
    /^CreatePlant INFO .*"outcome":"refused","error":41502\b/m,
  ],
  '417 gateway': [() => send({ headers: { expect: 'more' } }), /^Gateway: the request has an Expect header/m],
  '429 gateway': [
    async () => {
      const throttle = route?.throttle ?? { burst: 0 };
      throttle.burst = 0;
      const answer = await send({});
      throttle.burst = 1_000;
      return answer;
    },
    /^Gateway: there were more requests than the API accepts$/m,
  ],
  '431 gateway': [
    () => send({ headers: { 'x-filler': 'x'.repeat(10_240) } }),
    /^Gateway: the request line and headers are over 10,240 bytes$/m,
  ],
  '500 50001': [
    () => sendWithFault(400, 'AccessDeniedException'),
    /^CreatePlant ERROR (?=.*"error": ?50001\b).*"AccessDeniedException"/ms,
  ],
  '500 gateway': [
    () => send({ headers: { 'x-function': 'crash' } }),
    /^CreatePlant ERROR .*"oops".*^Gateway: CreatePlant\w+: .*TypeError/ms,
  ],
  '503 50301': [
    // Use this error, because the SDK does not retry it: with retries, the request might time out on a busy machine.
    () => sendWithFault(400, 'TransactionConflictException'),
    /^CreatePlant WARN (?=.*"error": ?50301\b).*"TransactionConflictException"/ms,
  ],
  '503 50302': [() => send({ headers: { 'x-function': 'slow body' } }), /^CreatePlant WARN .*"error": ?50302\b/ms],
  '503 gateway': [
    async () => {
      const { timeout = 0 } = route ?? {};
      Object.assign(route ?? {}, { timeout: 100 });
      const answer = await send({ headers: { 'x-function': 'hang' } });
      Object.assign(route ?? {}, { timeout });
      return answer;
    },
    /^Gateway: CreatePlant\w+: no response in time$/m,
  ],
};

test('the tests of npm run request in this file cover every error of the contract and the 404 of the gateway, and no other error', () => {
  const ofContract = Object.entries(createPlantOperation.responses).flatMap(([status, { content }]) =>
    examplesOf(content['application/json']).map(
      (example) => `${status} ${(example as { error?: number }).error ?? 'gateway'}`,
    ),
  );
  // Add the gateway's 404 to the contract's statuses. The contract has no 404, because no operation responds with it.
  const errors = [...ofContract.filter((each) => !each.startsWith('2')), '404 gateway'];
  expect(Object.keys(causes).toSorted()).toEqual([...new Set(errors)].toSorted());
});

describe('npm run request, with the id of a request to the local service, shows the cause of', () => {
  test.each(Object.entries(causes))('the error %s', async (name, [get, cause]) => {
    // Send the request again if the response is an unexpected 503: on a busy machine, the service may run out of time.
    const nameOf = ({ status, error }: Received) => `${status} ${error ?? 'gateway'}`;
    const received = await retryWhile(get, (each) => isUnavailable(each.status) && nameOf(each) !== name);
    const { status, id } = received;
    expect(nameOf(received)).toBe(name);
    const description = describeRequest(await findLocalRequest(id));
    expect(description).toMatch(new RegExp(`^POST \\S+ ${status} \\d+ ms\n`));
    expect(description).toMatch(cause);
  });

  test('a 500 that is sent because the keys of the token issuer cannot be fetched', async () => {
    const JWKS_URI = 'https://127.0.0.1:9/jwks';
    const lost = await startTrialStack(store.endpoint, { authorizer: { environment: { JWKS_URI } } });
    onTestFinished(lost.close);
    await makeLocal(lost.url);
    const { status, id } = await send({}, lost);
    expect(status).toBe(500);
    const { lines, errors } = await findLocalRequest(id);
    expect(lines).toMatchObject([
      { who: 'Authorizer', level: 'WARN', message: { outcome: 'keys not fetched' } },
      { who: 'Authorizer', level: 'ERROR', message: { gatewayRequestId: id } },
    ]);
    expect(errors).toEqual([expect.stringContaining('keys of the token issuer cannot be fetched')]);
  });

  test('a conflict, if the id is the requestId that the TypeScript client returned', async () => {
    const { createPlant } = createPlantStoreClient({ baseUrl: stack.url, token: stack.token });
    const id = BigInt(newId());
    await createPlant({ id, name: 'Moss' });
    const { requestId = '' } = await createPlant({ id, name: 'Fern' });
    const { lines } = await findLocalRequest(requestId);
    expect(lines).toMatchObject([
      { who: 'Authorizer', message: { outcome: 'allowed', gatewayRequestId: requestId } },
      { who: 'CreatePlant', message: { outcome: 'refused', error: 40901, gatewayRequestId: requestId } },
    ]);
  });
});

test('npm run request, for the id of a request that the local service does not know, says how many requests the service keeps', async () => {
  await expect(findLocalRequest('QcNvjVNaC1t4m14=')).rejects.toThrow(/no request QcNvjVNaC1t4m14=.*latest 1,000/);
});

test('if the local service does not answer, npm run request says that the service was probably killed', async () => {
  await makeLocal('http://127.0.0.1:9');
  await expect(findLocalRequest('x')).rejects.toThrow(/does not answer; it was probably killed/);
});
