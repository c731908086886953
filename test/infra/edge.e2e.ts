/** Tests that docs/operate/edge.ts, run as docs/operate/limits.md says, synthesizes without cdk-nag findings. */
import { expect, test } from 'vitest';
import { readRecipe } from '../kit/recipes.ts';
import { propertiesOf } from '../kit/template.ts';

const { keys, synthesize } = readRecipe('docs/operate/limits.md');

const certificate = (id: string): string => `arn:aws:acm:us-east-1:123456789012:certificate/${id}`;
const settings: Record<string, string> = {
  origin: 'origin.example.com',
  domainName: 'api.example.com',
  certificateArn: certificate('server'),
  clientCertificateArn: certificate('client'),
};

test('the recipe for AWS WAF allows each token and each IP address fewer requests than the throttle of the API allows in total', async () => {
  expect(keys).toEqual(Object.keys(settings));
  const { code, said, templateOf } = await synthesize(settings);
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
