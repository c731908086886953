/** Runs the smoke test on the deployed bundles, and on broken versions of these bundles. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest';
import { Functions, type LogLine } from '../../emulator/lambda/functions.ts';
import type { FunctionSpec } from '../../emulator/served-stack.ts';
import { audience } from '../kit/access-tokens.ts';
import { type CodeDeploy, startCodeDeploy } from '../kit/code-deploy.ts';
import { withoutPauses } from '../kit/deployment.ts';
import { temporaryFolder } from '../kit/local-service.ts';
import { type PlantsStore, startPlantsStore } from '../kit/plants-store.ts';
import { startTrialIssuer, type TrialIssuer } from '../kit/trial-issuer.ts';
import { type Handler, longTimeout, wrapHandler } from '../kit/trial-stack.ts';

/**
 * How a broken version differs from the deployed version. `wrapper` is copied as source text, so it cannot use outer
 * variables.
 */
type Change = { wrapper?: (handler: Handler) => Handler; environment?: Record<string, string>; timeout?: number };

const { functions } = inject('stack');
const isAuthorizer = ({ name }: FunctionSpec): boolean => name.startsWith('Authorizer');
const isSmokeTest = ({ name }: FunctionSpec): boolean => name.startsWith('SmokeTest');

let folder: string;
let issuer: TrialIssuer;
let codeDeploy: CodeDeploy;
let smokeTest: Functions;
/** The versions of the functions that the next smoke test checks. */
let versions: Functions;
let store: PlantsStore;

beforeAll(async () => {
  const temporary = await temporaryFolder();
  folder = temporary.folder;
  issuer = await startTrialIssuer();
  codeDeploy = await startCodeDeploy((arn, event) => {
    const [, name = ''] = /:function:(\w+):1$/.exec(arn) ?? [];
    return versions.invokeByName(name, event);
  });
  const own = { ...codeDeploy.environment, ISSUER: issuer.issuer };
  const specs = functions
    .filter(isSmokeTest)
    .map((spec) => brokenBy(spec, { environment: own, wrapper: withoutPauses }));
  smokeTest = new Functions(await Promise.all(specs));
  return temporary.remove;
});
afterAll(async () => {
  await Promise.all([smokeTest.close(), codeDeploy.close(), issuer.close()]);
});
beforeEach(async () => {
  codeDeploy.reports.length = 0;
  store = await startPlantsStore('plants');
  return store.close;
});

const withChange = (spec: FunctionSpec, { environment, timeout = longTimeout }: Change): FunctionSpec => ({
  ...spec,
  timeout,
  environment: { ...spec.environment, ...environment },
});

const brokenBy = async (spec: FunctionSpec, change: Change): Promise<FunctionSpec> => {
  const changed = withChange(spec, change);
  return change.wrapper === undefined ? changed : wrapHandler(changed, folder, change.wrapper);
};

/**
 * Runs the smoke test, as a deployment does, on new versions of the authorizer and of all operations, changed as
 * `changes` says. @returns the smoke test's report and log
 */
const deploy = async (changes: { operations?: Change; authorizer?: Change } = {}) => {
  const ofStore = { ...codeDeploy.environment, AWS_ENDPOINT_URL_DYNAMODB: store.endpoint, TABLE_NAME: 'plants' };
  const ofIssuer = { ISSUER: issuer.issuer, JWKS_URI: issuer.jwksUri, AUDIENCE: audience };
  const specs = functions
    .filter((spec) => !isSmokeTest(spec))
    .map((spec) =>
      isAuthorizer(spec)
        ? brokenBy(withChange(spec, { environment: ofIssuer }), changes.authorizer ?? {})
        : brokenBy(withChange(spec, { environment: ofStore }), changes.operations ?? {}),
    );
  versions = new Functions(await Promise.all(specs), [issuer.certificate]);
  onTestFinished(() => versions.close());
  const [{ name = '' } = {}] = functions.filter(isSmokeTest);
  const event = { DeploymentId: 'd-1', LifecycleEventHookExecutionId: 'hook-1' };
  const outcome = await smokeTest.invokeByName(name, event);
  expect(outcome).toMatchObject({ result: 'null' });
  return { report: codeDeploy.reports.splice(0), log: outcome.log };
};

const failures = (log: LogLine[]): string[] =>
  log.flatMap(({ message }) => {
    const { function: of, check, problem } = Object(message);
    return problem === undefined ? [] : [`${of}, ${check}: ${problem}`];
  });

const [succeeded, failed] = [['d-1 hook-1 Succeeded'], ['d-1 hook-1 Failed']];

test('the deployed bundles pass the smoke test every time, and the smoke test leaves exactly one item in the table', async () => {
  for (let run = 0; run < 2; run++) {
    const { report, log } = await deploy();
    expect([report, failures(log)]).toEqual([succeeded, []]);
    expect(await store.size()).toBe(1);
  }
  expect(await store.read('9223372036854775806')).toBeDefined();
});

describe('a faulty version of an operation fails the smoke test if it', () => {
  test.each<[what: string, change: Change, problem: string]>([
    [
      'cannot be loaded',
      {
        wrapper: () => {
          throw new Error('oops');
        },
      },
      'it failed: Error',
    ],
    ['times out', { wrapper: () => () => new Promise(() => {}), timeout: 100 }, 'it failed: Error'],
    ['has the name of another table', { environment: { TABLE_NAME: 'other' } }, 'the status is 500, not 200'],
    [
      'rounds ids, as JSON.parse does',
      {
        wrapper: (handler) => (event: { body: string }, context) =>
          handler({ ...event, body: JSON.stringify(JSON.parse(event.body)) } as never, context),
      },
      'the status is 400, not 200',
    ],
    [
      'stores nothing',
      {
        wrapper: () => async (event: { body: string }) => {
          const { id, ...content } = JSON.parse(event.body);
          return { statusCode: 200, body: JSON.stringify(content) };
        },
      },
      'the status is 200, not 409',
    ],
    [
      'stores the same whatever it is sent',
      {
        wrapper: (handler) => {
          let first: string | undefined;
          return async (event: { body: string }, context) => {
            first ??= event.body;
            const { id, ...content } = JSON.parse(event.body);
            const response = (await handler({ ...event, body: first } as never, context)) as object;
            return { ...response, body: JSON.stringify(content) };
          };
        },
      },
      'the status is 200, not 409',
    ],
  ])('%s', async (_, change, problem) => {
    const { report, log } = await deploy({ operations: change });
    expect(report).toEqual(failed);
    expect(failures(log)).toContainEqual(expect.stringContaining(`: ${problem}`));
  });
});

describe('a faulty version of the authorizer fails the smoke test if it', () => {
  test.each<[what: string, change: Change, problem: string]>([
    ['allows everything', { wrapper: () => async () => ({ isAuthorized: true }) }, 'it does not refuse'],
    [
      'refuses everything',
      { wrapper: (handler) => (event: object, context) => handler({ ...event, headers: {} } as never, context) },
      'the reason is "no bearer token", not "unknown key"',
    ],
    ['trusts another issuer', { environment: { ISSUER: 'https://other.example' } }, 'the reason is "issuer", not'],
    ['cannot fetch the keys', { environment: { JWKS_URI: 'https://127.0.0.1:1/jwks' } }, 'it failed: Error'],
    ['lacks a variable', { environment: { AUDIENCE: '' } }, 'it failed: Error'],
  ])('%s', async (_, change, problem) => {
    const { report, log } = await deploy({ authorizer: change });
    expect(report).toEqual(failed);
    expect(failures(log)).toEqual([expect.stringContaining(`authorizer, a forged token: ${problem}`)]);
  });
});

/** Wraps an operation so that it overwrites plants: the wrapper deletes the stored plant before each create. */
const overwriting =
  (handler: Handler): Handler =>
  async (event: { body: string }, context) => {
    const [, id] = /"id":(\d+)/.exec(event.body) ?? [];
    await fetch(process.env['AWS_ENDPOINT_URL_DYNAMODB'] ?? '', {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'DynamoDB_20120810.DeleteItem',
        'x-amz-date': '20261121T100000Z',
        authorization: 'AWS4-HMAC-SHA256 Credential=a/b/c/dynamodb/aws4_request, SignedHeaders=a, Signature=b',
      },
      body: JSON.stringify({ TableName: process.env['TABLE_NAME'], Key: { id: { N: id } } }),
    });
    return handler(event as never, context);
  };

test('a version that overwrites plants fails the smoke test, and the next good version still passes', async () => {
  expect((await deploy()).report).toEqual(succeeded);
  const { report, log } = await deploy({ operations: { wrapper: overwriting } });
  expect([report, failures(log)]).toEqual([
    failed,
    [expect.stringMatching(/, a different plant with its id: the status is 200, not 409$/)],
  ]);
  expect((await deploy()).report).toEqual(succeeded);
});

describe("if a client's plant has the usual id, the smoke test", () => {
  const usual = '9223372036854775806';
  const theirs = { id: { N: usual }, name: { S: 'Moss' } };
  beforeEach(() => store.write(theirs));

  test('passes with a random id above 2^53, and leaves that plant as it is', async () => {
    const { report, log } = await deploy();
    expect([report, failures(log)]).toEqual([succeeded, []]);
    expect(await store.read(usual)).toEqual(theirs);
    const others = (await store.all()).filter(({ id }) => id?.N !== usual);
    expect(others).toEqual([expect.objectContaining({ name: { S: 'Smoke test' } })]);
    expect(BigInt(others[0]?.['id']?.N ?? 0)).toBeGreaterThan(2n ** 53n);
    expect((await deploy()).report).toEqual(succeeded);
    expect(await store.size()).toBe(3);
  });

  test.each<[what: string, wrapper: (handler: Handler) => Handler]>([
    ['overwrites plants', overwriting],
    ['answers 409 to every plant', () => async () => ({ statusCode: 409, body: '{"error":40901,"message":""}' })],
  ])('still fails a version that %s', async (_, wrapper) => {
    expect((await deploy({ operations: { wrapper } })).report).toEqual(failed);
  });
});
