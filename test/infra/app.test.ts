import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { run, temporaryFolder } from '../local-service.ts';
import { externalIssuer, kinds } from './stacks.ts';

/** What `npx cdk` runs, as it runs it, but for the bundling. */
const synthesize = async (context: Record<string, string>, NODE_OPTIONS = '') => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const CDK_CONTEXT_JSON = JSON.stringify({ ...cdkJson.context, 'aws:cdk:bundling-stacks': [], ...context });
  // CloudFormation's own rules take half of the time. One run has them here, and each in .ci/run.
  const CDK_VALIDATION = String(context === kinds.prod);
  const environment = { CDK_OUTDIR: folder, CDK_CONTEXT_JSON, CDK_VALIDATION, NODE_OPTIONS };
  const { code, stdout, stderr } = await run('sh', ['-c', cdkJson.app], environment).ended;
  const said = (stdout + stderr).split('\n').filter((line) => line !== '' && !line.startsWith('npm '));
  return { code, said, read: (name: string) => readFile(path.join(folder, name), 'utf8') };
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

describe('the app', () => {
  test.each<[what: string, context: Record<string, string>, more: string[]]>([
    ['prod', kinds.prod, ['AwsSolutions-COG8 of AWS::Cognito::UserPool']],
    ['prod with its own issuer', kinds.prodWithIssuer, []],
    ['dev', kinds.dev, ['AwsSolutions-COG8 of AWS::Cognito::UserPool']],
    [
      'dev with a mail address',
      { ...kinds.dev, alarmEmail: 'me@a.example' },
      ['AwsSolutions-COG8 of AWS::Cognito::UserPool', 'Serverless-SNSRedrivePolicy of AWS::SNS::Subscription'],
    ],
    ['dev with its own issuer', kinds.devWithIssuer, []],
  ])('synthesizes %s, past the rules of CloudFormation and cdk-nag, but for these', async (_, context, more) => {
    const { code, said, read } = await synthesize(context);
    expect([code, said]).toEqual([0, []]);
    const name = context['stage'] === 'dev' ? 'PlantStore-dev' : 'PlantStore';
    const template = await read(`${name}.template.json`);
    expect(template.includes(externalIssuer.jwksUri)).toBe('issuer' in context);
    const everywhere = ['AwsSolutions-IAM5 of AWS::IAM::Policy', 'Serverless-LambdaDLQ of AWS::Lambda::Function'];
    expect(acknowledged(template)).toEqual([...everywhere, ...more].sort());
    const { terminationProtection } = JSON.parse(await read('manifest.json')).artifacts[name].properties;
    expect(terminationProtection ?? false).toBe(name === 'PlantStore');
  });

  test('does not synthesize what a rule of either pack of cdk-nag finds', async () => {
    const naive = new URL('naive-resources.ts', import.meta.url);
    const { code, said } = await synthesize(kinds.devWithIssuer, `--import ${naive}`);
    expect(code).not.toBe(0);
    expect(said.join('\n')).toMatch(/NaiveBucket.*AwsSolutions-S10/s);
    expect(said.join('\n')).toMatch(/NaiveFunction.*Serverless-LambdaTracing/s);
  });

  test('ends at a wrong setting with one sentence and code 1', async () => {
    const { code, said } = await synthesize({ stage: 'test' });
    expect([code, said]).toEqual([1, ['The context value stage is "test", but it must be prod or dev.']]);
  });
});
