import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { featureFlags } from '../kit/feature-flags.ts';
import { run, temporaryFolder } from '../kit/local-service.ts';
import { combinations, externalIssuer, kinds } from '../kit/stacks.ts';
import { operationNames } from '../kit/template.ts';

/** Runs the CDK app as `npx cdk` does. @returns its exit code and the lines it printed */
const runApp = async (environment: Record<string, string>, { umask = '022', command = cdkJson.app } = {}) => {
  const { code, stdout, stderr } = await run('sh', ['-c', `umask ${umask}; ${command}`], environment).ended;
  return { code, said: (stdout + stderr).split('\n').filter((line) => line !== '' && !line.startsWith('npm ')) };
};

/**
 * Synthesizes a stack as `npx cdk synth` does, but without the settings in cdk.json, and without the check of the
 * template against CloudFormation's rules, which takes two thirds of the time of a synthesis.
 */
const synthesize = async (context: Record<string, unknown>, { NODE_OPTIONS = '', umask = '022' } = {}) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const CDK_CONTEXT_JSON = JSON.stringify({ ...featureFlags, ...context });
  const environment = { CDK_OUTDIR: folder, CDK_CONTEXT_JSON, CDK_VALIDATION: 'false', NODE_OPTIONS };
  return { ...(await runApp(environment, { umask })), folder };
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

/** Returns the files in `folder` that other users may change, and the modes of the bundles in it. */
const modesIn = async (folder: string) => {
  const names = await readdir(folder, { recursive: true });
  const modes = await Promise.all(names.map(async (name) => (await stat(path.join(folder, name))).mode & 0o777));
  const isBundle = (name: string) => /^asset\.\w+\/index\.js$/.test(name);
  return {
    changeable: names.filter((_, index) => ((modes[index] ?? 0) & 0o022) !== 0),
    bundles: modes.filter((_, index) => isBundle(names[index] ?? '')),
  };
};

const nameOf = ({ stage }: Record<string, string>): string => (stage === 'prod' ? 'PlantStore' : `PlantStore-${stage}`);

const functionsOf = ({ stage }: Record<string, string>): string[] => [
  'Authorizer',
  ...operationNames.map(([, name]) => name),
  ...(stage === 'prod' ? ['SmokeTest'] : []),
];

const readTemplate = (folder: string, context: Record<string, string>): Promise<string> =>
  readFile(path.join(folder, `${nameOf(context)}.template.json`), 'utf8');

/** Lists the cdk-nag findings that a stack with these settings is expected to acknowledge. */
const findings = ({ stage, issuer, mail, tracing }: (typeof combinations)[number]): string[] => [
  'Serverless-LambdaDLQ of AWS::Lambda::Function',
  ...(stage === 'prod' ? ['AwsSolutions-IAM5 of AWS::IAM::Policy'] : []),
  ...(tracing === 'on' ? ['AwsSolutions-IAM5', 'Serverless-LambdaStarPermissions'] : []).map(
    (rule) => `${rule} of AWS::IAM::Role`,
  ),
  ...(tracing === 'on' ? [] : ['Serverless-LambdaTracing of AWS::Lambda::Function']),
  ...(issuer === 'cognito' || stage === 'prod' ? ['AwsSolutions-COG8 of AWS::Cognito::UserPool'] : []),
  ...(mail === 'sent' ? ['Serverless-SNSRedrivePolicy of AWS::SNS::Subscription'] : []),
];

describe('the CDK app', () => {
  const umasks = ['022', '000', '077'];
  const runs = combinations.map((each, index) => ({ ...each, umask: umasks[index % umasks.length] ?? '' }));
  let outcome: Awaited<ReturnType<typeof runApp>>;
  let folderOf: (what: string) => string;
  beforeAll(async () => {
    const { folder, remove } = await temporaryFolder();
    folderOf = (what) => path.join(folder, what);
    const RUNS = JSON.stringify(runs.map((each) => ({ ...each, folder: folderOf(each.what) })));
    const command = cdkJson.app.replace('infra/app.ts', 'test/kit/synthesize-runs.ts');
    outcome = await runApp({ RUNS, CDK_VALIDATION: 'true' }, { command });
    return remove;
  });

  test('synthesizes every kind of stack without breaking a rule of CloudFormation, and with only acknowledged cdk-nag findings', () => {
    expect(outcome).toEqual({ code: 0, said: [] });
  });

  test.each(runs)('acknowledges only the expected cdk-nag findings of the stack: $what', async (run) => {
    const template = await readTemplate(folderOf(run.what), run.context);
    expect(template.includes(externalIssuer.jwksUri)).toBe(run.issuer === 'external');
    expect(acknowledged(template)).toEqual(findings(run).sort());
  });

  test.each(runs)(
    'makes bundles that Lambda can read and other users cannot change, with umask $umask: $what',
    async ({ what, context }) => {
      const { changeable, bundles } = await modesIn(folderOf(what));
      expect(bundles).toEqual(functionsOf(context).map(() => 0o644));
      expect(changeable).toEqual([]);
    },
  );

  test('synthesizes the same template in a separate process, which is how the cdk command runs the app', async () => {
    const { what, context, umask } = runs[2] as (typeof runs)[number];
    const { code, said, folder } = await synthesize(context, { umask });
    expect([code, said]).toEqual([0, []]);
    const inOneProcess = folderOf(what);
    expect(await readTemplate(folder, context)).toBe(await readTemplate(inOneProcess, context));
    expect(await modesIn(folder)).toEqual(await modesIn(inOneProcess));
  });

  test('fails if either of the two cdk-nag packs has a finding that is not acknowledged', async () => {
    const naive = new URL('../kit/naive-resources.ts', import.meta.url);
    const { code, said } = await synthesize(kinds.devWithIssuer, { NODE_OPTIONS: `--import ${naive}` });
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
    const message = 'The context value tracing is "yes": Invalid option: expected one of "on"|"off".';
    expect([code, said]).toEqual([1, [message]]);
  });

  test('runs on the Node.js in node_modules, and on the Node.js in PATH only if node_modules has none', async () => {
    const { folder, remove } = await temporaryFolder();
    onTestFinished(remove);
    const project = path.join(folder, 'a project');
    const command = `cd '${project}' && ${cdkJson.app}`;
    const environment = { PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin` };
    await mkdir(path.join(project, 'infra'), { recursive: true });
    await writeFile(path.join(project, 'infra/app.ts'), 'console.log(process.execPath);');
    expect((await run('sh', ['-c', command], environment).ended).stdout).toBe(`${process.execPath}\n`);
    await mkdir(path.join(project, 'node_modules/.bin'), { recursive: true });
    await writeFile(path.join(project, 'node_modules/.bin/node'), '#!/bin/sh\necho "own $@"\n', { mode: 0o755 });
    expect((await run('sh', ['-c', command], environment).ended).stdout).toBe('own infra/app.ts\n');
  });
});
