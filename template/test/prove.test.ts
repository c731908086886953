/** Tests a run of the proof on AWS without its scripts, which template/test/prove.e2e.ts rehearses. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Stopped } from '@lambda-service/tools/terminal';
import { beforeEach, expect, test } from 'vitest';
import { notTried, redact } from '../prove/report.ts';
import type { Surroundings } from '../prove/run.ts';
import { type Step, steps } from '../prove/steps.ts';
import { account, commit, type RunOptions, startRehearsal } from './kit/rehearsal.ts';

/** What each step prints if all goes well. `deploy dev` and `deploy prod` are the only ones that others need. */
const printed = (script: string): string => (/^deploy$/m.test(script) ? 'CREATE_COMPLETE' : 'something');

let rehearsal: Awaited<ReturnType<typeof startRehearsal>>;
let ran: string[];
beforeEach(async () => {
  rehearsal = await startRehearsal();
  ran = [];
});

/** `fails` names a script that fails with this output and code; after `stopAfter`, the user stops the run. */
type Fake = {
  fails?: string | undefined;
  output?: string;
  code?: number;
  stopAfter?: string | undefined;
  /** What other commands than the steps print. */
  answers?: Record<string, string>;
};

const silent = ['check_credentials', 'check_account', 'clean_up', 'still_listed', 'remains'];

/** Runs with the scripts' names instead of the scripts. */
const run = (fake: Fake = {}, options: RunOptions = {}, more: Partial<Surroundings> = {}): Promise<number> => {
  const stop = new AbortController();
  const answers = { ...Object.fromEntries(silent.map((name) => [name, ''])), check_tools: commit, ...fake.answers };
  const runScript: Surroundings['run'] = async (script) => {
    const isOf = (step: Step) => script.includes(`\nuse ${step.kind}; `) && script.endsWith(step.script);
    const name = steps.find(isOf)?.name ?? script.split('\n').at(-1) ?? '';
    ran.push(name);
    if (name === fake.stopAfter) stop.abort(new Stopped('Stopped.'));
    if (name === fake.fails) return { code: fake.code ?? 1, stdout: '', output: fake.output ?? `boom | by ${account}` };
    const stdout = new Map(Object.entries(answers)).get(name) ?? printed(script);
    return { code: 0, stdout, output: stdout };
  };
  return rehearsal.run(options, { run: runScript, stop: stop.signal, ...more });
};

const names = steps.map(({ name }) => name);
const rowOf = (name: string): string =>
  rehearsal
    .report()
    .split('\n')
    .find((line) => line.includes(`| ${name} |`)) ?? '';

test('each step has another name, and something to do', () => {
  expect(new Set(names).size).toBe(steps.length);
  for (const { kind, expected, script } of steps) {
    expect(['dev', 'prod']).toContain(kind);
    expect(expected).not.toBe('');
    expect(script.trim()).not.toBe('');
    expect(() => new RegExp(expected.replace(/^\?/, ''))).not.toThrow();
  }
});

test('the steps, and what the report names as not tried, cover every item of the list in template/prove/README.md', () => {
  const list = readFileSync(new URL('../prove/README.md', import.meta.url), 'utf8').split('## The list')[1] ?? '';
  const items = [...list.matchAll(/^- \*\*\[?(.+?)[.\]]/gm)].map(([, item]) => item);
  expect(items).toContain('Gateway');
  const covered = new Set([...steps.map(({ about }) => about), ...notTried.map(([about]) => about), 'Besides']);
  expect([...items, 'Besides'].sort()).toEqual([...covered].sort());
});

/** The steps that create the stacks, one that needs a stack, and the last one. */
const places = ['deploy dev', 'the first token', 'deploy prod', names.at(-1) ?? ''];

test.each(places)('a failure of "%s" is in the report, the other steps run, and all is removed', async (name) => {
  expect(await run({ fails: name })).toBe(1);
  const kind = /^deploy (dev|prod)$/.exec(name)?.[1];
  const skipped = steps.filter((step) => step.kind === kind && step.name !== name).map((step) => step.name);
  expect(ran).toEqual([
    'check_tools',
    'check_account',
    ...names.filter((each) => !skipped.includes(each)),
    'clean_up',
    'still_listed',
    'remains',
  ]);
  expect(rowOf(name)).toMatch(/ \| boom \\\| by <account> \| failed \| 0 \|$/);
  for (const each of skipped) expect(rowOf(each)).toMatch(/ \| there is no stack \| not tried \| 0 \|$/);
  expect(rehearsal.report()).toContain('Left in the account: nothing.');
  expect(rehearsal.hasState()).toBe(false);
});

test.each(places)('after an interruption of "%s", a run continues with the next step', async (name) => {
  await expect(run({ stopAfter: name })).rejects.toThrow('Stopped.');
  expect(rehearsal.said.join('\n')).toContain(
    `To remove everything: npx node template/prove/main.ts --account ${account} --region eu-central-1 --clean-up`,
  );
  expect(rehearsal.report()).toContain('Left in the account: everything so far.');
  await run();
  expect(ran.filter((each) => names.includes(each))).toEqual(names);
  expect(
    ran.filter((each) => each === 'check_account'),
    'not again',
  ).toHaveLength(1);
});

test.each([
  ['check_tools', 'The credentials are those of the account 1.'],
  ['check_account', 'Nothing was changed.'],
])('if %s fails, nothing is begun', async (fails, output) => {
  await expect(run({ fails, output })).rejects.toThrow(output);
  expect(ran.filter((each) => names.includes(each))).toEqual([]);
  expect(rehearsal.hasState()).toBe(false);
});

test('a run asks first, says what it will do, and begins nothing without a yes', async () => {
  const asked: string[] = [];
  const ask = async (question: string) => {
    asked.push(question);
    return 'no';
  };
  expect(await run({}, { yes: false }, { ask })).toBe(1);
  expect(asked).toEqual(['Type yes to begin: ']);
  expect(rehearsal.said.join('\n')).toMatch(
    new RegExp(`account ${account}, region eu-central-1.*PlantStore-dev-prove.*hours.*cost`, 's'),
  );
  expect(ran).toEqual(['check_tools', 'check_account']);
});

test('what is left stands in the report, and --clean-up tries again', async () => {
  expect(await run({ answers: { remains: 'stack PlantStore-prod-prove\nrole x' } })).toBe(1);
  expect(rehearsal.report()).toContain('Left in the account: stack PlantStore-prod-prove, role x.');
  expect(rehearsal.said.join('\n')).toContain('Something is left:\nstack PlantStore-prod-prove\nrole x\n');
  ran = [];
  await run({}, { cleanUp: true });
  expect(ran).toEqual(['check_credentials', 'clean_up', 'still_listed', 'remains']);
  expect(rehearsal.hasState()).toBe(false);
  await expect(run({}, { cleanUp: true })).rejects.toThrow('The account has nothing to clean up.');
});

test.each([
  [account, ['clean_up', 'still_listed', 'remains']],
  ['yes', []],
])('without a run, --clean-up says what is there, and the answer %s leads to: %j', async (answer, then) => {
  const ask = async () => answer;
  expect(await run({ answers: { remains: 'table x' } }, { yes: false, cleanUp: true }, { ask })).toBe(1);
  expect(rehearsal.said[0]).toBe('No run has begun here. This would be removed:\ntable x');
  expect(ran).toEqual(['check_credentials', 'remains', ...then]);
});

test('what only the list of tags still has is in the report, and does not count as left', async () => {
  await run({ answers: { still_listed: 'arn:x' } });
  expect(rehearsal.hasState()).toBe(false);
  expect(rehearsal.report()).toContain('Left in the account: nothing.\n\nAWS still lists, perhaps for hours: arn:x.');
});

test('if AWS refuses a list after the clean-up, nobody says that nothing is left', async () => {
  await expect(run({ fails: 'remains', output: 'AccessDenied' })).rejects.toThrow('AccessDenied');
  expect(rehearsal.report()).toContain('Left in the account: everything so far.');
  expect(rehearsal.hasState()).toBe(true);
});

test('a damaged state is named', async () => {
  await expect(run({ stopAfter: names[3] })).rejects.toThrow('Stopped.');
  writeFileSync(path.join(rehearsal.folder, 'state.json'), '{');
  await expect(run({}, { cleanUp: true })).rejects.toThrow(/state\.json is damaged\. Delete it/);
});

test('if the report cannot be written, the user still learns how to remove everything', async () => {
  mkdirSync(path.join(rehearsal.folder, 'report.md'));
  await expect(run({ stopAfter: names[3] })).rejects.toThrow('EISDIR');
  expect(rehearsal.said.join('\n')).toContain('To remove everything: ');
});

test('a run in one account or region is not continued in another, and not at another commit', async () => {
  await expect(run({ stopAfter: names[3] })).rejects.toThrow('Stopped.');
  await expect(run({}, { region: 'us-east-1' })).rejects.toThrow('First end the run in the account');
  await expect(run({}, { account: '000000000000' })).rejects.toThrow('First end the run in the account');
  await expect(run({ answers: { check_tools: 'another' } })).rejects.toThrow(`The run began at the commit ${commit}`);
});

test.each([
  ['ExpiredToken', 1],
  ['The security token included in the request is expired', 0],
])('a run stops if the credentials expire (%s), so that no step fails for that', async (output, code) => {
  await expect(run({ fails: names[5], output, code })).rejects.toThrow('The AWS credentials have expired');
  expect(rowOf(names[5] ?? '')).toMatch(/the run ended before \| not tried/);
  await run();
  expect(rowOf(names[5] ?? '')).not.toContain('the run ended before');
});

test.each([
  ['arn:aws:iam::210987654321:user/anna@example.com is', 'arn:aws:iam::<account>:user/<name> is'],
  ['assumed-role/Admin/anna or federated-user/anna', 'assumed-role/<name> or federated-user/<name>'],
  ['cdk-hnb659fds-assets-210987654321-eu-central-1', 'cdk-hnb659fds-assets-<account>-eu-central-1'],
  ['https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com', 'https://<api>.execute-api.eu-central-1.amazonaws.com'],
  ['arn:aws:apigateway:eu-central-1::/apis/a1b2c3d4e5', 'arn:aws:apigateway:eu-central-1::/apis/<api>'],
  ['the pool eu-central-1_AbC123xyz', 'the pool eu-central-1_<pool>'],
  ['client 1h57kf5cpq17m0eml12EXAMPLE', 'client <secret>'],
  ['secret 1a2b3c4d5e6f7g8h9i0j1k2l3m4n5o6p7q8r9s0t1u2v3w4x5y6', 'secret <secret>'],
  ['Bearer eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln', 'Bearer <token>'],
  [`AKIAIOSFODNN7EXAMPLE and ${'ASIA'}IOSFODNN7EXAMPLE`, '<key> and <key>'],
  ['wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY1', '<secret>'],
  ['mail to me@a.example, please', 'mail to <email>, please'],
  ['from 203.0.113.7', 'from <address>'],
  ['from 2001:db8::7 or 2001:db8:0:1:2:3:4:5 at 10:00:00', 'from <address> or <address> at 10:00:00'],
  ['at /Users/anna.smith/x and /home/anna/y', 'at /Users/<name>/x and /home/<name>/y'],
  ['arn:aws:execute-api:eu-central-1:210987654321:a1b2c3d4e5/*', 'arn:aws:execute-api:eu-central-1:<account>:<api>/*'],
  ['ApiId=a1b2c3d4e5', 'ApiId=<api>'],
  ['iam::210987654321:role/anna-admin may', 'iam::<account>:role/<name> may'],
  ['role/PlantStore-prod-prove/x and role/cdk-a/b', 'role/PlantStore-prod-prove/x and role/cdk-a/b'],
  ['https://d-a1b2c3d4e5.awsapps.com/start', 'https://<directory>.awsapps.com/start'],
  ['TokenIssuerPoolDomain1A2B3C4D', 'TokenIssuerPoolDomain1A2B3C4D'],
  ['MonitoringPlantStoreprodproveAvailability1hE3B0C442', 'MonitoringPlantStoreprodproveAvailability1hE3B0C442'],
  [`commit ${commit}`, `commit ${commit}`],
  [
    'PlantStore-prod-prove-CreatePlantLogs12AB34CD-a1B2c3D4e5F6',
    'PlantStore-prod-prove-CreatePlantLogs12AB34CD-a1B2c3D4e5F6',
  ],
  ['1 → 2; 0 of 480 requests failed at 1764428000000', '1 → 2; 0 of 480 requests failed at 1764428000000'],
])('redact replaces what is secret in: %s', (text, expected) => {
  expect(redact(text)).toBe(expected);
});
