/** Tests that the recipes in docs/operate/, which are CDK apps, synthesize as their documents say, without findings. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { featureFlags } from '../kit/feature-flags.ts';
import { run, temporaryFolder } from '../kit/local-service.ts';
import { propertiesOf, resolve, type Template, withoutHashes } from '../kit/template.ts';

/** Finds a recipe's command in a document. @returns the keys of its settings, and a function that runs it */
const readRecipe = (document: string) => {
  const [, app = '', options = ''] =
    /npx cdk deploy --app '([^']+)'((?:\\\n|.)*)/.exec(readFileSync(document, 'utf8')) ?? [];
  const synthesize = async (context: Record<string, string>) => {
    const { folder, remove } = await temporaryFolder();
    onTestFinished(remove);
    const CDK_CONTEXT_JSON = JSON.stringify({ ...featureFlags, ...context });
    const { code, stdout, stderr } = await run('sh', ['-c', app], { CDK_OUTDIR: folder, CDK_CONTEXT_JSON }).ended;
    const templateOf = (stack: string): Template =>
      withoutHashes(JSON.parse(readFileSync(path.join(folder, `${stack}.template.json`), 'utf8')));
    return { code, said: stdout + stderr, templateOf };
  };
  return { keys: [...options.matchAll(/-c (\w+)=/g)].map(([, key = '']) => key), synthesize };
};

const certificate = (id: string): string => `arn:aws:acm:us-east-1:123456789012:certificate/${id}`;
const edge: Record<string, string> = {
  origin: 'origin.example.com',
  domainName: 'api.example.com',
  certificateArn: certificate('server'),
  clientCertificateArn: certificate('client'),
};

test('the recipe for AWS WAF allows each token and each IP address fewer requests than the throttle of the API allows in total', async () => {
  const { keys, synthesize } = readRecipe('docs/operate/limits.md');
  expect(keys).toEqual(Object.keys(edge));
  const { code, said, templateOf } = await synthesize(edge);
  expect([code, said]).toEqual([0, expect.not.stringMatching(/error|violation/i)]);
  const template = templateOf('PlantStore-Edge');

  const [id, acl] = Object.entries(propertiesOf('AWS::WAFv2::WebACL', template))[0] ?? [];
  const counted = (statement: object) => ({
    Action: { Block: { CustomResponse: { ResponseCode: 429 } } },
    Statement: { RateBasedStatement: { EvaluationWindowSec: 60, ...statement } },
  });
  const header = { Header: { Name: 'authorization' } };
  expect(acl).toMatchObject({
    Scope: 'CLOUDFRONT',
    DefaultAction: { Allow: {} },
    Rules: [counted({ AggregateKeyType: 'CUSTOM_KEYS', CustomKeys: [header] }), counted({ AggregateKeyType: 'IP' })],
  });
  const [stage] = Object.values(propertiesOf('AWS::ApiGatewayV2::Stage'));
  const { ThrottlingRateLimit } = Object(stage?.['DefaultRouteSettings']);
  for (const { Statement } of Object(acl)['Rules'])
    expect(Statement.RateBasedStatement.Limit / 60).toBeLessThan(ThrottlingRateLimit);

  const [distribution] = Object.values(propertiesOf('AWS::CloudFront::Distribution', template));
  const OriginMtlsConfig = { ClientCertificateArn: edge['clientCertificateArn'] };
  expect(distribution?.['DistributionConfig']).toMatchObject({
    Aliases: [edge['domainName']],
    WebACLId: { 'Fn::GetAtt': [id, 'Arn'] },
    Origins: [{ DomainName: edge['origin'], CustomOriginConfig: { OriginMtlsConfig } }],
  });
});

const backup: Record<string, string> = {
  table: 'PlantStore-Table1',
  region: 'eu-central-1',
  copyRegion: 'eu-west-1',
};

test('the recipe for backups copies the table to a vault in another region every day, from which nobody can delete a copy', async () => {
  const { keys, synthesize } = readRecipe('docs/operate/backup.md');
  expect(keys).toEqual(Object.keys(backup));
  const { code, said, templateOf } = await synthesize(backup);
  expect([code, said]).toEqual([0, expect.not.stringMatching(/error|violation|warning/i)]);

  const [vault] = Object.values(propertiesOf('AWS::Backup::BackupVault', templateOf('PlantStoreCopies')));
  const deletion = expect.arrayContaining(['backup:DeleteRecoveryPoint']);
  expect(vault?.['AccessPolicy']).toMatchObject({ Statement: [{ Effect: 'Deny', Action: deletion }] });

  const template = templateOf('PlantStoreBackup');
  const [plan] = Object.values(propertiesOf('AWS::Backup::BackupPlan', template));
  const [rule] = Object(plan?.['BackupPlan']).BackupPlanRule;
  expect(rule).toMatchObject({ ScheduleExpression: 'cron(0 3 * * ? *)', Lifecycle: { DeleteAfterDays: 1 } });
  const [{ DestinationBackupVaultArn: copies, Lifecycle }] = rule.CopyActions;
  expect(resolve(copies)).toBe(`arn:aws:backup:eu-west-1:AWS::AccountId:backup-vault:${vault?.['BackupVaultName']}`);
  expect(Lifecycle).toEqual({ DeleteAfterDays: 14 });

  const [selection] = Object.values(propertiesOf('AWS::Backup::BackupSelection', template));
  const [table] = Object(selection?.['BackupSelection']).Resources;
  expect(resolve(table)).toBe('arn:aws:dynamodb:eu-central-1:AWS::AccountId:table/PlantStore-Table1');
});

test.each([
  ['docs/operate/limits.md', edge],
  ['docs/operate/backup.md', backup],
])(
  'the recipe in %s cannot be synthesized if a setting is missing; the error names that setting',
  async (document, settings) => {
    const [[missing] = [''], ...rest] = Object.entries(settings).reverse();
    const { code, said } = await readRecipe(document).synthesize(Object.fromEntries(rest));
    expect([code, said]).toEqual([1, expect.stringContaining(`The recipe needs -c ${missing}=…`)]);
  },
);
