/**
 * Tests the smoke test with fake functions, whose answers each test chooses. packages/testing/suite/smoke-test.ts tests
 * it with the real bundles.
 */
import { createServer } from 'node:http';
import { toJson } from '@lambda-service/client';
import { content, type Item, itemOf, newBody, newId, otherContent, tableKey } from '@lambda-service/testing/data';
import { lambdaContext } from '@lambda-service/testing/events';
import { startCodeDeploy } from '@lambda-service/testing/fake-aws';
import { startServer } from '@lambda-service/testing/servers';
import {
  dynamoDbError,
  type Fault,
  loseResponse,
  onFirstCall,
  pass,
  startFaultyStore,
  storeEnvironment,
} from '@lambda-service/testing/store';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { report } from '../../smoke-test/deployment.ts';
import type { Check, Checks } from '../../smoke-test/run-checks.ts';
import { smokeTest } from '../../smoke-test/smoke-test.ts';

/** The milliseconds of all pauses, which the smoke test does not really make here. */
const pauses = vi.hoisted((): number[] => []);
vi.mock('node:timers/promises', () => ({
  setTimeout: async (milliseconds: number, _: unknown, { signal }: { signal?: AbortSignal } = {}) => {
    signal?.throwIfAborted();
    pauses.push(milliseconds);
  },
}));

type Answer = Awaited<ReturnType<Parameters<typeof startCodeDeploy>[0]>>;
type Event = { headers: Record<string, string>; body?: string; pathParameters?: object; requestContext: object };

type Operations = Record<'addItem' | 'readItem', { response: object; errorCode: number }>;

const operations = { addItem: { method: 'POST', path: '/items' }, readItem: { method: 'GET', path: '/items/{id}' } };

/** No log may have a word of a body. A double would round the serial number. */
const secret = { note: 'secret', serial: 2n ** 62n + 1n };
const success = { status: 200, response: secret };

const adding = (key: string, fields = content) => ({
  body: { ...newBody(key, fields), ...secret },
  creates: { ...itemOf(key, fields), 'left out': undefined },
});

/** Returns checks, the first of which adds an item with this key. */
const newChecks = (key: string): Checks<Operations> => {
  const item = { ...adding(key), ...success };
  return {
    addItem: {
      'an item': item,
      'a different item with its key': { ...adding(key, otherContent), error: 40901 },
      'another item': { ...adding(newId(), otherContent), ...success },
      'an item without a key': { body: secret, error: 40002 },
      'the item again': item,
    },
    readItem: { 'an item': { pathParameters: { id: key }, ...success } },
  };
};

/** All checks, in the order in which they must run, with the names of the functions that they check. */
const all = [
  ...Object.entries(newChecks(newId())).flatMap(([name, named]) =>
    Object.keys(named).map((check) => ({ name, check })),
  ),
  { name: 'authorizer', check: 'a forged token' },
].map((each, index) => ({ ...each, index }));

/** The function that is called by each call in turn: first each operation once, then a function for each check. */
const calls = [...Object.keys(operations), ...all.map(({ name }) => name)];

/** The checks of a test, and the key of the item that the first one adds. */
let checks: Checks<Operations>;
let id: string;
const handler = smokeTest<Operations>({ operations, key: tableKey.name, newChecks: () => checks });

const issuer = 'https://issuer.example';
const arnOf = (name: string) => `arn:aws:lambda:us-east-1:123456789012:function:${name}:7`;
const result = (value: unknown, log: object[] = []): Answer => ({ result: JSON.stringify(value), log: log as never });
const succeed = (outcome?: string) => {
  const message = { outcome, gatewayRequestId: 'smoke-test-d-1' };
  return result({ statusCode: 200, body: toJson(secret) }, outcome === undefined ? [] : [{ message }]);
};
const fail = (error: number) =>
  result({ statusCode: Math.floor(error / 100), body: JSON.stringify({ error, message: 'secret' }) });
const fault = fail(50001);

/** Returns the check whose request the event is. Only one check has no body. */
const checkOf = ({ body }: Event): Check =>
  Object.values(checks)
    .flatMap((named) => Object.values(named))
    .find((check) => toJson(check.body) === body) as Check;

const write = (item: Check['creates']) => store.write(JSON.parse(JSON.stringify(item)));

/** Answers as the check expects. Adds its item to the table, unless the table has one with that key. */
const asExpected = async (event: Event): Promise<Answer> => {
  const { creates, ...check } = checkOf(event);
  if ('error' in check) return fail(check.error);
  const [key]: string[] = Object.values(Object(creates?.[tableKey.name]));
  if (key === undefined || (await store.read(key)) !== undefined) return succeed('repeated');
  await write(creates);
  return succeed('created');
};

/** How each function answers. */
let answers: Record<string, (event: Event) => Answer | Promise<Answer>>;
let asked: { name: string; event: Event }[];
const codeDeploy = await startCodeDeploy(async (arn, event) => {
  const name = arn.split(':').at(-2) ?? '';
  asked.push({ name, event: event as Event });
  return answers[name]?.(event as Event) ?? { refused: 'ResourceNotFoundException' };
});
afterAll(codeDeploy.close);
const store = await startFaultyStore('items');
afterAll(store.close);

const logged: { level: string; line: unknown }[] = [];
beforeEach(() => {
  const versions = Object.fromEntries(calls.map((name) => [name, arnOf(name)]));
  const environment = { ...storeEnvironment(store.endpoint), ...codeDeploy.environment };
  const all = { ...environment, ISSUER: issuer, VERSIONS: JSON.stringify(versions) };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  for (const level of ['info', 'warn', 'error'] as const) {
    vi.spyOn(console, level).mockImplementation((line) => logged.push({ level, line }));
  }
  id = newId();
  checks = newChecks(id);
  asked = [];
  pauses.length = 0;
  logged.length = 0;
  codeDeploy.reports.length = 0;
  answers = {
    addItem: asExpected,
    readItem: asExpected,
    authorizer: () => result({ isAuthorized: false }, [{ message: { outcome: 'refused', reason: 'unknown key' } }]),
  };
});
afterEach(() => {
  store.fail(undefined);
  expect(JSON.stringify(logged)).not.toMatch(/secret|Bearer|eyJ/);
});

const event = { DeploymentId: 'd-1', LifecycleEventHookExecutionId: 'hook-1' };

/** Runs the smoke test. @param time the milliseconds that are left before Lambda's time-out */
const run = (time = 120_000) => handler(event, { ...lambdaContext, getRemainingTimeInMillis: () => time });

const problems = () => logged.flatMap(({ line }) => Object(line).problem ?? []);

/** The lines about the items that a run has added. */
const deletions = () => logged.filter(({ line }) => /deleted$/.test(Object(line).outcome));
const deleted = { level: 'info', line: { outcome: 'deleted' } };

describe('if all new versions are good, the smoke test', () => {
  test('makes and logs every check, and reports success to CodeDeploy', async () => {
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Succeeded']);
    expect(asked.map(({ name }) => name)).toEqual(calls);
    expect(logged).toEqual([
      ...all.map(({ name, check }) => ({
        level: 'info',
        line: { outcome: 'passed', function: name, check, lambdaRequestId: 'lambda-request' },
      })),
      { level: 'info', line: { outcome: 'succeeded', deployment: 'd-1' } },
      deleted,
      deleted,
    ]);
  });

  test('sends the deployment id as the request id, integers unrounded, and an unexpired token of the right issuer with an unknown key id', async () => {
    await run();
    for (const { event } of asked) expect(event.requestContext).toEqual({ requestId: 'smoke-test-d-1' });
    const [added, read] = asked.map(({ event }) => event);
    expect(added).toMatchObject({ headers: { 'content-type': 'application/json' }, body: toJson(adding(id).body) });
    expect(read).toMatchObject({ headers: {}, pathParameters: { id } });
    const parts = String(asked.at(-1)?.event.headers['authorization']).replace('Bearer ', '').split('.');
    expect(parts.slice(0, 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))).toEqual([
      { alg: 'RS256', kid: 'forged' },
      { iss: issuer, exp: expect.toSatisfy((exp: number) => exp * 1_000 > Date.now()) },
    ]);
  });
});

describe('a deployment fails', () => {
  test.each(all)(
    'if $name fails the check "$check", but all other checks are still made',
    async ({ name, check, index }) => {
      const answer = answers[name] ?? asExpected;
      const failing = calls.length - all.length + index;
      answers[name] = (event) => (asked.length - 1 === failing ? fault : answer(event));
      await run();
      expect(codeDeploy.reports).toEqual(['d-1 hook-1 Failed']);
      expect(asked).toHaveLength(calls.length);
      const failures = logged.filter(({ level }) => level === 'error').map(({ line }) => line);
      expect(failures).toEqual([expect.objectContaining({ outcome: 'failed', function: name, check })]);
      expect(logged).toContainEqual({ level: 'info', line: { outcome: 'failed', deployment: 'd-1' } });
    },
  );

  const answering = (change: object) => result({ statusCode: 200, body: toJson({ ...secret, ...change }) });
  const refused = result({ isAuthorized: false }, [{ message: { outcome: 'refused', reason: 'issuer' } }]);
  test.each<[what: string, name: string, answer: Answer, problem: string]>([
    ['an operation throws', 'addItem', { failure: 'secret', log: [] }, 'it failed: Error'],
    ['an operation answers nothing', 'addItem', result(null), 'the status is missing, not 200'],
    ['an operation adds a field', 'addItem', answering({ more: 'secret' }), 'the body is not as expected'],
    [
      'an operation changes the last digit of an integer that a double rounds',
      'addItem',
      answering({ serial: secret.serial + 1n }),
      'the body is not as expected',
    ],
    ['the authorizer allows the token', 'authorizer', result({ isAuthorized: true }), 'it does not refuse'],
    ['the authorizer refuses every token', 'authorizer', refused, 'the reason is "issuer", not "unknown key"'],
  ])('if %s', async (_, name, answer, problem) => {
    answers[name] = () => answer;
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Failed']);
    expect(problems()[0]).toBe(problem);
  });

  test('if Lambda does not run a new version in time; the log then names the last error', async () => {
    answers['authorizer'] = () => ({ refused: 'AccessDeniedException' });
    await run(14_200);
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Failed']);
    expect(problems().at(-1)).toMatch(/^Lambda did not run it: (AccessDeniedException|AbortError)$/);
  });
});

test('an invocation that Lambda refuses is repeated, because a new permission takes effect only after some seconds; its answer may have no log', async () => {
  let refusals = 2;
  answers['authorizer'] = () =>
    refusals-- > 0 ? { refused: 'AccessDeniedException' } : result({ isAuthorized: false });
  await run();
  expect(codeDeploy.reports).toEqual(['d-1 hook-1 Succeeded']);
  expect(asked).toHaveLength(calls.length + 2);
});

describe('if an operation answers 500 at first, as it does until DynamoDB knows the permissions of a new role, the smoke test', () => {
  test('repeats the first check every two seconds, waits ten more, and then makes all checks', async () => {
    let faults = 3;
    answers['addItem'] = (event) => (faults-- > 0 ? fault : asExpected(event));
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Succeeded']);
    expect(asked).toHaveLength(calls.length + 3);
    expect(new Set(asked.slice(0, 4).map(({ event }) => event.body)).size).toBe(1);
    expect(pauses).toEqual([2_000, 2_000, 2_000, 10_000]);
  });

  test('fails if that does not end within a minute', async () => {
    answers['addItem'] = () => fault;
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Failed']);
    expect(pauses).toEqual(Array(29).fill(2_000));
  });

  test('makes no pause that would delay the report', async () => {
    const deadline = new AbortController();
    vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(deadline.signal);
    answers['addItem'] = () => {
      if (asked.length === 2) deadline.abort();
      return fault;
    };
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Failed']);
    expect(pauses).toEqual([2_000]);
  });
});

describe('after the report, the smoke test', () => {
  const isLeft = async () => (await store.read(id)) !== undefined;
  const notDeleted = (reason: string) => {
    const key = JSON.stringify({ [tableKey.name]: itemOf(id)[tableKey.name] });
    return { level: 'warn', line: { outcome: 'not deleted', reason, key } };
  };

  test.each<[what: string, fault: Fault]>([
    ['', pass],
    [', even if the response to a deletion is lost', onFirstCall(loseResponse)],
  ])('deletes the items that it has created%s', async (_, fault) => {
    store.fail(undefined, fault);
    await run();
    expect(deletions()).toEqual([deleted, deleted]);
    expect(await isLeft()).toBe(false);
  });

  const change =
    (change: () => Item) =>
    async (call: Parameters<Fault>[0]): Promise<void> => {
      await store.write(change());
      await pass(call);
    };
  test.each<[what: string, fault: (call: Parameters<Fault>[0], expiry: AbortController) => unknown, reason: string]>([
    ['access is denied', dynamoDbError(400, 'AccessDeniedException'), 'AccessDeniedException'],
    ['the store does not answer in time', (_, expiry) => expiry.abort(), 'AbortError'],
    ['it has changed', change(() => itemOf(id, otherContent)), 'ConditionalCheckFailedException'],
    [
      'it has a field now that it lacked',
      change(() => ({ ...itemOf(id), 'left out': { S: '' } })),
      'ConditionalCheckFailedException',
    ],
  ])('leaves an item if %s, and the deployment succeeds', async (_, fault, reason) => {
    const { timeout } = AbortSignal;
    const expiry = new AbortController();
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((time) => (time < 9_000 ? expiry.signal : timeout(time)));
    let reports: string[] = [];
    store.fail(undefined, (call) => {
      reports = [...codeDeploy.reports];
      return fault(call, expiry);
    });
    await run();
    expect(reports).toEqual(['d-1 hook-1 Succeeded']);
    expect(deletions()[0]).toEqual(notDeleted(reason));
    expect(await isLeft()).toBe(true);
  });

  test.each<[what: string, first: Answer[]]>([
    ['says repeated', [succeed('repeated')]],
    ['says stored', [succeed('stored')]],
    ['is missing', [succeed()]],
    ['was lost with the answer', [{ refused: 'ServiceException' }, succeed('repeated')]],
  ])('leaves an item if the log %s, and the deployment succeeds', async (_, first) => {
    answers['addItem'] = async (event) => {
      const own = first.shift();
      if (own && 'refused' in own) return own;
      const good = await asExpected(event);
      return own ?? good;
    };
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Succeeded']);
    expect(deletions()[0]).toEqual(notDeleted('no log says "created"'));
    expect(await isLeft()).toBe(true);
  });

  test('does not say that an item is deleted if a bad version has stored it under another key', async () => {
    answers['addItem'] = () => succeed('created');
    await run();
    expect(deletions()[0]).toEqual(notDeleted('the table does not have it'));
  });

  test('deletes what a bad version has stored last', async () => {
    answers['addItem'] = async (event) => {
      const { creates } = checkOf(event);
      if (creates) await write(creates);
      return succeed('created');
    };
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Failed']);
    expect(deletions()[0]).toEqual(deleted);
    expect(await isLeft()).toBe(false);
  });

  test('deletes the items, too, if the report fails', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_CODEDEPLOY', store.endpoint);
    await expect(run()).rejects.toThrow();
    expect(deletions()).toEqual([deleted, deleted]);
  });
});

test('checks, report and deletion together end before the time-out', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout');
  await run(120_000);
  expect(timeout).toHaveBeenCalledTimes(3);
  expect(timeout.mock.calls.flat().reduce((sum, time) => sum + time)).toBeLessThan(120_000);
});

test('the report ends within the ten seconds that are left for it, even if the response body never ends', async () => {
  const expiry = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(expiry.signal);
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' }).write('{');
    expiry.abort();
  });
  vi.stubEnv('AWS_ENDPOINT_URL_CODEDEPLOY', `http://127.0.0.1:${await startServer(server)}`);
  await expect(report(event, true)).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
  expect(timeout.mock.calls).toEqual([[expect.toSatisfy((milliseconds) => milliseconds < 10_000)]]);
});
