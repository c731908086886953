/**
 * Rehearses the alarms: breaks a function's new version or the store, and evaluates the template's metric filters and
 * alarms. Each request is really sent, but only once. It is counted as if it were sent in every minute.
 */
import type { LogLine } from 'http-api-emulator/testing';
import { expect, inject, test } from 'vitest';
import { bodyOf, createOperation, createRoute, proxyEvent } from '../data/index.ts';
import { dynamoDbError } from '../store/index.ts';
import {
  type FunctionName,
  longTimeout,
  matchesPattern,
  metricFilters,
  misbehaving,
  raisedAlarms,
  record,
  rollBackAlarms,
  startTrial,
  valuesOfLog,
} from '../trial/index.ts';
import { untilAvailable } from '../waiting.ts';
import { part } from './part.ts';

export const testAlarms = part('alarms', async () => {
  const change = { wrapper: misbehaving };
  const { store, stack } = await startTrial({ authorizer: change, operations: change });

  const template = inject('template');

  /** What the functions have logged so far, in all tests. */
  const logged: LogLine[] = [];

  /** Sends one request, and does not repeat it. @returns what it adds to the metrics */
  const sendOnce = async (headers: Record<string, string> = {}, body = bodyOf()) => {
    const all = { authorization: `Bearer ${stack.token}`, 'content-type': 'application/json', ...headers };
    const sent = () => fetch(stack.url + createOperation.path, { method: createOperation.method, headers: all, body });
    const { response, values, log } = await record(template, stack, sent);
    logged.push(...log);
    return { status: response.status, values };
  };

  /** Sends a request. @returns what its last attempt adds to the metrics */
  const send = async (headers?: Record<string, string>, body?: string) =>
    (await untilAvailable(() => sendOnce(headers, body))).values;

  type Values = Awaited<ReturnType<typeof send>>;
  type Role = 'authorizer' | 'operation';

  const routeOf = (role: Role): FunctionName => (role === 'authorizer' ? role : createRoute);

  /** Sends a request while a function misbehaves, or with these environment variables, for which it starts anew. */
  const whileFunction = async (role: Role, misbehaviour: string | object): Promise<Values> => {
    const which = routeOf(role);
    // A function that takes too long runs until its time-out, so set a short time-out to keep the test short.
    stack.setFunctionTimeout(which, misbehaviour === 'takes too long' ? 50 : longTimeout);
    const header = typeof misbehaviour === 'string' ? misbehaviour : JSON.stringify(misbehaviour);
    return send({ [`x-${role}`]: header }).finally(() => stack.setFunctionTimeout(which, longTimeout));
  };

  const whileRefusing = async (error: string): Promise<Values> => {
    store.fail(undefined, dynamoDbError(400, error));
    return (await sendOnce().finally(() => store.fail(undefined))).values;
  };

  const whileUnreachable = async (): Promise<Values> => (await store.refuseConnections(sendOnce)).values;

  const whileIssuerIsDown = async (): Promise<Values> => {
    await send();
    return stack.issuer.refuseConnections(() => whileFunction('authorizer', 'runs ten minutes later'));
  };

  /** A broken version of a function or something around it: what is wrong, a request, and the alarms that go off. */
  type Case = [of: Role, what: string, request: string | object | (() => Promise<Values>), alarms: string[]];

  /** 5xx spend the error budget. */
  const unavailable = ['Page', 'Ticket'];
  const operation = ['OperationErrors', ...unavailable];
  const faults = ['OperationFaults', ...unavailable];
  const authorizer = ['AuthorizerErrors', ...unavailable];
  const withoutKeys = ['AuthorizerKeysNotFetched', ...authorizer];

  const rolledBack: Case[] = [
    ['operation', 'cannot start', { TABLE_NAME: '' }, operation],
    ['operation', 'throws', 'throws', operation],
    ['operation', 'crashes', 'crashes', operation],
    ['operation', 'times out', 'takes too long', operation],
    ['operation', 'has a bug', 'has a bug', faults],
    ['operation', 'uses another table', { TABLE_NAME: 'lost' }, faults],
    ['operation', 'lacks a permission', () => whileRefusing('AccessDeniedException'), faults],
    ['authorizer', 'cannot start', { JWKS_URI: '' }, authorizer],
    ['authorizer', 'throws', 'throws', authorizer],
    ['authorizer', 'crashes', 'crashes', authorizer],
    ['authorizer', 'times out', 'takes too long', authorizer],
    ['authorizer', 'fetches keys elsewhere', { JWKS_URI: 'https://127.0.0.1:1' }, withoutKeys],
  ];

  /** Versions that neither throw nor log a fault, or that work while something else is broken. */
  const notRolledBack: Case[] = [
    ['operation', 'works', () => send(), []],
    ['operation', 'returns 500 and logs nothing', 'returns 500', unavailable],
    ['operation', 'does not reach the store', whileUnreachable, unavailable],
    ['operation', 'is throttled by the store', () => whileRefusing('ThrottlingException'), unavailable],
    ['operation', 'refuses every body', 'loses the body', ['Api4xxRate', 'Ticket']],
    ['operation', 'gets invalid bodies', () => send({}, '{}'), ['Api4xxRate', 'Ticket']],
    ['authorizer', 'refuses every token', { ISSUER: 'https://other.example' }, ['Api4xxRate', 'Ticket']],
    ['authorizer', 'has keys while the issuer is down', whileIssuerIsDown, ['AuthorizerKeysNotFetched', 'Ticket']],
  ];

  /**
   * Leaves out the alarms of single windows, such as Latency1h, and replaces the operation's name with `Operation`,
   * because every operation has the same alarms.
   */
  const inRoles = (alarms: string[]): string[] => {
    const name = stack.nameOf(createRoute).replace(/[\dA-F]{8}$/, '');
    return alarms.filter((alarm) => !/\d[mhd]$/.test(alarm)).map((alarm) => alarm.replace(name, 'Operation'));
  };

  /** The values of ten requests in each minute. */
  const each = (minutes: number, values: Values): Values[] =>
    Array<Values>(minutes).fill(Array(10).fill(values).flat());

  for (const [verdict, cases] of Object.entries({ 'rolled back': rolledBack, 'not rolled back': notRolledBack })) {
    test.each(cases)(
      `a new version is ${verdict} while it gets a tenth of the requests for five minutes if the %s %s`,
      async (of, _, request, alarms) => {
        const earlier = Array<Values>(9).fill(await send());
        const broken = await (typeof request === 'function' ? request() : whileFunction(of, request));
        const rollBack = rollBackAlarms(template, stack.nameOf(routeOf(of)));
        const raised = raisedAlarms(template, each(5, [...earlier, broken].flat()));
        expect(raised.some((alarm) => rollBack.includes(alarm)) ? 'rolled back' : 'not rolled back').toBe(verdict);
        expect(inRoles(raisedAlarms(template, each(20, broken))), 'if it gets all requests').toEqual(alarms);
      },
    );
  }

  test('a new version that answers 500 to the smoke test sets off no alarm, which would roll back the deployment', async () => {
    const event = proxyEvent(bodyOf());
    Object.assign(event.requestContext, { requestId: 'smoke-test-d-1' });
    store.fail(undefined, dynamoDbError(400, 'AccessDeniedException'));
    const { log } = await stack.invoke(createRoute, event).finally(() => store.fail(undefined));
    expect(log).toMatchObject([{ level: 'ERROR' }]);
    logged.push(...log);
    expect(raisedAlarms(template, each(20, valuesOfLog(template, log)))).toEqual([]);
  });

  test('each metric filter matches some of the lines that its function logged in these tests, but not every line', () => {
    for (const { of, pattern } of metricFilters(template)) {
      const lines = logged.filter(({ functionName }) => functionName === of);
      // Only one operation logs lines here; the others have filters with the same patterns.
      if (lines.length === 0) continue;
      const matching = lines.filter((line) => matchesPattern(pattern, line));
      expect(matching, `lines that match ${pattern}`).not.toEqual([]);
      expect(matching.length, `lines that match ${pattern}`).toBeLessThan(lines.length);
    }
  });
});
