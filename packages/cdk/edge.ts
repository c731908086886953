/**
 * An optional stack, deployed by hand: CloudFront and AWS WAF in front of the API, so that a client that sends too many
 * requests gets 429s and other clients do not. packages/cdk/limits.md explains deployment, costs and gaps.
 */
import { App, CfnOutput, Duration, Stack, Validations } from 'aws-cdk-lib';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import {
  AllowedMethods,
  CachePolicy,
  type CfnDistribution,
  Distribution,
  OriginRequestPolicy,
  SecurityPolicyProtocol,
  ViewerProtocolPolicy,
} from 'aws-cdk-lib/aws-cloudfront';
import { HttpOrigin } from 'aws-cdk-lib/aws-cloudfront-origins';
import { CfnWebACL } from 'aws-cdk-lib/aws-wafv2';
import { AwsSolutionsChecks } from 'cdk-nag';
import { acknowledge } from './acknowledge.ts';
import { recipeSettings } from './recipe-settings.ts';

const app = new App();
const setting = recipeSettings(app);

/** Requests per minute. AWS WAF accepts no limit below 10. */
const limitOf = (value: string): number => {
  if (!/^[1-9]\d{1,8}$/.test(value)) throw new Error(`The limit ${value} must be a whole number from 10 to 999999999.`);
  return Number(value);
};
const limits = {
  PerToken: limitOf(setting('limitPerToken')),
  PerAddress: limitOf(setting('limitPerAddress')),
};

// AWS accepts a web ACL for CloudFront only in this region.
const stack = new Stack(app, `${setting('service')}-Edge`, { env: { region: 'us-east-1' } });

/** Answers a request with a 429 like the gateway's, so that clients retry later. */
const refuse: CfnWebACL.RuleActionProperty = {
  block: {
    customResponse: {
      responseCode: 429,
      customResponseBodyKey: 'tooMany',
      responseHeaders: [{ name: 'retry-after', value: '60' }],
    },
  },
};

const visible = (metricName: string): CfnWebACL.VisibilityConfigProperty => ({
  metricName,
  cloudWatchMetricsEnabled: true,
  // Sampled requests would show their headers, including access tokens, to everyone who may read the AWS console.
  sampledRequestsEnabled: false,
});

const rule = (
  priority: number,
  name: keyof typeof limits,
  counted: Pick<CfnWebACL.RateBasedStatementProperty, 'aggregateKeyType' | 'customKeys'>,
): CfnWebACL.RuleProperty => ({
  name,
  priority,
  action: refuse,
  statement: { rateBasedStatement: { limit: limits[name], evaluationWindowSec: 60, ...counted } },
  visibilityConfig: visible(name),
});

const authorization = { name: 'authorization', textTransformations: [{ priority: 0, type: 'NONE' }] };

const webAcl = new CfnWebACL(stack, 'WebAcl', {
  scope: 'CLOUDFRONT',
  defaultAction: { allow: {} },
  customResponseBodies: {
    tooMany: { contentType: 'APPLICATION_JSON', content: '{"message":"Too Many Requests"}' },
  },
  rules: [
    rule(0, 'PerToken', { aggregateKeyType: 'CUSTOM_KEYS', customKeys: [{ header: authorization }] }),
    rule(1, 'PerAddress', { aggregateKeyType: 'IP' }),
  ],
  visibilityConfig: visible('WebAcl'),
});

const domainName = setting('domainName');
const distribution = new Distribution(stack, 'Distribution', {
  domainNames: [domainName],
  certificate: Certificate.fromCertificateArn(stack, 'Certificate', setting('certificateArn')),
  minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
  webAclId: webAcl.attrArn,
  defaultBehavior: {
    // Wait longer than the gateway, which gives up on an operation after 30 s: otherwise, CloudFront would send its own
    // error.
    origin: new HttpOrigin(setting('origin'), { readTimeout: Duration.seconds(31) }),
    allowedMethods: AllowedMethods.ALLOW_ALL,
    viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
    cachePolicy: CachePolicy.CACHING_DISABLED,
    originRequestPolicy: OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
  },
});
// CloudFront presents this client certificate to the gateway, which refuses TLS connections without it. CDK's
// HttpOrigin has no option for a client certificate.
(distribution.node.defaultChild as CfnDistribution).addPropertyOverride(
  'DistributionConfig.Origins.0.CustomOriginConfig.OriginMtlsConfig',
  { ClientCertificateArn: setting('clientCertificateArn') },
);
acknowledge(distribution, 'AwsSolutions-CFR1', 'Clients may be in any country: their tokens decide.');
acknowledge(distribution, 'AwsSolutions-CFR3', "The API's access log has every request that AWS WAF lets through.");

new CfnOutput(stack, 'Alias', { value: distribution.distributionDomainName, description: `for DNS: ${domainName}` });

Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
