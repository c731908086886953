/** Tests that docs/operate/edge.ts, run as docs/operate/limits.md says, synthesizes without cdk-nag findings. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { featureFlags } from '../kit/feature-flags.ts';
import { run, temporaryFolder } from '../kit/local-service.ts';
import { propertiesOf, type Template, withoutHashes } from '../kit/template.ts';

const document = await readFile('docs/operate/limits.md', 'utf8');
const [, app = ''] = /npx cdk deploy --app '([^']+)'/.exec(document) ?? [];
const keys = [...document.matchAll(/-c (\w+)=/g)].map(([, key = '']) => key);

const certificate = (id: string): string => `arn:aws:acm:us-east-1:123456789012:certificate/${id}`;
const settings: Record<string, string> = {
  origin: 'origin.example.com',
  domainName: 'api.example.com',
  certificateArn: certificate('server'),
  clientCertificateArn: certificate('client'),
};

const synthesize = async (context: Record<string, string>) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const CDK_CONTEXT_JSON = JSON.stringify({ ...featureFlags, ...context });
  const { code, stdout, stderr } = await run('sh', ['-c', app], { CDK_OUTDIR: folder, CDK_CONTEXT_JSON }).ended;
  return { code, said: stdout + stderr, file: path.join(folder, 'PlantStore-Edge.template.json') };
};

test('the recipe for AWS WAF allows each token and each IP address fewer requests than the throttle of the API allows in total', async () => {
  expect(keys).toEqual(Object.keys(settings));
  const { code, said, file } = await synthesize(settings);
  expect([code, said]).toEqual([0, expect.not.stringMatching(/error|violation/i)]);
  const template: Template = withoutHashes(JSON.parse(await readFile(file, 'utf8')));

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
  const OriginMtlsConfig = { ClientCertificateArn: settings['clientCertificateArn'] };
  expect(distribution?.['DistributionConfig']).toMatchObject({
    Aliases: [settings['domainName']],
    WebACLId: { 'Fn::GetAtt': [id, 'Arn'] },
    Origins: [{ DomainName: settings['origin'], CustomOriginConfig: { OriginMtlsConfig } }],
  });
});

test('the recipe for AWS WAF cannot be synthesized if a setting is missing; the error names that setting', async () => {
  const { clientCertificateArn: _, ...rest } = settings;
  const { code, said } = await synthesize(rest);
  expect([code, said]).toEqual([1, expect.stringContaining('The recipe needs -c clientCertificateArn=…')]);
});
