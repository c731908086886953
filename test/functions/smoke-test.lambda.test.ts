/**
 * Tests the smoke test with fake functions, whose answers each test chooses. smoke-test.trial.ts tests it with the real
 * bundles.
 */
import { createServer } from 'node:http';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type OperationId, operations } from '../../functions/generated/contract.ts';
import { type Check, checksFor } from '../../functions/smoke-test/checks.ts';
import { report } from '../../functions/smoke-test/deployment.ts';
import { handler } from '../../functions/smoke-test.lambda.ts';
import { parseJson, toJson } from '../../packages/client/json.ts';
import { type Content, tableKey } from '../kit/example.ts';
import { startCodeDeploy } from '../kit/fake-aws.ts';
import { lambdaContext } from '../kit/gateway-events.ts';
import { startServer } from '../kit/servers.ts';

/** The milliseconds of all pauses, which the smoke test does not really make here. */
const pauses = vi.hoisted((): number[] => []);
vi.mock('node:timers/promises', () => ({
  setTimeout: async (milliseconds: number, _: unknown, { signal }: { signal?: AbortSignal } = {}) => {
    pauses.push(milliseconds);
    signal?.throwIfAborted();
  },
}));

vi.mock(import('../../functions/smoke-test/checks.ts'), async (actual) => {
  const { checksFor } = await actual();
  return { checksFor: vi.fn(checksFor) };
});

type Answer = Awaited<ReturnType<Parameters<typeof startCodeDeploy>[0]>>;
type Event = {
  routeKey: string;
  headers: Record<string, string>;
  pathParameters?: Record<string, string>;
  body?: string;
  requestContext: object;
};

const checks = checksFor(false);
const [firstCheck] = Object.values<Check>(checks.createPlant) as [Check];
const usualId = String((firstCheck.body as Content)[tableKey.name]);
const usualWord = new RegExp(`(?<!\\w)${usualId.replaceAll(/\W/g, '\\$&')}(?!\\w)`);
const issuer = 'https://issuer.example';
const names = [...(Object.keys(operations) as OperationId[]), 'authorizer'] as const;
const arnOf = (name: string) => `arn:aws:lambda:us-east-1:123456789012:function:${name}:7`;
const result = (value: unknown, log: object[] = []): Answer => ({ result: JSON.stringify(value), log: log as never });

/**
 * How each function answers. By default, the function of an operation gives the answers that the smoke test expects.
 */
let answers: Record<string, (event: Event) => Answer>;
let asked: { name: string; event: Event }[];
const codeDeploy = await startCodeDeploy(async (arn, event) => {
  const name = names.find((each) => arnOf(each) === arn) ?? arn;
  asked.push({ name, event: event as Event });
  return answers[name]?.(event as Event) ?? { refused: 'ResourceNotFoundException' };
});
afterAll(codeDeploy.close);

const logged: { level: string; line: unknown }[] = [];
beforeEach(() => {
  const versions = Object.fromEntries(names.map((name) => [name, arnOf(name)]));
  const all = { ...codeDeploy.environment, ISSUER: issuer, VERSIONS: JSON.stringify(versions) };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  for (const level of ['info', 'error'] as const) {
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
  expect(JSON.stringify(logged)).not.toMatch(/secret|Bearer|eyJ/);
  // A short id may stand in a log by chance.
  if (usualId.length >= 6) expect(JSON.stringify(logged)).not.toMatch(usualWord);
});

/** Returns the key that an event has in its path or its body, as the kit parses a body. */
const keyOf = ({ pathParameters, body = '{}' }: Event): unknown => {
  const { [tableKey.name]: inPath } = pathParameters ?? {};
  if (inPath !== undefined) return tableKey.type === 'N' ? parseJson(inPath) : inPath;
  return Object(parseJson(body))[tableKey.name];
};

/** Returns a function that answers its first call as the first check expects, and later calls as all checks expect. */
const asExpected = (named: object) => {
  const [first, ...more] = Object.values(named);
  const left = [first, first, ...more];
  return (event: Event) => {
    const { error, status, response } = Object(left.shift());
    // A response that has the key has the key that was sent.
    const own = tableKey.name in Object(response) ? { [tableKey.name]: keyOf(event) } : {};
    // Without a response, there is no body, as in a 204.
    const body = response === undefined ? undefined : toJson({ ...response, ...own });
    if (error === undefined) return result({ statusCode: status, body });
    return result({ statusCode: Math.floor(error / 100), body: JSON.stringify({ error, message: 'secret' }) });
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
    ]);
  });

  test('sends the deployment id as the request id, the id of the plant unrounded, and an unexpired token of the right issuer with an unknown key id', async () => {
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
      return call++ === checked ? result({ statusCode: 500, body: '{"error":50001,"message":"secret"}' }) : good;
    };
    await run();
    expect(codeDeploy.reports).toEqual(['d-1 hook-1 Failed']);
    expect(asked).toHaveLength(calls.length);
    const failures = logged.filter(({ level }) => level === 'error').map(({ line }) => line);
    expect(failures).toEqual([expect.objectContaining({ outcome: 'failed', function: name, check })]);
    expect(logged.at(-1)).toEqual({ level: 'info', line: { outcome: 'failed', deployment: 'd-1' } });
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
    vi.mocked(checksFor).mockReturnValueOnce(own).mockReturnValueOnce(own);
    answers['createPlant'] = () => result({ statusCode: 200, body: toJson(answered) });
    await run();
    expect(problems()).toEqual(['the body is not as expected']);
  });

  test('if Lambda does not run a new version in time; the log then names the last error', async () => {
    answers['authorizer'] = () => ({ refused: 'AccessDeniedException' });
    await run(10_200);
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
  const fault = result({ statusCode: 500, body: '{"error":50001,"message":"secret"}' });

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
});

test("if a client's plant has the usual id, the smoke test asks only once, and then makes all checks with another id", async () => {
  const [first = ''] = names;
  const answer = answers[first];
  const conflict = result({ statusCode: 409, body: '{"error":40901,"message":"secret"}' });
  answers[first] = (event) => {
    const good = answer?.(event) ?? conflict;
    return asked.length === 1 ? conflict : good;
  };
  await run();
  expect(codeDeploy.reports).toEqual(['d-1 hook-1 Succeeded']);
  expect([asked.length, pauses]).toEqual([calls.length, []]);
  const later = asked.slice(Object.keys(checks).length).map(({ event }) => String(keyOf(event)));
  expect(later).not.toContain(usualId);
  expect(logged).toContainEqual({ level: 'info', line: { outcome: 'taken' } });
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
