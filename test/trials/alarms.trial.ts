/**
 * Rehearses the alarms: injects faults into the stack, and evaluates the template's metric filters and alarms. Each
 * request is really sent, but only once. It is counted as if it were sent in every minute, and with a made-up duration.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { claims, sign } from '../kit/access-tokens.ts';
import { eachMinute, filterChecks, filterCommand, record } from '../kit/alarm-rehearsal.ts';
import { raisedAlarms, rollBackAlarms } from '../kit/alarms.ts';
import {
  dynamoDbError,
  type Fault,
  type FaultyStore,
  hang,
  onFirstCall,
  startFaultyStore,
} from '../kit/faulty-store.ts';
import { createPlantRoute, proxyEvent } from '../kit/gateway-events.ts';
import type { Occurrence } from '../kit/happenings.ts';
import { metricFilters } from '../kit/log-metrics.ts';
import { misbehaving } from '../kit/misbehaving.ts';
import { isUnavailable, retryWhile } from '../kit/over-quota.ts';
import { newId } from '../kit/responses.ts';
import { report } from '../kit/scale.ts';
import type { Template } from '../kit/template.ts';
import { type FunctionName, longTimeout, startTrialStack, type TrialStack } from '../kit/trial-stack.ts';

let store: FaultyStore;
let stack: TrialStack;
beforeAll(async () => {
  store = await startFaultyStore('plants');
  stack = await startTrialStack(store.endpoint, {
    operations: { wrapper: misbehaving },
    authorizer: { wrapper: misbehaving },
  });
});
afterAll(async () => {
  await stack.close();
  await store.close();
});

const template = inject('template');

/** What has happened to the stack so far, in all tests: responses, invocations, log lines and calls to the store. */
const recorded: Occurrence[] = [];

/**
 * A request to send to the service. `milliseconds` is how long the operation seems to take, by default as long as for
 * an everyday request.
 */
type Request = { headers?: Record<string, string>; body?: string; milliseconds?: number };

const plant = (id = newId(), name = 'Moss'): string => `{"id":${id},"name":"${name}"}`;

/**
 * Sends one request, which creates a plant by default, and does not repeat it.
 * @returns the response, and the invocations, log lines and store calls of the request
 */
const sendOnce = async ({ headers = {}, body = plant(), milliseconds }: Request = {}): Promise<Occurrence[]> => {
  const standard = { authorization: `Bearer ${stack.token}`, 'content-type': 'application/json' };
  const request = { method: 'POST', headers: { ...standard, ...headers }, body };
  const times = milliseconds === undefined ? {} : { [stack.nameOf(createPlantRoute)]: milliseconds };
  const occurrences = await record(stack, store, () => fetch(`${stack.url}/plants`, request), times);
  recorded.push(...occurrences);
  return occurrences;
};

/** Sends a request, and sends it again after a 503, because a busy machine can make the service run out of time. */
const send = (request?: Request): Promise<Occurrence[]> =>
  retryWhile(
    () => sendOnce(request),
    (occurrences) => occurrences.some((each) => each.kind === 'response' && isUnavailable(each.status)),
  );

const sendExpiredToken = async (): Promise<Occurrence[]> => {
  const token = await sign(stack.issuer.key, claims({ iss: stack.issuer.issuer, exp: 1 }));
  return send({ headers: { authorization: `Bearer ${token}` } });
};

/**
 * Sends a plant, and then the same plant or, if `name` is given, another plant with the same id. @returns what the
 * second request caused: responses, log lines and the like
 */
const sendTwice = async (name = 'Moss'): Promise<Occurrence[]> => {
  const id = newId();
  await send({ body: plant(id) });
  return send({ body: plant(id, name) });
};

const whileStore = async (fault: Fault, request: () => Promise<Occurrence[]>): Promise<Occurrence[]> => {
  store.fail(undefined, fault);
  try {
    return await request();
  } finally {
    store.fail(undefined);
  }
};

/** Returns a function that sends a request while the store returns an error that the SDK does not retry. */
const whileRefusing = (error: string) => () => whileStore(dynamoDbError(400, error), send);

/**
 * Returns a function that makes the store return a temporary error and sends a request, so that the response is a 503.
 */
const whileFailing = (status: number, error: string) => () => whileStore(dynamoDbError(status, error), sendOnce);

const whileUnreachable = () => store.refuseConnections(sendOnce);

/**
 * Returns a fault that makes only the first call to the store fail, so that the SDK's retry, the second call, succeeds.
 */
const failOneCall = (): Fault => {
  let number = 0;
  return (call) => {
    number += 1;
    return onFirstCall(dynamoDbError(500, 'InternalServerError'))({ ...call, number });
  };
};

/** The two functions that a request invokes: the authorizer, and the function of an operation. */
type Role = 'authorizer' | 'operation';

const routeOf = (role: Role): FunctionName => (role === 'authorizer' ? role : createPlantRoute);

/**
 * Sends a request that makes a function misbehave. If `misbehaviour` is an object of environment variables, the
 * function is first restarted with them.
 */
const whileFunction = async (role: Role, misbehaviour: string | object): Promise<Occurrence[]> => {
  const which = routeOf(role);
  // A function that takes too long runs until its time-out, so set a short time-out to keep the test short.
  stack.setFunctionTimeout(which, misbehaviour === 'takes too long' ? 50 : longTimeout);
  try {
    return await send({
      headers: { [`x-${role}`]: typeof misbehaviour === 'string' ? misbehaviour : JSON.stringify(misbehaviour) },
    });
  } finally {
    stack.setFunctionTimeout(which, longTimeout);
  }
};

/** Replaces the operation's name with `Operation` in names of alarms, because every operation has the same alarms. */
const inRoles = (alarms: string[]): string[] => {
  const operation = stack.nameOf(createPlantRoute).replace(/[\dA-F]{8}$/, '');
  return alarms.map((alarm) => alarm.replace(operation, 'Operation'));
};

/** Returns the alarms that go off if all these requests are sent once a minute for twenty minutes. */
const alarmsIn20Minutes = (...requests: Occurrence[][]): string[] =>
  inRoles(raisedAlarms(template, eachMinute(0, 20, requests.flat())));

/**
 * `timingOut`: the alarms of the API (not of the function) that go off if a function times out. `withoutKeys`: all
 * alarms that go off if no keys can be fetched.
 */
const timingOut = ['Api5xxRate', 'ApiLatencyP99'];
const withoutKeys = ['Api5xxRate', 'AuthorizerErrors', 'AuthorizerKeysNotFetched'];

type Fault20Minutes = [what: string, meet: () => Promise<Occurrence[]>, alarms: string[]];

const faults: Fault20Minutes[] = [
  ['the store throttles', whileFailing(400, 'ThrottlingException'), ['Api5xxRate', 'TableThrottles']],
  ['the store answers 500', whileFailing(500, 'InternalServerError'), ['Api5xxRate', 'TableSystemErrors']],
  // The alarm TableSystemErrors does not go off here: DynamoDB counts a 500 as a SystemError, but not a 503.
  ['the store answers 503', whileFailing(503, 'ServiceUnavailable'), ['Api5xxRate']],
  [
    'the store answers 500 once, and 200 to the retry',
    () => whileStore(failOneCall(), sendOnce),
    ['TableSystemErrors'],
  ],
  // An operation gives up after 2.3 s, so no response takes 2.5 s, the limit of the alarm ApiLatencyP99, which
  // therefore does not go off.
  ['the store hangs', () => whileStore(hang, () => sendOnce({ milliseconds: 2_300 })), ['Api5xxRate']],
  ['the store cannot be reached', whileUnreachable, ['Api5xxRate']],
  ['the store denies access', whileRefusing('AccessDeniedException'), ['Api5xxRate', 'OperationFaults']],
  ['the store refuses malformed calls', whileRefusing('ValidationException'), ['Api5xxRate', 'OperationFaults']],
  ['the table is gone', () => whileFunction('operation', { TABLE_NAME: 'lost' }), ['Api5xxRate', 'OperationFaults']],
  ['the operation has a bug', () => whileFunction('operation', 'has a bug'), ['Api5xxRate', 'OperationFaults']],
  ['the operation throws', () => whileFunction('operation', 'throws'), ['Api5xxRate', 'OperationErrors']],
  ['the operation crashes', () => whileFunction('operation', 'crashes'), ['Api5xxRate', 'OperationErrors']],
  [
    'the operation times out',
    () => whileFunction('operation', 'takes too long'),
    [...timingOut, 'OperationErrors', 'OperationDuration'],
  ],
  ['the authorizer throws', () => whileFunction('authorizer', 'throws'), ['Api5xxRate', 'AuthorizerErrors']],
  ['the authorizer crashes', () => whileFunction('authorizer', 'crashes'), ['Api5xxRate', 'AuthorizerErrors']],
  [
    'the authorizer times out',
    () => whileFunction('authorizer', 'takes too long'),
    [...timingOut, 'AuthorizerErrors', 'AuthorizerDuration'],
  ],
  [
    'the issuer is down, and the authorizer has just started',
    () => stack.issuer.refuseConnections(() => whileFunction('authorizer', {})),
    withoutKeys,
  ],
  [
    'the issuer is down, and the authorizer has keys',
    async () => {
      await send();
      return stack.issuer.refuseConnections(() => whileFunction('authorizer', 'runs ten minutes later'));
    },
    ['AuthorizerKeysNotFetched'],
  ],
  ['the token is expired', sendExpiredToken, ['Api4xxRate']],
  ['the token is missing', () => send({ headers: { authorization: '' } }), ['Api4xxRate']],
  ['the body is not valid', () => send({ body: '{}' }), ['Api4xxRate']],
  ['the id belongs to another plant', () => sendTwice('Fern'), ['Api4xxRate', 'ConflictRate']],
];

describe('if a fault hits every request for twenty minutes, the expected alarms go off and no others:', () => {
  test.each(faults)('%s', async (_, meet, alarms) => {
    expect(alarmsIn20Minutes(await meet())).toEqual(alarms);
  });
});

test('if a quarter of the requests conflict, the alarm ConflictRate goes off, but the alarm Api4xxRate does not go off yet', async () => {
  const [created, conflict] = [await send(), await sendTwice('Fern')];
  expect(alarmsIn20Minutes(created, created, created, conflict)).toEqual(['ConflictRate']);
});

test('a slow operation, throttling and high concurrency (simulated, because the emulator cannot produce them) set off their alarms', async () => {
  const functionName = stack.nameOf(createPlantRoute);
  const throttled: Occurrence[] = [
    { kind: 'throttle', functionName },
    { kind: 'response', status: 503, milliseconds: 20 },
  ];
  expect(alarmsIn20Minutes(throttled)).toEqual(['Api5xxRate', 'OperationThrottles']);
  expect(alarmsIn20Minutes([{ kind: 'concurrency', invocations: 900 }])).toEqual(['Concurrency']);
  expect(alarmsIn20Minutes(await send({ milliseconds: 4_500 }))).toEqual(['ApiLatencyP99', 'OperationDuration']);
});

test('a new version that answers 500 to the smoke test sets off no alarm, which would roll back the deployment', async () => {
  const event = proxyEvent(plant());
  Object.assign(event.requestContext, { requestId: 'smoke-test-d-1' });
  store.fail(undefined, dynamoDbError(400, 'AccessDeniedException'));
  const { log } = await stack.invoke(createPlantRoute, event).finally(() => store.fail(undefined));
  const lines = log.map(({ functionName, ...line }) => ({ kind: 'line', functionName, line }) as const);
  expect(lines).toEqual([expect.objectContaining({ line: expect.objectContaining({ level: 'ERROR' }) })]);
  recorded.push(...lines);
  expect(alarmsIn20Minutes(lines)).toEqual([]);
});

test('an ordinary day sets off no alarm, even though clients make mistakes and one request every twelve minutes gets a 503', async () => {
  const created = await send();
  const mistakes = [await send({ body: '{}' }), await sendExpiredToken(), await sendTwice('Fern')];
  const minute = [...Array<Occurrence[]>(21).fill(created), await sendTwice(), ...mistakes].flat();
  const hiccup = await whileUnreachable();
  const hiccups = Array.from({ length: 120 }, (_, index) => eachMinute(12 * index + 6, 12 * index + 7, hiccup));
  expect(raisedAlarms(template, [...eachMinute(0, 24 * 60, minute), ...hiccups.flat()])).toEqual([]);
});

/**
 * A broken version of a function: what is wrong, how to send a request to this version, and which alarms go off if this
 * version gets every request.
 */
type BrokenVersion = [of: Role, what: string, meet: () => Promise<Occurrence[]>, alarms: string[]];

const version = (of: Role, what: string, misbehaviour: string | object, alarms: string[]): BrokenVersion => [
  of,
  what,
  () => whileFunction(of, misbehaviour),
  alarms,
];

const rolledBack: BrokenVersion[] = [
  version('operation', 'cannot start', { TABLE_NAME: '' }, ['Api5xxRate', 'OperationErrors']),
  version('operation', 'throws', 'throws', ['Api5xxRate', 'OperationErrors']),
  version('operation', 'crashes', 'crashes', ['Api5xxRate', 'OperationErrors']),
  version('operation', 'times out', 'takes too long', [...timingOut, 'OperationErrors', 'OperationDuration']),
  version('operation', 'has a bug', 'has a bug', ['Api5xxRate', 'OperationFaults']),
  version('operation', 'uses another table', { TABLE_NAME: 'lost' }, ['Api5xxRate', 'OperationFaults']),
  ['operation', 'lacks a permission', whileRefusing('AccessDeniedException'), ['Api5xxRate', 'OperationFaults']],
  version('authorizer', 'cannot start', { JWKS_URI: '' }, ['Api5xxRate', 'AuthorizerErrors']),
  version('authorizer', 'throws', 'throws', ['Api5xxRate', 'AuthorizerErrors']),
  version('authorizer', 'crashes', 'crashes', ['Api5xxRate', 'AuthorizerErrors']),
  version('authorizer', 'times out', 'takes too long', [...timingOut, 'AuthorizerErrors', 'AuthorizerDuration']),
  version('authorizer', 'fetches keys elsewhere', { JWKS_URI: 'https://127.0.0.1:1' }, withoutKeys),
];

/**
 * Broken versions that neither throw nor log a fault. Only the API's alarms notice them, and those alarms cause no
 * roll-back.
 */
const notRolledBack: BrokenVersion[] = [
  version('operation', 'returns 500 and logs nothing', 'returns 500', ['Api5xxRate']),
  ['operation', 'does not reach the store', whileUnreachable, ['Api5xxRate']],
  version('operation', 'refuses every body', 'loses the body', ['Api4xxRate']),
  version('authorizer', 'refuses every token', { ISSUER: 'https://other.example' }, ['Api4xxRate']),
];

for (const [verdict, versions] of Object.entries({ 'rolled back': rolledBack, 'not rolled back': notRolledBack })) {
  test.each(versions)(
    `a new version of the %s that %s is ${verdict} while it gets a tenth of the requests for five minutes`,
    async (of, _, meet, alarms) => {
      const earlier = await send();
      const broken = await meet();
      const minute = [...Array<Occurrence[]>(9).fill(earlier), broken].flat();
      const rollBack = rollBackAlarms(template, stack.nameOf(routeOf(of)));
      const raised = raisedAlarms(template, eachMinute(0, 5, minute)).filter((alarm) => rollBack.includes(alarm));
      expect(raised.length > 0 ? 'rolled back' : 'not rolled back').toBe(verdict);
      expect(alarmsIn20Minutes(broken)).toEqual(alarms);
    },
  );
}

test('each metric filter matches some of the lines that its function logged in these tests, but not every line', () => {
  const checks = filterChecks(template, recorded);
  const patternOf = ({ pattern }: { pattern: string }): string => pattern;
  // Every pattern must have been checked, but not every metric filter: each operation has its own filters with the same
  // patterns, and only one operation logs lines here.
  expect(new Set(checks.map(patternOf))).toEqual(new Set(metricFilters(template as Template).map(patternOf)));
  for (const { pattern, lines, matching } of checks) {
    expect(matching, `lines that match ${pattern}`).not.toEqual([]);
    expect(matching.length, `lines that match ${pattern}`).toBeLessThan(lines.length);
  }
  report(checks.map(filterCommand).join('\n'));
});
