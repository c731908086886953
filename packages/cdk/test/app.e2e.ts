/** Tests what `npx cdk` makes of the CDK apps: the service's, and the recipes beside this package's constructs. */
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileFolder, run, testFolder } from '@lambda-service/testing/programs';
import {
  combinations,
  externalIssuer,
  featureFlags,
  kinds,
  propertiesOf,
  resolve,
  type Template,
  withoutHashes,
} from '@lambda-service/testing/stack';
import { describe, expect, inject, test } from 'vitest';

/** The command that runs the service's app, and the file of the app. */
const { app: serviceCommand }: { app: string } = JSON.parse(readFileSync('cdk.json', 'utf8'));
const [serviceApp = ''] = /\S+$/.exec(serviceCommand) ?? [];
const stackName = inject('stackName');

/** Runs a CDK app as `npx cdk` does. @returns its exit code and the lines it printed */
const runApp = async (environment: Record<string, string>, command = serviceCommand) => {
  // With this umask, other users could change whatever the app does not protect.
  const { code, stdout, stderr } = await run('sh', ['-c', `umask 000; ${command}`], environment).ended;
  return { code, said: (stdout + stderr).split('\n').filter((line) => line !== '' && !line.startsWith('npm ')) };
};

/**
 * Synthesizes a stack as `npx cdk synth` does, but without the settings in cdk.json, and without the check of the
 * template against CloudFormation's rules, which takes two thirds of the time of a synthesis.
 */
const synthesize = async (context: Record<string, unknown>, { command = serviceCommand, NODE_OPTIONS = '' } = {}) => {
  const folder = await testFolder();
  const CDK_CONTEXT_JSON = JSON.stringify({ ...featureFlags, ...context });
  return runApp({ CDK_OUTDIR: folder, CDK_CONTEXT_JSON, CDK_VALIDATION: 'false', NODE_OPTIONS }, command);
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
  ...(template.includes('/index/*') ? ['Policy', 'Role'].map((type) => `AwsSolutions-IAM5 of AWS::IAM::${type}`) : []),
  ...ofQueues.filter((finding) => template.includes(`"${finding.replace(/.* of /, '')}"`)),
  ...(tracing === 'on'
    ? ['AwsSolutions-IAM5 of AWS::IAM::Role', 'Serverless-LambdaStarPermissions of AWS::IAM::Role']
    : ['Serverless-LambdaTracing of AWS::Lambda::Function']),
  ...(issuer === 'cognito' || stage === 'prod' ? ['AwsSolutions-COG8 of AWS::Cognito::UserPool'] : []),
  ...(mail === 'sent' ? ['Serverless-SNSRedrivePolicy of AWS::SNS::Subscription'] : []),
];

type Metadata = { cdk_nag?: { rules_to_suppress: { id: string }[] } };

/** Lists the findings that a template acknowledges. */
const acknowledged = (template: string): string[] => {
  const { Resources }: { Resources: Record<string, { Type: string; Metadata?: Metadata }> } = JSON.parse(template);
  return Object.values(Resources).flatMap(({ Type, Metadata }) =>
    (Metadata?.cdk_nag?.rules_to_suppress ?? []).map(({ id }) => `${id.replace(/\[.*/, '')} of ${Type}`),
  );
};

/** Returns the files in `folder` that other users may change. */
const changeableIn = async (folder: string): Promise<string[]> => {
  const names = await readdir(folder, { recursive: true });
  const modes = await Promise.all(names.map(async (name) => (await stat(path.join(folder, name))).mode));
  return names.filter((_, index) => ((modes[index] ?? 0) & 0o022) !== 0);
};

const certificate = (id: string): string => `arn:aws:acm:us-east-1:123456789012:certificate/${id}`;
const edge = {
  service: 'OrderStore',
  origin: 'origin.example.com',
  domainName: 'api.example.com',
  certificateArn: certificate('server'),
  clientCertificateArn: certificate('client'),
  limitPerToken: '6000',
  limitPerAddress: '12000',
};
const backup = { service: 'OrderStore', table: 'OrderStore-Table1', region: 'eu-central-1', copyRegion: 'eu-west-1' };

/** The settings that each recipe needs. */
const recipes = { edge, backup };

const all = [
  ...combinations.map(({ what, context }) => ({ what, context, app: serviceApp })),
  { what: 'github', context: { github: 'acme@12/orders@34' }, app: serviceApp },
  ...Object.entries(recipes).map(([what, context]) => ({ what, context, app: `packages/cdk/${what}.ts` })),
];
const folder = await fileFolder();
const folderOf = (what: string): string => path.join(folder, what);
const runs = all.map(({ what, context, app }) => ({
  app,
  context: { ...featureFlags, ...context },
  folder: folderOf(what),
}));
const command = serviceCommand.replace(serviceApp, 'packages/cdk/test/kit/synthesize-runs.ts');
const outcome = await runApp({ RUNS: JSON.stringify(runs), CDK_VALIDATION: 'true' }, command);

test('every kind of stack, the stack for GitHub and each recipe break no rule of CloudFormation, and have only acknowledged findings of cdk-nag', () => {
  expect(outcome).toEqual({ code: 0, said: [] });
});

describe('the CDK app', () => {
  test.each(combinations)(
    'acknowledges the expected findings of cdk-nag, and makes only files of this user: $what',
    async (run) => {
      const name = run.stage === 'prod' ? stackName : `${stackName}-${run.stage}`;
      const template = await readFile(path.join(folderOf(run.what), `${name}.template.json`), 'utf8');
      expect(template.includes(externalIssuer.jwksUri)).toBe(run.issuer === 'external');
      expect(new Set(acknowledged(template))).toEqual(new Set(findings(run, template)));
      expect(await changeableIn(folderOf(run.what))).toEqual([]);
    },
  );

  test('fails if either of the two cdk-nag packs has a finding that is not acknowledged', async () => {
    const naive = new URL('kit/naive-resources.ts', import.meta.url);
    const { code, said } = await synthesize(kinds.devWithIssuer, { NODE_OPTIONS: `--import ${naive}` });
    expect(code).not.toBe(0);
    expect(said.join('\n')).toMatch(/NaiveBucket.*AwsSolutions-S10/s);
    expect(said.join('\n')).toMatch(/NaiveFunction.*Serverless-LambdaTracing/s);
  });

  test('makes only the stack for GitHub, which lets workflows deploy, if the context has the key github', async () => {
    const folder = folderOf('github');
    const templates = (await readdir(folder)).filter((name) => name.endsWith('.template.json'));
    expect(templates).toEqual([`${stackName}GitHub.template.json`]);
    const template = await readFile(path.join(folder, `${stackName}GitHub.template.json`), 'utf8');
    expect(new Set(acknowledged(template))).toEqual(new Set(['AwsSolutions-IAM5 of AWS::IAM::Policy']));
  });

  test('prints only what is wrong with the settings, and exits with code 1', async () => {
    const { code, said } = await synthesize({ tracing: 'yes' });
    const message = 'The context value tracing is "yes": must be on or off.';
    expect([code, said]).toEqual([1, [message]]);
  });

  test('says before the synthesis that a command of the CDK needs an account; others do without', async () => {
    const app = path.join(await testFolder(), 'app.ts');
    const settings = path.resolve('packages/cdk/settings.ts');
    await writeFile(
      app,
      `import { readContext } from '${settings}';
      try { readContext({ getAllContext: () => ({}), tryGetContext() {} }); console.log('goes on'); }
      catch (error) { console.log(error.message); }
      process.exit(1);`,
    );
    const none = { AWS_ACCESS_KEY_ID: '', AWS_EC2_METADATA_DISABLED: 'true', AWS_CONFIG_FILE: '/dev/null' };
    const said = async (command: string, more = {}) => {
      const args = [command, '--app', `node ${app}`, '--output', path.dirname(app)];
      const { stdout } = await run('node_modules/.bin/cdk', args, {
        ...none,
        AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
        ...more,
      }).ended;
      return stdout;
    };
    expect(await said('deploy')).toMatch(/^cdk deploy found no AWS credentials that work: set AWS_REGION, and .*\.$/m);
    expect(await said('synth')).toContain('goes on');
    expect(await said('deploy', { CDK_DEFAULT_ACCOUNT: '123456789012' })).toContain('goes on');
  });

  test('runs on the Node.js in node_modules', async () => {
    const folder = await testFolder();
    await mkdir(path.join(folder, 'node_modules/.bin'), { recursive: true });
    await writeFile(path.join(folder, 'node_modules/.bin/node'), '#!/bin/sh\necho "own $@"\n', { mode: 0o755 });
    const { stdout } = await run('sh', ['-c', `cd '${folder}' && ${serviceCommand}`]).ended;
    expect(stdout).toBe(`own --enable-source-maps ${serviceApp}\n`);
  });
});

const templateOf = (recipe: keyof typeof recipes, stack: string): Template =>
  withoutHashes(JSON.parse(readFileSync(path.join(folderOf(recipe), `${stack}.template.json`), 'utf8')));

test('the recipe for AWS WAF limits the requests of each token and of each IP address', () => {
  const template = templateOf('edge', 'OrderStore-Edge');
  const [id, acl] = Object.entries(propertiesOf('AWS::WAFv2::WebACL', template))[0] ?? [];
  const counted = (statement: object) => ({
    Action: { Block: { CustomResponse: { ResponseCode: 429 } } },
    Statement: { RateBasedStatement: { EvaluationWindowSec: 60, ...statement } },
  });
  const header = { Header: { Name: 'authorization' } };
  expect(acl).toMatchObject({
    Scope: 'CLOUDFRONT',
    DefaultAction: { Allow: {} },
    Rules: [
      counted({ Limit: 6_000, AggregateKeyType: 'CUSTOM_KEYS', CustomKeys: [header] }),
      counted({ Limit: 12_000, AggregateKeyType: 'IP' }),
    ],
  });

  const [distribution] = Object.values(propertiesOf('AWS::CloudFront::Distribution', template));
  const OriginMtlsConfig = { ClientCertificateArn: edge.clientCertificateArn };
  expect(distribution?.['DistributionConfig']).toMatchObject({
    Aliases: [edge.domainName],
    WebACLId: { 'Fn::GetAtt': [id, 'Arn'] },
    Origins: [{ DomainName: edge.origin, CustomOriginConfig: { OriginMtlsConfig } }],
  });
});

test('the recipe for backups copies the table to a vault in another region every day, from which nobody can delete a copy', () => {
  const [vault] = Object.values(propertiesOf('AWS::Backup::BackupVault', templateOf('backup', 'OrderStoreCopies')));
  const deletion = expect.arrayContaining(['backup:DeleteRecoveryPoint']);
  expect(vault?.['AccessPolicy']).toMatchObject({ Statement: [{ Effect: 'Deny', Action: deletion }] });

  const template = templateOf('backup', 'OrderStoreBackup');
  const [plan] = Object.values(propertiesOf('AWS::Backup::BackupPlan', template));
  const [rule] = Object(plan?.['BackupPlan']).BackupPlanRule;
  expect(rule).toMatchObject({ ScheduleExpression: 'cron(0 3 * * ? *)', Lifecycle: { DeleteAfterDays: 1 } });
  const [{ DestinationBackupVaultArn: copies, Lifecycle }] = rule.CopyActions;
  expect(resolve(copies)).toBe(`arn:aws:backup:eu-west-1:AWS::AccountId:backup-vault:${vault?.['BackupVaultName']}`);
  expect(Lifecycle).toEqual({ DeleteAfterDays: 14 });

  const [selection] = Object.values(propertiesOf('AWS::Backup::BackupSelection', template));
  const [table] = Object(selection?.['BackupSelection']).Resources;
  expect(resolve(table)).toBe('arn:aws:dynamodb:eu-central-1:AWS::AccountId:table/OrderStore-Table1');
});

test.each(Object.entries(recipes))(
  'the recipe %s cannot be synthesized without one of its settings',
  async (recipe, context) => {
    const [[missing] = [''], ...rest] = Object.entries(context).reverse();
    const command = `npx node packages/cdk/${recipe}.ts`;
    const { code, said } = await synthesize(Object.fromEntries(rest), { command });
    expect([code, said.join('\n')]).toEqual([1, expect.stringContaining(`The recipe needs -c ${missing}=…`)]);
  },
);
