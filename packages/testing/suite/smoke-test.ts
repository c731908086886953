/** Runs the bundle of the smoke test on the deployed bundles, and on broken versions of these bundles. */
import type { Check } from '@lambda-service/runtime/smoke-test';
import { Functions } from 'http-api-emulator/testing';
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import { type Content, createOperation, itemOf, newId, tableKey } from '../data/index.ts';
import { startCodeDeploy } from '../fake-aws.ts';
import { temporaryFolder } from '../programs/index.ts';
import { startItemStore, storeEnvironment } from '../store/index.ts';
import { type Changes, type FunctionName, startTrialStack, withoutPauses, wrapHandler } from '../trial/index.ts';
import { newChecks } from '../under-test.ts';
import { part } from './part.ts';

export const testSmokeTest = part('smoke test', async () => {
  const { functions, api } = inject('stack');
  const [smokeTest] = functions.filter(({ name }) => name.startsWith('SmokeTest'));
  const checked: FunctionName[] = ['authorizer', ...api.routes.map(({ routeKey }) => routeKey as FunctionName)];

  // All tests deploy to the same store, one after another.
  const store = await startItemStore('items');
  afterAll(store.close);

  /** Starts a version of all functions. `deploy` runs the smoke test on it, and returns what it reports and logs. */
  const startVersion = async (changes: Changes = {}) => {
    const { folder, remove } = await temporaryFolder();
    const stack = await startTrialStack(store.endpoint, changes);
    const codeDeploy = await startCodeDeploy((arn, event) => {
      const which = checked.find((each) => arn.endsWith(`:function:${stack.nameOf(each)}:1`));
      return which ? stack.invoke(which, event) : Promise.resolve({ refused: 'ResourceNotFoundException' });
    });
    if (smokeTest === undefined) throw new Error('The stack has no smoke test.');
    const ofStore = storeEnvironment(store.endpoint);
    const environment = {
      ...smokeTest.environment,
      ...ofStore,
      ...codeDeploy.environment,
      ISSUER: stack.issuer.issuer,
    };
    const tests = new Functions([await wrapHandler({ ...smokeTest, environment }, folder, withoutPauses)]);
    const deploy = async () => {
      const event = { DeploymentId: 'd-1', LifecycleEventHookExecutionId: 'hook-1' };
      const outcome = await tests.invokeByName(smokeTest.name, event);
      expect(outcome).toMatchObject({ result: 'null' });
      const problems = outcome.log.flatMap(({ message }) => {
        const { function: of, check, problem } = Object(message);
        return problem === undefined ? [] : [`${of}, ${check}: ${problem}`];
      });
      const ends = outcome.log.flatMap(({ message }) => /.*deleted$/.exec(Object(message).outcome) ?? []);
      return { report: codeDeploy.reports.shift(), problems, ends };
    };
    const close = async () => void (await Promise.all([tests.close(), codeDeploy.close(), stack.close(), remove()]));
    return { deploy, close };
  };

  const good = await startVersion();
  afterAll(good.close);

  const checks = Object.values(newChecks()).flatMap((each): Check[] => Object.values(each));
  const keys = new Set(checks.flatMap(({ creates }) => (creates ? [JSON.stringify(creates[tableKey.name])] : [])));
  const succeeded = { report: 'd-1 hook-1 Succeeded', problems: [], ends: [...keys].map(() => 'deleted') };
  const failedBy = (problem: string) => ({
    report: 'd-1 hook-1 Failed',
    problems: expect.arrayContaining([expect.stringContaining(problem)]),
  });

  /** The item that a smoke test adds. */
  const [{ body: added }] = Object.values(newChecks()[createOperation.id] ?? {}) as [Check];
  const { [tableKey.name]: key, ...smokeContent } = added as Content;

  test("the deployed bundles pass two smoke tests at the same time, which leave only a client's item in the table", async () => {
    const theirs = itemOf(newId(), smokeContent);
    await store.write(theirs);
    expect(await Promise.all([good.deploy(), good.deploy()])).toEqual([succeeded, succeeded]);
    expect(await store.all()).toEqual([theirs]);
  });

  /** Only if keys are 64-bit integers can a version round them. */
  const rounding: [what: string, changes: Changes, problem: string] = [
    'an operation that rounds ids, as JSON.parse does',
    {
      operations: {
        wrapper: (handler) => (event: { body: string }, context) =>
          handler({ ...event, body: JSON.stringify(JSON.parse(event.body)) } as never, context),
      },
    },
    'the status is 409, not 200',
  ];

  test.each<[what: string, changes: Changes, problem: string]>([
    [
      'an operation that has no table',
      { operations: { environment: { TABLE_NAME: 'other' } } },
      'the status is 500, not 200',
    ],
    ...(typeof key === 'bigint' ? [rounding] : []),
    [
      'an operation that acknowledges a different item with the same id',
      {
        operations: {
          wrapper: (handler) => async (event, context) => {
            const response = Object(await handler(event, context));
            return response.statusCode === 409 ? { ...response, statusCode: 200 } : response;
          },
        },
      },
      'the status is 200, not 409',
    ],
    [
      'an authorizer that allows everything',
      { authorizer: { wrapper: () => async () => ({ isAuthorized: true }) } },
      'authorizer, a forged token: it does not refuse',
    ],
  ])('a version with %s fails the smoke test, and the next good version passes', async (_, changes, problem) => {
    const broken = await startVersion(changes);
    onTestFinished(broken.close);
    expect(await broken.deploy()).toMatchObject(failedBy(problem));
    expect(await good.deploy()).toEqual(succeeded);
  });
});
