/** Rehearses the proof on AWS: its scripts run, with programs that play an AWS account. */
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { esbuildOptions } from '@lambda-service/cdk/bundling';
import { generator } from '@lambda-service/cdk/generated-code';
import { copyProject } from '@lambda-service/testing/copy-project';
import { startIn } from '@lambda-service/tools/checkouts';
import { Stopped } from '@lambda-service/tools/terminal';
import { buildSync } from 'esbuild';
import { beforeEach, expect, test, vi } from 'vitest';
import type { Surroundings } from '../prove/run.ts';
import { steps } from '../prove/steps.ts';
import { changed, changeTo, entry, stack } from '../prove/versions.ts';
import { FakeAccount } from './kit/fake-account.ts';
import { account, type RunOptions, startRehearsal } from './kit/rehearsal.ts';

const root = path.resolve(import.meta.dirname, '../..');

let fake: FakeAccount;
let rehearsal: Awaited<ReturnType<typeof startRehearsal>>;
beforeEach(async () => {
  rehearsal = await startRehearsal();
  fake = new FakeAccount();
  await fake.start(rehearsal.parent);
});

const runScript: Surroundings['run'] = async (script, environment) => {
  const variables = { ...environment, PATH: `${fake.bin}:${process.env['PATH']}` };
  const copy = { folder: root, temporary: rehearsal.folder };
  const { ended, output, stdout } = startIn(copy, ['sh', '-c', script], new AbortController().signal, variables);
  return { code: await ended, stdout: stdout(), output: output() };
};

const run = (options: RunOptions = {}, more: Partial<Surroundings> = {}): Promise<number> =>
  rehearsal.run(options, { run: runScript, ...more });

test('a whole run is as expected, leaves nothing, and its report has neither the account nor secrets', async () => {
  const code = await run();
  const { report, said } = rehearsal;
  const verdicts = said.filter((line) => /^ {2}(?!as expected|seen|not tried: .*no field with text)/.test(line));
  expect(verdicts).toEqual([]);
  expect(code).toBe(0);
  expect([...fake.stacks.keys(), ...fake.kept]).toEqual([]);
  expect(report().match(/^\| .*(?:as expected|seen|not tried) \| \d+ \|$/gm)).toHaveLength(steps.length);
  expect(report()).toContain('Left in the account: nothing.');
  expect(report(), 'why a deployment failed').toContain(`; ${changed} It was stopped.`);
  expect(fake.keyState).toBe('PendingDeletion');
  const moves = fake.commands.filter((command) => command.startsWith('aws lambda update-alias'));
  expect(moves.map((command) => /function-version (\d)/.exec(command)?.[1])).toEqual(['3', '4']);
  expect(report()).not.toMatch(new RegExp(`${account}|eyJ|AKIA|eu-central-1_(?!<pool>)|@`));
});

test('with credentials of another account, or too old an AWS CLI, a run changes nothing', async () => {
  fake.account = '000000000000';
  await expect(run()).rejects.toThrow(`The credentials are those of the account 000000000000, not ${account}.`);
  expect(fake.commands).toEqual(['aws --version', 'aws sts get-caller-identity --query Account']);
  for (const version of ['1.45.11', '2.4.9', '2.9.0', '2.33.99']) {
    fake.version = `aws-cli/${version}`;
    await expect(run()).rejects.toThrow(`This needs version 2.34 of the AWS CLI, or newer: aws-cli/${version}`);
  }
  fake.version = 'aws-cli/2.100.0';
  await expect(run()).rejects.toThrow('The credentials are those of');
});

test('if the account already has something with the name of a stack, a run changes nothing', async () => {
  fake.kept.push(['table', 'PlantStore-prod-prove-Table']);
  await expect(run()).rejects.toThrow(/Nothing was changed\..*:\nPlantStore-prod-prove-Table$/);
  expect(fake.commands.filter((command) => /^npx|delete|update/.test(command))).toEqual([]);
});

const prod = 'PlantStore-prod-prove';

/** What other stacks have. */
const foreign: FakeAccount['kept'] = [
  ['table', 'PlantStore-Plants'],
  ['table', `${prod}-x-Table`],
  ['role', 'PlantStore-prod-R'],
  ['log', `${prod}-x-Logs`],
  ['log', `another-${prod}-Logs`],
];

/** Writes the state of a run that has done its first steps. */
const saveState = (count: number): void =>
  rehearsal.writeState(Array(count).fill({ verdict: 'as expected', observed: '', minutes: 0 }));

const cleanUp = (): Promise<number> => {
  saveState(steps.length);
  return run({ cleanUp: true });
};

/** Runs one step. The user stops the run during the step or, if it may pause, only after it. @returns its line */
const runStep = async (name: string, stops: 'now' | 'later' = 'now'): Promise<string | undefined> => {
  saveState(steps.findIndex((step) => step.name === name));
  const stop = new AbortController();
  const start = (script: string, environment: Record<string, string>) => {
    if (script.includes('use prod; reach')) {
      stop.abort(new Stopped('Stopped.'));
      if (stops === 'now') writeFileSync(path.join(rehearsal.folder, 'stop'), '');
    }
    return runScript(script, environment);
  };
  await expect(run({}, { stop: stop.signal, run: start })).rejects.toThrow('Stopped.');
  return rehearsal.said.find((line) => line.startsWith('  '));
};

test('if roles and tables cannot be deleted, the rest is, and the exit code is 1', async () => {
  fake.create(prod);
  const kinds = ['role', 'table'];
  const left = fake.kept.filter(([kind]) => kinds.includes(kind));
  fake.kept.push(...foreign);
  fake.undeletable.push(...kinds);
  expect(await cleanUp()).toBe(1);
  expect(fake.kept).toEqual([...left, ...foreign]);
  expect(rehearsal.said.join('\n')).toContain('Something is left:\n');
  expect(rehearsal.report()).toMatch(/Left in the account: \S/);
});

test('a stack that cannot be deleted keeps what it needs', async () => {
  fake.create(prod);
  const before = [...fake.kept];
  fake.undeletable.push('stack');
  expect(await cleanUp()).toBe(1);
  expect(fake.kept).toEqual(before);
  expect(rehearsal.report()).toContain(`Left in the account: stack ${prod}, `);
});

test.each([
  'An error occurred (ExpiredToken) when calling the DescribeStacks operation',
  'Error loading SSO Token: Token for default does not exist',
])('a stack of which AWS does not say whether it is gone keeps what it needs: %s', async (refusal) => {
  fake.create(prod);
  const before = [...fake.kept];
  Object.assign(fake, { refused: 'cloudformation describe-stacks', refusal });
  await expect(cleanUp()).rejects.toThrow(refusal);
  expect(fake.kept).toEqual(before);
});

test('the clean-up waits for a stack that is changing, and needs no state of a run', async () => {
  fake.create(prod).status = 'UPDATE_IN_PROGRESS';
  fake.kept.push(...foreign);
  expect(await run({ cleanUp: true })).toBe(0);
  expect([...fake.stacks.keys(), ...fake.kept]).toEqual(foreign);
  expect(fake.commands.filter((command) => command.includes('cdk destroy'))).toHaveLength(1);
});

test.each([
  ...['cloudformation describe-stacks', 'iam list-roles', 'dynamodb list-tables', 'logs describe-log-groups'],
  ...['resourcegroupstaggingapi get-resources', 'cognito-idp describe-user-pool', 'kms describe-key'],
  ...['apigatewayv2 get-apis', 'dynamodb list-backups', 'lambda list-functions', 'deploy list-applications'],
  ...['cloudwatch describe-alarms', 'cloudwatch list-dashboards'],
])('if AWS refuses %s, nobody says that nothing is left', async (refused) => {
  fake.create(prod);
  fake.refused = refused;
  await expect(run({ cleanUp: true })).rejects.toThrow('AccessDenied');
});

test('a run that is stopped finishes a roll-out, so that it does not repeat it', async () => {
  fake.create(prod);
  expect(await runStep('a good version')).toMatch(/^ {2}as expected: UPDATE_COMPLETE/);
});

test('if AWS does not say whether an alarm has gone off, the step does not either', async () => {
  fake.create(prod);
  fake.refused = 'cloudwatch describe-alarm-history';
  expect(await runStep("Faults leaves out the smoke test's 500s")).toMatch(/^ {2}failed: .*AccessDenied/);
});

const published = String.raw`Successfully executed action arn:aws:sns:eu-central-1:\S+; OK after \d+ s`;
const refused = 'Failed to execute action .*"CloudWatch Alarms is not authorized to perform: SNS:Publish.*; OK';

test.each<[what: string, fault: Partial<FakeAccount>, line: string]>([
  ['nothing', {}, `as expected: Page: ${published}; Ticket: ${published}$`],
  ['a topic that refuses pages', { refusing: 'Pages' }, `differs: Page: ${refused} .*; Ticket: ${published}$`],
  ['a topic that refuses tickets', { refusing: 'Tickets' }, `differs: Page: ${published}; Ticket: ${refused} `],
  ['an alarm that does not go off', { silent: 'Ticket' }, `failed: Page: ${published}; not in time: acted Ticket$`],
  ['a page that has not ended', { on: new Set(['Page']) }, 'failed: not in time: is_ok Page$'],
])('whether Page and Ticket leave CloudWatch is in the report; in the way is %s', async (_, fault, line) => {
  fake.create(prod);
  Object.assign(fake, fault);
  expect(await runStep('Page and Ticket leave CloudWatch', 'later')).toMatch(new RegExp(`^ {2}${line}`));
});

/** The event of a request whose body is missing, which a good version refuses with 400. */
const request = (requestId: string): object => ({ requestContext: { requestId } });
const [client, smokeTest] = [request('Qc='), request('smoke-test-d-1')];

test.each<[version: string, file: string, event: object, answer: unknown, action?: string]>([
  ['good', entry, client, 400],
  ['throws at start', entry, client, 'Error: broken on purpose'],
  ['responds 500', entry, client, 500],
  ['lets a forged token through', 'authorizer.lambda.ts', client, true],
  ['good, but lets a forged token through', 'authorizer.lambda.ts', client, true],
  ['good, but lets a forged token through', entry, client, 400],
  ['lacks a grant', entry, client, 400, 'dynamodb:GetItem'],
  ['needs a new grant', entry, client, 'CredentialsProviderError', 'dynamodb:DescribeTable'],
  ['fails for clients only', entry, client, 500],
  ['fails for clients only', entry, smokeTest, 400],
  ['has a smoke test that never reports', 'smoke-test.lambda.ts', client, null],
])('the version "%s" can be bundled, and its %s does with %j: %j', async (version, file, event, answer, action) => {
  for (const [name, value] of Object.entries({ AWS_REGION: 'eu-central-1', TABLE_NAME: 'table' }))
    vi.stubEnv(name, value);
  for (const method of ['info', 'error'] as const) vi.spyOn(console, method).mockReturnValue();
  const copy = path.join(rehearsal.folder, 'copy');
  for (const each of ['functions', 'infra']) cpSync(path.join(root, each), path.join(copy, each), { recursive: true });
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  await changeTo(version, copy);
  const bundled = path.join(copy, 'bundle.cjs');
  const changes = { entryPoints: [path.join(copy, 'functions', file)], outfile: bundled, write: true };
  buildSync({ ...esbuildOptions(file), ...changes });
  const context = { getRemainingTimeInMillis: () => 5_000 };
  const answered = await (async () => createRequire(bundled)(bundled).handler(event, context))().then(
    (value) => value?.statusCode ?? value?.isAuthorized ?? value ?? null,
    (error: Error) => (error.name === 'Error' ? String(error) : error.name),
  );
  expect(answered).toBe(answer);
  if (action === undefined) return;
  expect(readFileSync(path.join(copy, stack), 'utf8')).toContain(`'${action}'`);
});

test('the program runs in its own project, and says which tool it lacks', async () => {
  const { folder, temporary } = await copyProject(rehearsal.parent);
  writeFileSync(path.join(fake.bin, 'aws'), '#!/bin/sh\necho aws-cli/1.45.11\n', { mode: 0o755 });
  const options = ['--account', account, '--region', 'eu-central-1', '--yes'];
  const PATH = `${fake.bin}:${process.env['PATH']}`;
  const start = (...args: string[]) =>
    startIn({ folder, temporary }, [process.execPath, ...args], new AbortController().signal, { PATH });
  expect(await start(...generator).ended).toBe(0);
  const { ended, output } = start('template/prove/main.ts', ...options);
  expect([await ended, output()]).toEqual([1, 'This needs version 2.34 of the AWS CLI, or newer: aws-cli/1.45.11\n']);
  expect(existsSync(path.join(folder, '.prove'))).toBe(true);
});
