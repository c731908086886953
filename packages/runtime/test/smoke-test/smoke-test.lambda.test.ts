/**
 * Tests the smoke test with fake functions, whose answers each test chooses. smoke-test.trial.ts tests it with the real
 * bundles.
 */
import { createServer } from 'node:http';
import { parseJson, toJson } from '@lambda-service/client';
import { differentFrom, type Item, itemOf, newBody, newId, shortened, tableKey } from '@lambda-service/testing/data';
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
import { type NewPlant, type OperationId, operations } from '../../../../functions/generated/contract.ts';
import { toItem } from '../../../../functions/plant-table.ts';
import { newChecks } from '../../../../functions/smoke-checks.ts';
import { handler } from '../../../../functions/smoke-test.lambda.ts';
import { report } from '../../smoke-test/deployment.ts';
import type { Check } from '../../smoke-test/run-checks.ts';

/** The milliseconds of all pauses, which the smoke test does not really make here. */
const pauses = vi.hoisted((): number[] => []);
vi.mock('node:timers/promises', () => ({
  setTimeout: async (milliseconds: number, _: unknown, { signal }: { signal?: AbortSignal } = {}) => {
    signal?.throwIfAborted();
    pauses.push(milliseconds);
  },
}));

vi.mock(import('../../../../functions/smoke-checks.ts'), async (actual) => {
  const { newChecks } = await actual();
  return { newChecks: vi.fn(newChecks) };
});

type Answer = Awaited<ReturnType<Parameters<typeof startCodeDeploy>[0]>>;
type Event = {
  routeKey: string;
  headers: Record<string, string>;
  pathParameters?: Record<string, string>;
  body?: string;
  requestContext: object;
};

const checks = newChecks();
const [firstCheck] = Object.values<Check>(checks.createPlant) as [Check];
const issuer = 'https://issuer.example';
const names = [...(Object.keys(operations) as OperationId[]), 'authorizer'] as const;
const arnOf = (name: string) => `arn:aws:lambda:us-east-1:123456789012:function:${name}:7`;
const result = (value: unknown, log: object[] = []): Answer => ({ result: JSON.stringify(value), log: log as never });

const fault = result({ statusCode: 500, body: '{"error":50001,"message":"secret"}' });

/**
 * How each function answers. By default, the function of an operation gives the answers that the smoke test expects.
 */
let answers: Record<string, (event: Event) => Answer | Promise<Answer>>;
let asked: { name: string; event: Event }[];
const codeDeploy = await startCodeDeploy(async (arn, event) => {
  const name = names.find((each) => arnOf(each) === arn) ?? arn;
  asked.push({ name, event: event as Event });
  return answers[name]?.(event as Event) ?? { refused: 'ResourceNotFoundException' };
});
afterAll(codeDeploy.close);
const store = await startFaultyStore('items');
afterAll(store.close);

const logged: { level: string; line: unknown }[] = [];
beforeEach(() => {
  const versions = Object.fromEntries(names.map((name) => [name, arnOf(name)]));
  const all = {
    ...storeEnvironment(store.endpoint),
    ...codeDeploy.environment,
    ISSUER: issuer,
    VERSIONS: JSON.stringify(versions),
  };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  for (const level of ['info', 'warn', 'error'] as const) {
    vi.spyOn(console, level).mockImplementation((line) => logged.push({ level, line }));
  }
  asked = [];
  pauses.length = 0;
  logged.length = 0;
  codeDeploy.reports.length = 0;
  answers = {
    ...Object.fromEntries(Object.entries(checks).map(([name, named]) => [name, asExpected(named)])),
    authorizer: () => result({ isAuthorized: false }, [{ message: { outcome: 'refused', reason: 'unknown key' } }]),
  };
});
afterEach(() => {
  store.fail(undefined);
  expect(JSON.stringify(logged)).not.toMatch(/secret|Bearer|eyJ/);
  const ofChecks = JSON.stringify(logged.filter(({ line }) => Object(line).outcome !== 'not deleted'));
  const id = String(asked[0] && keyOf(asked[0].event));
  // A short id may stand in a log by chance.
  if (id.length >= 6) expect(ofChecks).not.toContain(id);
});

/** Returns the key that an event has in its path or its body, as the kit parses a body. */
const keyOf = ({ pathParameters, body = '{}' }: Event): unknown => {
  const { [tableKey.name]: inPath } = pathParameters ?? {};
  if (inPath !== undefined) return tableKey.type === 'N' ? parseJson(inPath) : inPath;
  return Object(parseJson(body))[tableKey.name];
};

/** Returns the item that an operation stores for this event. */
const itemIn = ({ body = '' }: Event): Item => {
  const { [tableKey.name]: key, ...fields } = Object(parseJson(body));
  return itemOf(String(key), fields);
};

const outcome = (word: string) => ({ message: { outcome: word, gatewayRequestId: 'smoke-test-d-1' } });

/**
 * Returns a function that answers its first call as the first check expects, and later calls as all checks expect. It
 * stores each plant that it is asked to create.
 */
const asExpected = (named: object) => {
  const [first, ...more] = Object.values(named);
  const left = [first, first, ...more];
  const keys = new Set<unknown>();
  return async (event: Event) => {
    const { error, status, response, creates } = Object(left.shift());
    // A response that has the key has the key that was sent.
    const own = tableKey.name in Object(response) ? { [tableKey.name]: keyOf(event) } : {};
    // Without a response, there is no body, as in a 204.
    const body = response === undefined ? undefined : toJson({ ...response, ...own });
    if (error !== undefined)
      return result({ statusCode: Math.floor(error / 100), body: JSON.stringify({ error, message: 'secret' }) });
    const isCreated = creates !== undefined && !keys.has(keyOf(event));
    keys.add(keyOf(event));
    if (isCreated) await store.write(itemIn(event));
    return result({ statusCode: status, body }, [outcome(isCreated ? 'created' : 'repeated')]);
  };
};

const event = { DeploymentId: 'd-1', LifecycleEventHookExecutionId: 'hook-1' };

/** Runs the smoke test. @param time the milliseconds that are left before Lambda's time-out */
const run = (time = 120_000) => handler(event, { ...lambdaContext, getRemainingTimeInMillis: () => time });

const problems = () => logged.flatMap(({ line }) => (Object(line).problem === undefined ? [] : Object(line).problem));

/**
 * All checks, in the order in which they must run. Each has the name of the function that it checks, and its own name.
 */
const all = [
  ...Object.entries(checks).flatMap(([name, named]) => Object.keys(named).map((check) => [name, check])),
  ['authorizer', 'a forged token'],
];

/** The function that is called by each call in turn: first each operation once, then a function for each check. */
const calls = [...Object.keys(checks), ...all.map(([name]) => name)];

/** The lines about the plants that a run has added. */
const deletions = () => logged.filter(({ line }) => /deleted$/.test(Object(line).outcome));
const deleted = { level: 'info', line: { outcome: 'deleted' } };
const keys = Object.values<Check>(checks.createPlant).flatMap(({ creates }) => creates?.[tableKey.name] ?? []);
const allDeleted = [...new Set(keys.map((key) => JSON.stringify(key)))].map(() => deleted);

describe('if all new versions are good, the smoke test', () => {
  test('makes and logs every check, and reports success to CodeDeploy', async () => {
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Succeeded']);
    expect(asked.map(({ name }) => name)).toEqual(calls);
    expect(logged).toEqual([
      ...all.map(([name, check]) => ({
        level: 'info',
        line: { outcome: 'passed', function: name, check, lambdaRequestId: 'lambda-request' },
      })),
      { level: 'info', line: { outcome: 'succeeded', deployment: 'd-1' } },
      ...allDeleted,
    ]);
  });

  test('sends the deployment id as the request id, the id of the plant unrounded, and an unexpired token of the right issuer with an unknown key id', async () => {
    vi.mocked(newChecks).mockReturnValueOnce(checks);
    await run();
    for (const { event } of asked) expect(event.requestContext).toEqual({ requestId: 'smoke-test-d-1' });
    expect(asked[0]?.event.headers).toEqual({ 'content-type': 'application/json' });
    expect(asked[0]?.event.body).toBe(toJson(firstCheck.body));
    const parts = String(asked.at(-1)?.event.headers['authorization']).replace('Bearer ', '').split('.');
    expect(parts.slice(0, 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))).toEqual([
      { alg: 'RS256', kid: 'forged' },
      { iss: issuer, exp: expect.toSatisfy((exp: number) => exp * 1_000 > Date.now()) },
    ]);
  });
});

describe('a deployment fails', () => {
  test.each(all)('if %s fails the check "%s", but all other checks are still made', async (name, check) => {
    const answer = answers[name];
    const ofName = all.filter(([each]) => each === name).map(([, each]) => each);
    const checked = ofName.indexOf(check) + Number(name !== 'authorizer');
    let call = 0;
    answers[name] = (event) => {
      const good = answer?.(event) ?? result(null);
      return call++ === checked ? fault : good;
    };
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Failed']);
    expect(asked).toHaveLength(calls.length);
    const failures = logged.filter(({ level }) => level === 'error').map(({ line }) => line);
    expect(failures).toEqual([expect.objectContaining({ outcome: 'failed', function: name, check })]);
    expect(logged).toContainEqual({ level: 'info', line: { outcome: 'failed', deployment: 'd-1' } });
  });

  const [first = ''] = names;
  const { response } = Object(firstCheck);
  const adding = result({ statusCode: 200, body: toJson({ ...response, more: 'secret' }) });
  const refused = result({ isAuthorized: false }, [{ message: { outcome: 'refused', reason: 'issuer' } }]);
  test.each<[what: string, name: string, answer: Answer, problem: string]>([
    ['an operation throws', first, { failure: 'secret', log: [] }, 'it failed: Error'],
    ['an operation answers nothing', first, result(null), 'the status is missing, not 200'],
    ['an operation adds a field', first, adding, 'the body is not as expected'],
    ['the authorizer allows the token', 'authorizer', result({ isAuthorized: true }), 'it does not refuse'],
    ['the authorizer refuses every token', 'authorizer', refused, 'the reason is "issuer", not "unknown key"'],
  ])('if %s', async (_, name, answer, problem) => {
    answers[name] = () => answer;
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Failed']);
    expect(problems()[0]).toBe(problem);
  });

  test('if an operation changes the last digit of an integer that a double rounds', async () => {
    const [sent, answered] = [2n ** 62n, 2n ** 62n + 1n].map((serial) => ({ serial }));
    const own = { createPlant: { 'a large integer': { body: sent, status: 200, response: sent } } } as never;
    vi.mocked(newChecks).mockReturnValueOnce(own);
    answers['createPlant'] = () => result({ statusCode: 200, body: toJson(answered) });
    await run();
    expect(problems()).toEqual(['the body is not as expected']);
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
  const [first = ''] = names;

  test('repeats the first check every two seconds, waits ten more, and then makes all checks', async () => {
    const answer = answers[first];
    let faults = 3;
    answers[first] = (event) => (faults-- > 0 ? fault : (answer?.(event) ?? fault));
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Succeeded']);
    expect(asked).toHaveLength(calls.length + 3);
    expect(new Set(asked.slice(0, 4).map(({ event }) => event.body)).size).toBe(1);
    expect(pauses).toEqual([2_000, 2_000, 2_000, 10_000]);
  });

  test('fails if that does not end within a minute', async () => {
    answers[first] = () => fault;
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Failed']);
    expect(pauses).toEqual(Array(29).fill(2_000));
  });

  test('makes no pause that would delay the report', async () => {
    const deadline = new AbortController();
    vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(deadline.signal);
    answers[first] = () => {
      if (asked.length === 2) deadline.abort();
      return fault;
    };
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Failed']);
    expect(pauses).toEqual([2_000]);
  });
});

describe('after the report, the smoke test', () => {
  const { body, status, response } = Object(firstCheck);
  const { [tableKey.name]: _, ...fields } = body;
  const firstId = () => String(keyOf(asked[0]?.event as Event));
  const isLeft = async () => (await store.read(firstId())) !== undefined;
  const notDeleted = (reason: string) => {
    const key = JSON.stringify({ [tableKey.name]: itemOf(firstId())[tableKey.name] });
    return { level: 'warn', line: { outcome: 'not deleted', reason, key } };
  };

  test('deletes the plants that it has created', async () => {
    await run();
    expect(deletions()).toEqual(allDeleted);
    expect(await isLeft()).toBe(false);
  });

  test.each<[what: string, fault: (call: Parameters<Fault>[0], expiry: AbortController) => unknown, reason: string]>([
    ['access is denied', dynamoDbError(400, 'AccessDeniedException'), 'AccessDeniedException'],
    ['the store does not answer in time', (_, expiry) => expiry.abort(), 'AbortError'],
    [
      'it has changed',
      async (call) => {
        await store.write(itemOf(firstId(), differentFrom(fields)));
        await pass(call);
      },
      'ConditionalCheckFailedException',
    ],
  ])('leaves a plant if %s, and the deployment succeeds', async (_, fault, reason) => {
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

  test('says that a plant is deleted if only the response to its deletion was lost', async () => {
    store.fail(undefined, onFirstCall(loseResponse));
    await run();
    expect(deletions()).toEqual(allDeleted);
    expect(await isLeft()).toBe(false);
  });

  const answerWith = (...log: object[]) => result({ statusCode: status, body: toJson(response) }, log);

  test.each<[what: string, first: Answer[]]>([
    ['says repeated', [answerWith(outcome('repeated'))]],
    ['says stored', [answerWith(outcome('stored'))]],
    ['is missing', [answerWith()]],
    ['was lost with the answer', [{ refused: 'ServiceException' }, answerWith(outcome('repeated'))]],
  ])('leaves a plant if the log %s, and the deployment succeeds', async (_, first) => {
    const answer = answers['createPlant'];
    answers['createPlant'] = async (event) => {
      const own = first.shift();
      if (own && 'refused' in own) return own;
      const good = await answer?.(event);
      return own ?? good ?? fault;
    };
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Succeeded']);
    expect(deletions()[0]).toEqual(notDeleted('no log says "created"'));
    expect(await isLeft()).toBe(true);
  });

  test('does not say that a plant is deleted if a bad version has stored it under another key', async () => {
    answers['createPlant'] = () => answerWith(outcome('created'));
    await run();
    expect(deletions()[0]).toEqual(notDeleted('the table does not have it'));
  });

  test('deletes what a bad version has stored last', async () => {
    answers['createPlant'] = async (event) => {
      // The tests have no item for a body without a key.
      if (keyOf(event) === undefined) return fault;
      await store.write(itemIn(event));
      return answerWith(outcome('created'));
    };
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Failed']);
    expect(deletions()[0]).toEqual(deleted);
    expect(await isLeft()).toBe(false);
  });

  test.each(shortened)('leaves a plant without %s if it has this field now', async (_, fields) => {
    const plant = newBody<NewPlant>(newId(), fields);
    const check = { body: plant, creates: toItem(plant), status, response };
    vi.mocked(newChecks).mockReturnValueOnce({ createPlant: { 'a plant': check } } as never);
    answers['createPlant'] = async () => {
      await store.write(itemOf(firstId()));
      return answerWith(outcome('created'));
    };
    await run();
    expect(deletions()).toEqual([notDeleted('ConditionalCheckFailedException')]);
    expect(await isLeft()).toBe(true);
  });

  test('deletes the plants, too, if the report fails', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_CODEDEPLOY', store.endpoint);
    await expect(run()).rejects.toThrow();
    expect(deletions()).toEqual(allDeleted);
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
