/** Tests that `npm run request` finds the cause of an error, with the real bundles behind the local gateway. */
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { dynamoDbError, type FaultyStore, startFaultyStore } from '../../../test/kit/faulty-store.ts';
import { temporaryFolder } from '../../../test/kit/local-service.ts';
import { newId } from '../../../test/kit/responses.ts';
import { startTrialStack, type TrialStack } from '../../../test/kit/trial-stack.ts';
import { isUnavailable, retryWhile } from '../../../test/kit/waiting.ts';
import { describe, findLocalRequest } from '../../cli/traced-request.ts';
import { writeSession } from '../../start/session.ts';

let store: FaultyStore;
let stack: TrialStack;
beforeAll(async () => {
  store = await startFaultyStore('plants');
  stack = await startTrialStack(store.endpoint);
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

const denied = newId();
const moss = (id = newId()): string => `{"id":${id},"name":"Moss"}`;

type Sent = { body?: string; path?: string; headers?: Record<string, string> };

test.each<[status: number, sent: Sent, cause: RegExp]>([
  [400, { body: '{' }, /^POST \/plants 400 \d+ ms\nAuthorizer INFO .*\nCreatePlant INFO .*"outcome":"refused"/],
  [403, { headers: { authorization: 'Bearer a.b.c' } }, /^Authorizer INFO .*"reason":"malformed"/m],
  [400, { path: '/%' }, /^Gateway: the path has an invalid escape sequence$/m],
  [404, { path: '/shrubs' }, /^POST \/shrubs 404 .*\nGateway: the API has no route/],
  [500, { body: moss(denied) }, /^CreatePlant ERROR (?=.*"error": ?50001\b).*"AccessDeniedException"/ms],
])('npm run request shows the cause of the status %i of a local request: %j', async (status, sent, cause) => {
  store.fail(denied, dynamoDbError(400, 'AccessDeniedException'));
  const { body = moss(), path = '/plants', headers = {} } = sent;
  const all = { authorization: `Bearer ${stack.token}`, 'content-type': 'application/json', ...headers };
  // On a busy machine, the service may run out of time, and respond with 503.
  const response = await retryWhile(
    () => fetch(stack.url + path, { method: 'POST', headers: all, body }),
    (each) => isUnavailable(each.status),
  );
  expect(response.status).toBe(status);
  expect(describe(await findLocalRequest(String(response.headers.get('apigw-requestid'))))).toMatch(cause);
});

test('npm run request, for the id of a request that the local service does not know, says how many requests the service keeps', async () => {
  await expect(findLocalRequest('QcNvjVNaC1t4m14=')).rejects.toThrow(/no request QcNvjVNaC1t4m14=.*latest 1,000/);
});

test('if the local service does not answer, npm run request says that the service was probably killed', async () => {
  await makeLocal('http://127.0.0.1:9');
  await expect(findLocalRequest('x')).rejects.toThrow(/does not answer; it was probably killed/);
});
