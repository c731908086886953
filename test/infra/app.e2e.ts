import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { featureFlags } from '../kit/feature-flags.ts';
import { run, temporaryFolder } from '../kit/local-service.ts';
import { combinations, externalIssuer, kinds } from '../kit/stacks.ts';

/** Runs the CDK app as `npx cdk` does. @returns its exit code and the lines it printed */
const runApp = async (environment: Record<string, string>, command = cdkJson.app) => {
  // With this umask, other users could change whatever the app does not protect.
  const { code, stdout, stderr } = await run('sh', ['-c', `umask 000; ${command}`], environment).ended;
  return { code, said: (stdout + stderr).split('\n').filter((line) => line !== '' && !line.startsWith('npm ')) };
};

/**
 * Synthesizes a stack as `npx cdk synth` does, but without the settings in cdk.json, and without the check of the
 * template against CloudFormation's rules, which takes two thirds of the time of a synthesis.
 */
const synthesize = async (context: Record<string, unknown>, NODE_OPTIONS = '') => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const CDK_CONTEXT_JSON = JSON.stringify({ ...featureFlags, ...context });
  const environment = { CDK_OUTDIR: folder, CDK_CONTEXT_JSON, CDK_VALIDATION: 'false', NODE_OPTIONS };
  return { ...(await runApp(environment)), folder };
};

type Acknowledged = { cdk_nag?: { rules_to_suppress: { id: string; reason: string }[] } };

/** Lists the cdk-nag findings that a template acknowledges: for each, the rule and the resource type. */
const acknowledged = (template: string): string[] => {
  const { Resources } = JSON.parse(template) as {
    Resources: Record<string, { Type: string; Metadata?: Acknowledged }>;
  };
  const lines = Object.values(Resources).flatMap(({ Type, Metadata }) =>
    (Metadata?.cdk_nag?.rules_to_suppress ?? []).map(({ id }) => `${id.replace(/\[.*/, '')} of ${Type}`),
  );
  return [...new Set(lines)].sort();
};

/** Returns the files in `folder` that other users may change. */
const changeableIn = async (folder: string): Promise<string[]> => {
  const names = await readdir(folder, { recursive: true });
  const modes = await Promise.all(names.map(async (name) => (await stat(path.join(folder, name))).mode));
  return names.filter((_, index) => ((modes[index] ?? 0) & 0o022) !== 0);
};

/** Findings of a queue with a consumer: a dead-letter queue has no further one, and replaces a failure destination. */
const ofQueues = [
  'Serverless-LambdaEventSourceMappingDestination of AWS::Lambda::EventSourceMapping',
  'Serverless-SQSRedrivePolicy of AWS::SQS::Queue',
];

/** Lists the cdk-nag findings that a stack with these settings and this template is expected to acknowledge. */
const findings = ({ stage, issuer, mail, tracing }: (typeof combinations)[number], template: string): string[] => [
  'Serverless-LambdaDLQ of AWS::Lambda::Function',
  ...(stage === 'prod' ? ['Serverless-EventBusDLQ of AWS::Events::Rule'] : []),
  // Functions that the API does not call, such as the one for a queue, have separate policies. So has the smoke test.
  ...(stage === 'prod' || (tracing === 'on' && template.includes('"AWS::IAM::Policy"'))
    ? ['AwsSolutions-IAM5 of AWS::IAM::Policy']
    : []),
  ...ofQueues.filter((finding) => template.includes(`"${finding.replace(/.* of /, '')}"`)),
  ...(tracing === 'on' ? ['AwsSolutions-IAM5', 'Serverless-LambdaStarPermissions'] : []).map(
    (rule) => `${rule} of AWS::IAM::Role`,
  ),
  ...(tracing === 'on' ? [] : ['Serverless-LambdaTracing of AWS::Lambda::Function']),
  ...(issuer === 'cognito' || stage === 'prod' ? ['AwsSolutions-COG8 of AWS::Cognito::UserPool'] : []),
  ...(mail === 'sent' ? ['Serverless-SNSRedrivePolicy of AWS::SNS::Subscription'] : []),
];

describe('the CDK app', () => {
  let outcome: Awaited<ReturnType<typeof runApp>>;
  let folderOf: (what: string) => string;
  beforeAll(async () => {
    const { folder, remove } = await temporaryFolder();
    folderOf = (what) => path.join(folder, what);
    const RUNS = JSON.stringify(combinations.map((each) => ({ ...each, folder: folderOf(each.what) })));
    const command = cdkJson.app.replace('infra/app.ts', 'test/kit/synthesize-runs.ts');
    outcome = await runApp({ RUNS, CDK_VALIDATION: 'true' }, command);
    return remove;
  });

  test('synthesizes every kind of stack without breaking a rule of CloudFormation, and with only acknowledged cdk-nag findings', () => {
    expect(outcome).toEqual({ code: 0, said: [] });
  });

  test.each(combinations)('has only the expected cdk-nag findings and only files of this user: $what', async (run) => {
    const name = run.stage === 'prod' ? 'PlantStore' : `PlantStore-${run.stage}`;
    const template = await readFile(path.join(folderOf(run.what), `${name}.template.json`), 'utf8');
    expect(template.includes(externalIssuer.jwksUri)).toBe(run.issuer === 'external');
    expect(acknowledged(template)).toEqual(findings(run, template).sort());
    expect(await changeableIn(folderOf(run.what))).toEqual([]);
  });

  test('fails if either of the two cdk-nag packs has a finding that is not acknowledged', async () => {
    const naive = new URL('../kit/naive-resources.ts', import.meta.url);
    const { code, said } = await synthesize(kinds.devWithIssuer, `--import ${naive}`);
    expect(code).not.toBe(0);
    expect(said.join('\n')).toMatch(/NaiveBucket.*AwsSolutions-S10/s);
    expect(said.join('\n')).toMatch(/NaiveFunction.*Serverless-LambdaTracing/s);
  });

  test('synthesizes only the stack for GitHub, which lets workflows deploy, if the context has the key github', async () => {
    const { code, said, folder } = await synthesize({ github: 'acme@12/plants@34' });
    expect([code, said]).toEqual([0, []]);
    const templates = (await readdir(folder)).filter((name) => name.endsWith('.template.json'));
    expect(templates).toEqual(['PlantStoreGitHub.template.json']);
    const template = await readFile(path.join(folder, 'PlantStoreGitHub.template.json'), 'utf8');
    expect(acknowledged(template)).toEqual(['AwsSolutions-IAM5 of AWS::IAM::Policy']);
  });

  test('prints only what is wrong with the settings, and exits with code 1', async () => {
    const { code, said } = await synthesize({ tracing: 'yes' });
    const message = 'The context value tracing is "yes": must be on or off.';
    expect([code, said]).toEqual([1, [message]]);
  });

  test('runs on the Node.js in node_modules', async () => {
    const { folder, remove } = await temporaryFolder();
    onTestFinished(remove);
    await mkdir(path.join(folder, 'node_modules/.bin'), { recursive: true });
    await writeFile(path.join(folder, 'node_modules/.bin/node'), '#!/bin/sh\necho "own $@"\n', { mode: 0o755 });
    const { stdout } = await run('sh', ['-c', `cd '${folder}' && ${cdkJson.app}`]).ended;
    expect(stdout).toBe('own infra/app.ts\n');
  });
});
