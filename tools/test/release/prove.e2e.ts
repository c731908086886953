/** Rehearses `npm run prove`: its scripts run, with programs that play an AWS account. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../../test/kit/local-service.ts';
import { startIn } from '../../release/project-copy.ts';
import { type Options, prove, type Surroundings } from '../../release/prove/run.ts';
import { steps } from '../../release/prove/steps.ts';
import { copyVersion, entry } from '../../release/prove/versions.ts';
import { account, FakeAccount } from './kit/fake-account.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const never = new AbortController().signal;

let fake: FakeAccount;
let folder: string;
let said: string[];
beforeEach(async () => {
  const temporary = await temporaryFolder();
  folder = path.join(temporary.folder, 'prove');
  fake = new FakeAccount();
  await fake.start(temporary.folder);
  said = [];
  onTestFinished(() => Promise.all([fake.close(), temporary.remove()]).then(() => {}));
});

const run = (options: Partial<Options> = {}, more: Partial<Surroundings> = {}): Promise<number> =>
  prove(
    { account, region: 'eu-central-1', yes: true, ...options },
    {
      folder,
      scale: 0,
      run: async (script, environment) => {
        const variables = { ...environment, FAKE_ACCOUNT: fake.url, PATH: `${fake.bin}:${process.env['PATH']}` };
        const command = ['sh', '-c', script] as [string, ...string[]];
        const { ended, output, stdout } = startIn({ folder: root, temporary: folder }, command, never, variables);
        return { code: await ended, stdout: stdout(), output: output() };
      },
      ask: () => Promise.reject(new Error('asked')),
      say: (line) => said.push(line),
      stop: never,
      ...more,
    },
  );

const report = (): string => readFileSync(path.join(folder, 'report.md'), 'utf8');

test('a whole run is as expected, leaves nothing, and its report has neither the account nor secrets', async () => {
  const code = await run();
  const verdicts = said.filter((line) => /^ {2}(?!as expected|seen|not tried: .*no field with text)/.test(line));
  expect(verdicts).toEqual([]);
  expect(code).toBe(0);
  expect([...fake.stacks.keys(), ...fake.kept]).toEqual([]);
  expect(report().match(/^\| .*(?:as expected|seen|not tried) \| \d+ \|$/gm)).toHaveLength(steps.length);
  expect(report()).toContain('Left in the account: nothing.');
  expect(report()).not.toMatch(new RegExp(`${account}|eyJ|AKIA|eu-central-1_|@`));
});

test('with credentials of another account, or version 1 of the AWS CLI, a run changes nothing', async () => {
  fake.account = '000000000000';
  await expect(run()).rejects.toThrow(`The credentials are those of the account 000000000000, not ${account}.`);
  expect(fake.commands).toEqual(['aws --version', 'aws sts get-caller-identity --query Account']);
  fake.version = 'aws-cli/1.45.11';
  await expect(run()).rejects.toThrow('This needs version 2 of the AWS CLI: aws-cli/1.45.11');
});

test('if the account already has something with the name of a stack, a run changes nothing', async () => {
  fake.kept.push(['table', 'PlantStore-prod-prove-Table']);
  await expect(run()).rejects.toThrow(/Nothing was changed\..*:\nPlantStore-prod-prove-Table$/);
  expect(fake.commands.filter((command) => /^npx|delete|update/.test(command))).toEqual([]);
});

/** A run whose steps are all done, so that only the clean-up is left. */
const cleanUp = (): Promise<number> => {
  const results = steps.map(() => ({ verdict: 'as expected', observed: '', minutes: 0 }));
  const state = { account, region: 'eu-central-1', commit: 'abc', started: 0, results };
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'state.json'), JSON.stringify(state));
  return run({ cleanUp: true });
};

test.each(['role', 'table', 'log', 'pool'])(
  'if a %s cannot be deleted, the rest is, and the exit code is 1',
  async (kind) => {
    const stack = 'PlantStore-prod-prove';
    const kept: FakeAccount['kept'] = [
      ['role', `${stack}-R`],
      ['table', `${stack}-T`],
      ['log', `${stack}-L`],
      ['pool', 'eu-central-1_prod'],
    ];
    fake.kept.push(...kept, ['table', 'PlantStore-Plants'], ['role', 'PlantStore-prod-R']);
    fake.undeletable.push(kind);
    expect(await cleanUp()).toBe(1);
    const [, left = ''] = kept.find((each) => each[0] === kind) ?? [];
    expect(fake.kept).toEqual([
      [kind, left],
      ['table', 'PlantStore-Plants'],
      ['role', 'PlantStore-prod-R'],
    ]);
    expect(said.join('\n')).toContain('Something is left:\n');
    expect(report()).toMatch(/Left in the account: \S/);
  },
);

test.each(['lambda list-functions', 'cloudwatch describe-alarms', 'resourcegroupstaggingapi get-resources'])(
  'if AWS refuses %s, nobody says that nothing is left',
  async (refused) => {
    fake.refused = refused;
    await expect(cleanUp()).rejects.toThrow('AccessDenied');
    expect(report()).toContain('Left in the account: everything so far.');
  },
);

/** The event of a request whose body is missing, which a good version refuses with 400. */
const request = (requestId: string): object => ({ requestContext: { requestId } });
const [client, smokeTest] = [request('Qc='), request('smoke-test-d-1')];

test.each<[version: string, file: string, event: object, answer: unknown, action?: string]>([
  ['good', entry, client, 400],
  ['throws at start', entry, client, 'Error: broken on purpose'],
  ['responds 500', entry, client, 500],
  ['lets a forged token through', 'authorizer.lambda.ts', client, true],
  ['lacks a grant', entry, client, 400, 'dynamodb:GetItem'],
  ['needs a new grant', entry, client, 'CredentialsProviderError', 'dynamodb:DescribeTable'],
  ['fails for clients only', entry, client, 500],
  ['fails for clients only', entry, smokeTest, 400],
  ['has a smoke test that never reports', 'smoke-test.lambda.ts', client, null],
])('the version "%s" can be bundled, and its %s does with %j: %j', async (version, file, event, answer, action) => {
  mkdirSync(folder, { recursive: true });
  for (const [name, value] of Object.entries({ AWS_REGION: 'eu-central-1', TABLE_NAME: 'table' }))
    vi.stubEnv(name, value);
  for (const method of ['info', 'error'] as const) vi.spyOn(console, method).mockReturnValue();
  const copy = await copyVersion(version, folder);
  const [{ bundle }, { grants }] = await Promise.all([
    import(path.join(copy, 'infra/bundling.ts')),
    import(path.join(copy, 'infra/operations.ts')),
  ]);
  const bundled = path.join(copy, 'bundle.cjs');
  writeFileSync(bundled, bundle(file));
  const context = { getRemainingTimeInMillis: () => 5_000 };
  const answered = await (async () => createRequire(bundled)(bundled).handler(event, context))().then(
    (value) => value?.statusCode ?? value?.isAuthorized ?? value ?? null,
    (error: Error) => (error.name === 'Error' ? String(error) : error.name),
  );
  expect(answered).toBe(answer);
  if (action !== undefined) expect(JSON.stringify(grants)).toContain(`"${action}"`);
});
