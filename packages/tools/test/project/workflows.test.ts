/** Tests what actionlint does not check in the workflows: their commands and permissions. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { testFolder } from '@lambda-service/testing/programs';
import { describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { allowable } from '../../release/diff/verdict.ts';

type Step = { uses?: string; run?: string; with?: Record<string, unknown> };
type Job = { uses?: string; steps?: Step[]; permissions?: Record<string, string>; 'timeout-minutes'?: number };
type Workflow = { on: object; permissions?: object; jobs: Record<string, Job> };

const github = path.resolve(import.meta.dirname, '../../../../.github');
const files = readdirSync(path.join(github, 'workflows'));

const read = (file: string): { text: string; workflow: Workflow } => {
  const text = readFileSync(path.join(github, 'workflows', file), 'utf8');
  return { text, workflow: parse(text) };
};

const jobsOf = (file: string) => Object.values(read(file).workflow.jobs);
const stepsOf = (file: string): Step[] => jobsOf(file).flatMap(({ steps = [] }) => steps);

describe.each(files)('the workflow %s', (file) => {
  const { text, workflow } = read(file);

  test('pins each third-party action to a commit, with the version of the action in a comment', () => {
    const used = [...jobsOf(file), ...stepsOf(file)].flatMap(({ uses }) => uses ?? []);
    expect(used, 'the actions that it uses').not.toEqual([]);
    for (const action of used.filter((each) => !each.startsWith('./'))) {
      expect(action).toMatch(/^[\w-]+\/[\w/-]+@[\da-f]{40}$/);
      const ends = text.split('\n').flatMap((line) => line.split(action)[1] ?? []);
      for (const end of ends) expect(end, action).toMatch(/^ # v\d+\.\d+\.\d+$/);
    }
  });

  test('can only read the repository, except in the jobs that need more permissions', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    const writes = Object.entries(workflow.jobs).flatMap(([name, { permissions = {} }]) =>
      Object.entries(permissions).flatMap(([scope, right]) => (right === 'read' ? [] : [`${name} ${scope}`])),
    );
    const allowed: Record<string, string[]> = {
      'deploy.yml': ['dev id-token', 'dev attestations', 'prod id-token', 'prod attestations'],
      'codeql.yml': ['analyze security-events'],
    };
    expect(writes).toEqual(allowed[file] ?? []);
  });

  test('leaves no token in the checked-out repository, uses no secrets, runs no text of GitHub expressions, and has a time limit', () => {
    const checkouts = stepsOf(file).filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    for (const checkout of checkouts) expect(checkout).toMatchObject({ with: { 'persist-credentials': false } });
    expect(text).not.toMatch(/secrets|pull_request_target|workflow_run/);
    for (const { run = '' } of stepsOf(file)) expect(run).not.toContain('${{');
    for (const job of jobsOf(file)) expect(job.uses ?? job['timeout-minutes']).toBeTruthy();
  });
});

test('each rule that diff --allow can lift, and no other rule, has a label that lifts the rule for a pull request', () => {
  const { text } = read('diff.yml');
  const labels = [...text.matchAll(/'allow-([a-z-]+)'/g)].map(([, rule]) => rule);
  expect(labels).toEqual(allowable);
  for (const rule of allowable) expect(text).toContain(`:+--allow ${rule}}`);
  expect(read('diff.yml').workflow.on).toMatchObject({
    pull_request: { types: expect.arrayContaining(['opened', 'synchronize', 'labeled', 'unlabeled']) },
  });
});

test('the workflow step that runs the command diff compares the stacks of the service and for GitHub, and fails if a comparison fails', async () => {
  const folder = await testFolder();
  const summary = path.join(folder, 'summary.md');
  const { run = '' } =
    stepsOf('diff.yml').find((step) => step.run?.includes('npx --no-install @lambda-service/tools diff')) ?? {};
  const runStep = (npx: string) => {
    // Functions, not files: while another thread starts a process, Linux may refuse to run a file just written.
    const script = `npx() (\n${npx}\n)\ngit() (\n[ "$*" = "cat-file -e HEAD^1:packages/cdk/github.ts" ]\n)\n${run}`;
    const files = { RUNNER_TEMP: folder, GITHUB_STEP_SUMMARY: summary, GITHUB_REPOSITORY: 'an-owner/a repository' };
    const env = { PATH: process.env['PATH'], ...files, ALLOW_IAM: '', ALLOW_ROUTE: 'yes' };
    return spawnSync('bash', ['-e', '-c', script], { cwd: folder, env }).status;
  };
  expect(runStep('printf "%s|" "$@"; echo')).toBe(0);
  const diff = '--no-install|@lambda-service/tools|diff|--allow|route|-c|';
  // Older commits do not know the address `none`.
  expect(readFileSync(summary, 'utf8').split('\n').slice(1, 3)).toEqual([
    `${diff}stage=prod|-c|alarmEmail=alarms@example.com|HEAD^1|`,
    `${diff}github=an-owner/a repository|HEAD^1|`,
  ]);
  expect(runStep('exit 1')).toBe(1);
});

test('the CI workflow runs .ci/run and no other command', () => {
  expect(stepsOf('ci.yml').flatMap(({ run }) => run ?? [])).toEqual(['.ci/run']);
});

test('a push to main is deployed after CI, first to the stage dev and then to the stage prod', () => {
  const { on, jobs } = read('deploy.yml').workflow;
  expect(on).toEqual({ push: { branches: ['main'] } });
  expect(jobs).toMatchObject({
    ci: { uses: './.github/workflows/ci.yml' },
    dev: { needs: 'ci', environment: 'dev', concurrency: 'deploy-dev' },
    prod: { needs: 'dev', environment: 'prod', concurrency: 'deploy-prod' },
  });
});

test.each(['dev', 'prod'])('stage %s is synthesized without AWS credentials, and its bundles are attested', (stage) => {
  const { steps = [] } = read('deploy.yml').workflow.jobs[stage] ?? {};
  const stack = inject('stackName') + (stage === 'prod' ? '' : `-${stage}`);
  const inOrder = [
    new RegExp(`^npx cdk synth --quiet -c stage=${stage} `),
    /^aws-actions\/configure-aws-credentials@/,
    /^npx cdk deploy --app cdk\.out (?!.*-c )/,
    new RegExp(`^npx --no-install @lambda-service/tools verify --stack ${stack}$`),
    /^actions\/attest-build-provenance@/,
  ];
  const places = inOrder.map((step) => steps.findIndex(({ uses, run }) => step.test(uses ?? run ?? '')));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(steps.filter(({ run = '' }) => /\bcdk (synth|deploy)\b/.test(run))).toHaveLength(2);
  expect(steps[places.at(-1) ?? 0]?.with).toEqual({ 'subject-path': 'cdk.out/asset.*/index.js' });
});
