import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { run, temporaryFolder } from '../kit/local-service.ts';
import { externalIssuer, kinds } from '../kit/stacks.ts';

/** What `npx cdk` runs, as it runs it. */
const synthesize = async (
  context: Record<string, unknown>,
  { NODE_OPTIONS = '', umask = '022', isValidated = false } = {},
) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const CDK_CONTEXT_JSON = JSON.stringify({ ...cdkJson.context, ...context });
  // CloudFormation's own rules take half of the time.
  const environment = { CDK_OUTDIR: folder, CDK_CONTEXT_JSON, CDK_VALIDATION: String(isValidated), NODE_OPTIONS };
  const { code, stdout, stderr } = await run('sh', ['-c', `umask ${umask}; ${cdkJson.app}`], environment).ended;
  const said = (stdout + stderr).split('\n').filter((line) => line !== '' && !line.startsWith('npm '));
  return { code, said, folder, read: (name: string) => readFile(path.join(folder, name), 'utf8') };
};

type Acknowledged = { cdk_nag?: { rules_to_suppress: { id: string; reason: string }[] } };

/** The rules of cdk-nag that the template says were acknowledged, and for which types of resources. */
const acknowledged = (template: string): string[] => {
  const { Resources } = JSON.parse(template) as {
    Resources: Record<string, { Type: string; Metadata?: Acknowledged }>;
  };
  const lines = Object.values(Resources).flatMap(({ Type, Metadata }) =>
    (Metadata?.cdk_nag?.rules_to_suppress ?? []).map(({ id }) => `${id.replace(/\[.*/, '')} of ${Type}`),
  );
  return [...new Set(lines)].sort();
};

/** The files of an assembly that other users of the machine may change, and the modes of its bundles. */
const modesIn = async (folder: string) => {
  const names = await readdir(folder, { recursive: true });
  const modes = await Promise.all(names.map(async (name) => (await stat(path.join(folder, name))).mode & 0o777));
  const isBundle = (name: string) => /^asset\.\w+\/index\.js$/.test(name);
  return {
    changeable: names.filter((_, index) => ((modes[index] ?? 0) & 0o022) !== 0),
    bundles: modes.filter((_, index) => isBundle(names[index] ?? '')),
  };
};

describe('the app', () => {
  const poolRule = 'AwsSolutions-COG8 of AWS::Cognito::UserPool';
  const mailRule = 'Serverless-SNSRedrivePolicy of AWS::SNS::Subscription';

  test.each<[what: string, context: Record<string, string>, umask: string, more: string[]]>([
    ['prod', kinds.prod, '022', [poolRule]],
    ['prod with its own issuer', kinds.prodWithIssuer, '000', []],
    ['dev', kinds.dev, '077', [poolRule]],
    ['dev with a mail address', { ...kinds.dev, alarmEmail: 'me@a.example' }, '022', [poolRule, mailRule]],
    ['dev with its own issuer', kinds.devWithIssuer, '077', []],
  ])('synthesizes %s, past the rules of CloudFormation and cdk-nag, but for these', async (_, context, umask, more) => {
    const { code, said, folder, read } = await synthesize(context, { umask, isValidated: true });
    const name = context['stage'] === 'dev' ? 'PlantStore-dev' : 'PlantStore';
    const bundling = ['CreatePlant', 'Authorizer'].map((each) => `Bundling asset ${name}/${each}/Code/Stage...`);
    expect([code, said]).toEqual([0, bundling]);
    const template = await read(`${name}.template.json`);
    expect(template.includes(externalIssuer.jwksUri)).toBe('issuer' in context);
    const everywhere = ['AwsSolutions-IAM5 of AWS::IAM::Policy', 'Serverless-LambdaDLQ of AWS::Lambda::Function'];
    expect(acknowledged(template)).toEqual([...everywhere, ...more].sort());
    const { terminationProtection } = JSON.parse(await read('manifest.json')).artifacts[name].properties;
    expect(terminationProtection ?? false).toBe(name === 'PlantStore');

    // Whatever the umask, nobody else can change an asset, and Lambda can read the bundles.
    const { changeable, bundles } = await modesIn(folder);
    expect(bundles).toEqual([0o644, 0o644]);
    // With 000, the assembly's own folder is open to all.
    expect(changeable.filter((file) => umask !== '000' || file.startsWith('asset.'))).toEqual([]);
  });

  test('does not synthesize what a rule of either pack of cdk-nag finds', async () => {
    const naive = new URL('../kit/naive-resources.ts', import.meta.url);
    const { code, said } = await synthesize(
      { ...kinds.devWithIssuer, 'aws:cdk:bundling-stacks': [] },
      { NODE_OPTIONS: `--import ${naive}` },
    );
    expect(code).not.toBe(0);
    expect(said.join('\n')).toMatch(/NaiveBucket.*AwsSolutions-S10/s);
    expect(said.join('\n')).toMatch(/NaiveFunction.*Serverless-LambdaTracing/s);
  });

  test('ends at a wrong setting with one sentence and code 1', async () => {
    const { code, said } = await synthesize({ stage: 'test' });
    expect([code, said]).toEqual([1, ['The context value stage is "test", but it must be prod or dev.']]);
  });

  test('runs on the Node.js of node_modules, also for a global cdk, and on that of PATH if there is none', async () => {
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

  test.each(['index.js', 'package.json'])(
    'deploys nothing that another user put into the folder of an asset: %s stops the synthesis',
    async (name) => {
      const intruder = new URL(`../kit/intruder.ts?${name}`, import.meta.url);
      const { code, said } = await synthesize(kinds.devWithIssuer, { NODE_OPTIONS: `--import ${intruder}` });
      expect(code).not.toBe(0);
      expect(said.join('\n')).toMatch(new RegExp(`bundling-temp-.* has files of another user: ${name}`));
    },
  );
});
