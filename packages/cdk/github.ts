import {
  Aws,
  CfnOutput,
  CliCredentialsStackSynthesizer,
  DefaultStackSynthesizer,
  Duration,
  Fn,
  type IStackSynthesizer,
  RemovalPolicy,
  Stack,
} from 'aws-cdk-lib';
import { OidcProviderNative, OpenIdConnectPrincipal, PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import type { Construct, Node } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { type ServiceNames, stackName } from './service-stack.ts';
import { readContext, refused } from './settings.ts';

/** A GitHub environment in .github/workflows/deploy.yml, named after the stage that its jobs deploy. */
type Environment = 'dev' | 'prod';

/**
 * `repository` is written as in GitHub's tokens: `<owner>@<owner id>/<repository>@<repository id>`, or without the ids.
 * `hasProvider` tells whether the account already has GitHub's identity provider.
 */
export type GitHubSettings = { repository: string; environments: Environment[]; hasProvider: boolean };

/** Returns undefined unless the CDK context has the key `github`. */
export const readGitHub = (node: Node): GitHubSettings | undefined => {
  const { github: repository, stage, githubProvider } = readContext(node);
  if (repository === undefined) return undefined;
  if (stage !== undefined && stage !== 'dev' && stage !== 'prod') {
    throw refused('stage', stage, 'must be dev or prod, or left out to let GitHub deploy both');
  }
  return { repository, environments: stage ? [stage] : ['dev', 'prod'], hasProvider: githubProvider !== undefined };
};

const issuer = 'token.actions.githubusercontent.com';

/** Lets workflows on GitHub deploy to this account, with GitHub's identity provider and a role for each environment. */
export class GitHubStack extends Stack {
  readonly #names: ServiceNames;

  constructor(app: Construct, names: ServiceNames, { repository, environments, hasProvider }: GitHubSettings) {
    super(app, `${names.stack}GitHub`, {
      description: `${names.title}: what GitHub may do in this account`,
      // Deploy with an administrator's credentials. GitHub could widen a stack that the roles of `cdk bootstrap` deploy.
      // `as` is needed because CDK's class does not fit CDK's interface under TypeScript's exactOptionalPropertyTypes.
      synthesizer: new CliCredentialsStackSynthesizer() as IStackSynthesizer,
    });
    this.#names = names;
    const arn = `arn:${Aws.PARTITION}:iam::${Aws.ACCOUNT_ID}:oidc-provider/${issuer}`;
    const provider = hasProvider
      ? OidcProviderNative.fromOidcProviderArn(this, 'Provider', arn)
      : new OidcProviderNative(this, 'Provider', {
          url: `https://${issuer}`,
          clientIds: ['sts.amazonaws.com'],
          // Keep the OIDC provider if this stack is deleted: an account can have only one for GitHub, which other
          // stacks may use.
          removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        });
    for (const environment of environments) {
      const name = environment === 'prod' ? 'Prod' : 'Dev';
      const role = new Role(this, name, {
        description: `Deploys ${environment} from ${repository} on GitHub`,
        // As long as the job for prod may take: deploy.yml says why.
        ...(environment === 'prod' && { maxSessionDuration: Duration.minutes(150) }),
        assumedBy: new OpenIdConnectPrincipal(provider, {
          StringEquals: {
            [`${issuer}:aud`]: 'sts.amazonaws.com',
            [`${issuer}:sub`]: `repo:${repository}:environment:${environment}`,
            // The `sub` above names the environment but not the branch, so this condition checks the branch.
            [`${issuer}:ref`]: 'refs/heads/main',
          },
        }),
      });
      this.#grant(role, environment);
      new CfnOutput(this, `${name}RoleArn`, { value: role.roleArn });
    }
  }

  /** Grants what deploy.yml's jobs need for `cdk deploy`, for the command `verify` and, in dev, for the journey tests. */
  #grant(role: Role, environment: Environment): void {
    const { DEFAULT_DEPLOY_ROLE_ARN, DEFAULT_FILE_ASSET_PUBLISHING_ROLE_ARN } = DefaultStackSynthesizer;
    const Qualifier = this.synthesizer.bootstrapQualifier ?? DefaultStackSynthesizer.DEFAULT_QUALIFIER;
    const bootstrapped = [DEFAULT_DEPLOY_ROLE_ARN, DEFAULT_FILE_ASSET_PUBLISHING_ROLE_ARN];
    const resources = bootstrapped.map((each) => Fn.sub(each, { Qualifier }));
    role.addToPolicy(new PolicyStatement({ actions: ['sts:AssumeRole'], resources }));

    const stack = stackName(this.#names, environment);
    allow(role, ['cloudformation:ListStackResources'], 'cloudformation', `stack/${stack}/*`);
    // The names do not tell the stages apart: …-dev-* is also a pattern for the names of stage dev-anna.
    const tags = { 'aws:ResourceTag/service': this.#names.tag, 'aws:ResourceTag/stage': environment };
    allow(role, ['lambda:GetAlias', 'lambda:GetFunction'], 'lambda', `function:${stack}-*`, tags);
    if (environment === 'dev') {
      allow(role, ['cloudformation:DescribeStacks'], 'cloudformation', `stack/${stack}/*`);
      allow(role, ['cognito-idp:DescribeUserPoolClient'], 'cognito-idp', 'userpool/*', tags);
      // DynamoDB compares tags only if the account has turned that on. The capital letter keeps out the tables of
      // stages such as dev-orders, because the names of stages are in lower case.
      allow(role, ['dynamodb:GetItem'], 'dynamodb', `table/${stack}-${this.#names.table}*`);
    }
  }
}

/**
 * Allows actions on all resources whose names match a pattern, and that have the tags if any are given: the exact names
 * are unknown, because AWS generates parts of them.
 */
const allow = (role: Role, actions: string[], service: string, pattern: string, tags?: Record<string, string>) => {
  const arn = (partition: string, region: string, account: string) =>
    `arn:${partition}:${service}:${region}:${account}:${pattern}`;
  const resources = [arn(Aws.PARTITION, Aws.REGION, Aws.ACCOUNT_ID)];
  role.addToPolicy(new PolicyStatement({ actions, resources, ...(tags && { conditions: { StringEquals: tags } }) }));
  acknowledge(
    role.node.findChild('DefaultPolicy'),
    `AwsSolutions-IAM5[Resource::${arn('<AWS::Partition>', '<AWS::Region>', '<AWS::AccountId>')}]`,
    'AWS makes up a part of the name. The rest of the name, or tags, limit the actions to one stage. They only read.',
  );
};
