/** Tests what actionlint does not check in the workflows: their commands and permissions. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { allowable } from '../tools/release/diff/verdict.ts';
import { temporaryFolder } from './kit/local-service.ts';

type Step = { uses?: string; run?: string; with?: Record<string, unknown> };
type Job = { uses?: string; steps?: Step[]; permissions?: Permissions; environment?: string; concurrency?: string };
type Permissions = Record<string, string>;
type Workflow = { on: object; permissions?: Permissions; jobs: Record<string, Job & { 'timeout-minutes'?: number }> };

const github = path.resolve(import.meta.dirname, '../.github');
const files = readdirSync(path.join(github, 'workflows'));

const read = (file: string): { text: string; workflow: Workflow } => {
  const text = readFileSync(path.join(github, 'workflows', file), 'utf8');
  return { text, workflow: parse(text) };
};

const jobsOf = (file: string) => Object.values(read(file).workflow.jobs);
const stepsOf = (file: string): Step[] => jobsOf(file).flatMap(({ steps = [] }) => steps);

describe.each(files)('the workflow %s', (file) => {
  test('pins each third-party action to a commit, with the version of the action in a comment', () => {
    const used = [...jobsOf(file), ...stepsOf(file)].flatMap(({ uses }) => uses ?? []);
    expect(used, 'the actions that it uses').not.toEqual([]);
    const lines = read(file).text.split('\n');
    for (const action of used.filter((each) => !each.startsWith('./'))) {
      expect(action).toMatch(/^[\w-]+\/[\w/-]+@[\da-f]{40}$/);
      const ends = lines.filter((line) => line.includes(action)).map((line) => line.split(action)[1]);
      for (const end of ends) expect(end, action).toMatch(/^ # v\d+\.\d+\.\d+$/);
    }
  });

  test('can only read the repository, except in the jobs that need more permissions', () => {
    expect(read(file).workflow.permissions).toEqual({ contents: 'read' });
    const writes = Object.entries(read(file).workflow.jobs).flatMap(([name, { permissions = {} }]) =>
      Object.entries(permissions).flatMap(([scope, right]) => (right === 'read' ? [] : [`${name} ${scope}`])),
    );
    const allowed: Record<string, string[]> = {
      'deploy.yml': ['dev id-token', 'dev attestations', 'prod id-token', 'prod attestations'],
      'codeql.yml': ['analyze security-events'],
    };
    expect(writes).toEqual(allowed[file] ?? []);
  });

  test('leaves no token in the checked-out repository, uses no secrets, and has a time limit', () => {
    const checkouts = stepsOf(file).filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts).toMatchObject(checkouts.map(() => ({ with: { 'persist-credentials': false } })));
    expect(read(file).text).not.toMatch(/secrets|pull_request_target|workflow_run/);
    const endless = jobsOf(file).filter((job) => job.uses === undefined && !job['timeout-minutes']);
    expect(endless).toEqual([]);
  });
});

test.each(files)('%s inserts no GitHub expressions into commands, because a shell might run their text', (file) => {
  expect(stepsOf(file).flatMap(({ run = '' }) => run.match(/\$\{\{.*?\}\}/g) ?? [])).toEqual([]);
});

test('each rule that npm run diff --allow can lift, and no other rule, has a label that lifts the rule for a pull request', () => {
  const { text } = read('diff.yml');
  const labels = [...text.matchAll(/'allow-([a-z-]+)'/g)].map(([, rule]) => rule);
  expect(labels).toEqual(allowable);
  for (const rule of allowable) expect(text).toContain(`:+--allow ${rule}}`);
  expect(read('diff.yml').workflow.on).toMatchObject({
    pull_request: { types: expect.arrayContaining(['opened', 'synchronize', 'labeled', 'unlabeled']) },
  });
});

test('the workflow step that runs npm run diff compares the stacks of the service and for GitHub, and fails if a comparison fails', async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const summary = path.join(folder, 'summary.md');
  const { run = '' } = stepsOf('diff.yml').find((step) => step.run?.includes('npm run -s diff')) ?? {};
  const runStep = (npm: string) => {
    // Functions, not files: while another thread starts a process, Linux may refuse to run a file just written.
    const script = `npm() (\n${npm}\n)\ngit() (\n[ "$*" = "cat-file -e HEAD^1:infra/github.ts" ]\n)\n${run}`;
    const files = { RUNNER_TEMP: folder, GITHUB_STEP_SUMMARY: summary, GITHUB_REPOSITORY: 'an-owner/a repository' };
    const env = { PATH: process.env['PATH'], ...files, ALLOW_IAM: '', ALLOW_ROUTE: 'yes' };
    return spawnSync('bash', ['-e', '-c', script], { cwd: folder, env }).status;
  };
  expect(runStep('printf "%s|" "$@"; echo')).toBe(0);
  const diff = 'run|-s|diff|--|--allow|route|-c|';
  // Older commits do not know the address `none`.
  expect(readFileSync(summary, 'utf8').split('\n').slice(1, 3)).toEqual([
    `${diff}stage=prod|-c|alarmEmail=alarms@example.com|HEAD^1|`,
    `${diff}github=an-owner/a repository|HEAD^1|`,
  ]);
  expect(runStep('exit 1')).toBe(1);
});

test('all workflows use the same commit of each action', () => {
  const pinned = new Set(files.flatMap(stepsOf).flatMap(({ uses }) => uses?.replace('/init@', '/analyze@') ?? []));
  const names = [...pinned].map((action) => action.split('@')[0]);
  expect(names).toEqual([...new Set(names)]);
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

test.each(['dev', 'prod'])(
  'the deployment to stage %s synthesizes the stack before it gets AWS credentials, and attests the provenance of the bundles',
  (stage) => {
    const steps = read('deploy.yml').workflow.jobs[stage]?.steps?.map(({ uses, run }) => uses ?? run ?? '') ?? [];
    const stack = stage === 'prod' ? 'PlantStore' : `PlantStore-${stage}`;
    const inOrder = [
      new RegExp(`^npx cdk synth --quiet -c stage=${stage} `),
      /^aws-actions\/configure-aws-credentials@/,
      /^npx cdk deploy --app cdk\.out (?!.*-c )/,
      new RegExp(`^npm run -s verify -- --stack ${stack}$`),
      /^actions\/attest-build-provenance@/,
    ];
    const places = inOrder.map((step) => steps.findIndex((each) => step.test(each)));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(steps.filter((each) => /\bcdk (synth|deploy)\b/.test(each))).toHaveLength(2);
    const attests = read('deploy.yml').workflow.jobs[stage]?.steps?.at(places.at(-1) ?? 0);
    expect(attests?.with).toEqual({ 'subject-path': 'cdk.out/asset.*/index.js' });
  },
);

test('Dependabot updates every lock file and every workflow weekly, and updates Node.js separately from the rest', () => {
  const { updates } = parse(readFileSync(path.join(github, 'dependabot.yml'), 'utf8'));
  const directories = ['/', '/**/*'];
  expect(updates).toMatchObject([
    { 'package-ecosystem': 'npm', directories },
    { 'package-ecosystem': 'github-actions', directory: '/' },
  ]);
  for (const update of updates) expect(update).toMatchObject({ schedule: { interval: 'weekly' } });
  // Dependabot puts a package into the first group that matches the package, so the order of the groups matters.
  expect(updates.map(({ groups }: { groups: object }) => Object.entries(groups))).toEqual([
    [
      ['node', { patterns: ['node-linux-*'] }],
      ['packages', { patterns: ['*'] }],
    ],
    [['actions', { patterns: ['*'] }]],
  ]);
});
