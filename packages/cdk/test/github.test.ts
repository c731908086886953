/** Tests what the stack for GitHub lets GitHub's workflows do. app.e2e.ts tests that `cdk` synthesizes this stack. */
import {
  arn,
  ofType,
  permissionsIn,
  propertiesOf,
  ref,
  resolve,
  withApp,
  withoutHashes,
} from '@lambda-service/testing/stack';
import { Template } from 'aws-cdk-lib/assertions';
import { RootConstruct } from 'constructs';
import { describe, expect, test } from 'vitest';
import { type GitHubSettings, GitHubStack, readGitHub } from '../github.ts';

const names = {
  title: 'Order Store',
  stack: 'OrderStore',
  tag: 'order-store',
  domainPrefix: 'orders',
  table: 'Orders',
};

const read = (context: Record<string, unknown>) => {
  const { node } = new RootConstruct();
  for (const [key, value] of Object.entries(context)) node.setContext(key, value);
  return readGitHub(node);
};

const github = 'acme@12/orders@34';

const synthesize = (context: Record<string, string>) =>
  withApp(context, (app) => {
    const stack = new GitHubStack(app, names, read(context) as GitHubSettings);
    const template = withoutHashes(Template.fromStack(stack).toJSON());
    const { assumeRoleArn, cloudFormationExecutionRoleArn } = app.synth().getStackByName(stack.stackName);
    return { ...template, deployedBy: [assumeRoleArn, cloudFormationExecutionRoleArn] };
  });

/** Lists what a role may do. */
const permissionsOf = (role: string, template: ReturnType<typeof synthesize>): string[] =>
  permissionsIn(propertiesOf('AWS::IAM::Policy', template)[`${role}DefaultPolicy`]?.['PolicyDocument']);

const tags = (stage: string): string =>
  ` {"StringEquals":{"aws:ResourceTag/service":"order-store","aws:ResourceTag/stage":"${stage}"}}`;
const allow = (action: string, resource: string): string =>
  `Allow ${action}: arn:AWS::Partition:${action.split(':')[0]}:AWS::Region:AWS::AccountId:${resource}`;
/** What both roles may do: read what they have deployed, and take on the roles of `cdk bootstrap`. */
const toDeploy = (stage: string, stack: string): string[] => [
  allow('cloudformation:ListStackResources', `stack/${stack}/*`),
  ...['GetAlias', 'GetFunction'].map((each) => allow(`lambda:${each}`, `function:${stack}-*${tags(stage)}`)),
  ...['deploy', 'file-publishing'].map(
    (role) =>
      `Allow sts:AssumeRole: arn:AWS::Partition:iam::AWS::AccountId:role/cdk-hnb659fds-${role}-role-AWS::AccountId-AWS::Region`,
  ),
];

const issuer = 'token.actions.githubusercontent.com';
const trust = (provider: unknown, sub: string) => ({
  AssumeRolePolicyDocument: {
    Statement: [
      {
        Action: 'sts:AssumeRoleWithWebIdentity',
        Condition: {
          StringEquals: {
            [`${issuer}:aud`]: 'sts.amazonaws.com',
            [`${issuer}:sub`]: sub,
            [`${issuer}:ref`]: 'refs/heads/main',
          },
        },
        Effect: 'Allow',
        Principal: { Federated: provider },
      },
    ],
    Version: '2012-10-17',
  },
});

const template = synthesize({ github });

describe('the stack for GitHub', () => {
  test('trusts only the branch main of the repository, and gives each environment a separate role', () => {
    const Description = expect.any(String);
    const [dev, prod] = ['dev', 'prod'].map((name) => trust(ref('Provider'), `repo:${github}:environment:${name}`));
    expect(propertiesOf('AWS::IAM::Role', template)).toEqual({
      Dev: { ...dev, Description },
      // As long as the session that the job for prod asks for.
      Prod: { ...prod, Description, MaxSessionDuration: 9_000 },
    });
    expect(template.Outputs).toEqual({ DevRoleArn: { Value: arn('Dev') }, ProdRoleArn: { Value: arn('Prod') } });
  });

  test("is deployed with an administrator's credentials, not with a role of `cdk bootstrap` that GitHub may use", () => {
    expect(template.deployedBy).toEqual([undefined, undefined]);
  });

  test('lets the roles deploy with the CDK, read what they deployed, and do nothing else', () => {
    const types = Object.values(template.Resources).map(({ Type }) => Type.replace('AWS::IAM::', ''));
    expect(types.sort()).toEqual(['OIDCProvider', 'Policy', 'Policy', 'Role', 'Role']);
    expect(permissionsOf('Prod', template)).toEqual(toDeploy('prod', 'OrderStore'));
    const ofDev = [
      allow('cloudformation:DescribeStacks', 'stack/OrderStore-dev/*'),
      allow('cognito-idp:DescribeUserPoolClient', `userpool/*${tags('dev')}`),
      allow('dynamodb:GetItem', 'table/OrderStore-dev-Orders*'),
    ];
    expect(permissionsOf('Dev', template)).toEqual([...toDeploy('dev', 'OrderStore-dev'), ...ofDev].sort());
  });

  test("creates GitHub's identity provider, and keeps it if the stack is deleted, because other stacks may use it", () => {
    expect(ofType('AWS::IAM::OIDCProvider', template)['Provider']).toMatchObject({
      Properties: { Url: `https://${issuer}`, ClientIdList: ['sts.amazonaws.com'] },
      DeletionPolicy: 'RetainExceptOnCreate',
    });
  });

  test('uses the existing identity provider, and makes a role for only one stage, if the CDK context says so', () => {
    const single = synthesize({ github: 'acme/orders', githubProvider: 'existing', stage: 'prod' });
    expect(ofType('AWS::IAM::OIDCProvider', single)).toEqual({});
    const provider = expect.toSatisfy(
      (value) => resolve(value) === `arn:AWS::Partition:iam::AWS::AccountId:oidc-provider/${issuer}`,
    );
    expect(propertiesOf('AWS::IAM::Role', single)).toEqual({
      Prod: expect.objectContaining(trust(provider, 'repo:acme/orders:environment:prod')),
    });
  });
});

describe('the settings for GitHub', () => {
  test('are absent if the context does not have the key github', () => {
    expect(read({ stage: 'dev' })).toBeUndefined();
  });

  test.each(['acme@12/orders@34', 'acme/orders', 'a-b_c@1/x.y_z-1@2'])('accept the repository %s', (repository) => {
    expect(read({ github: repository })).toEqual({ repository, environments: ['dev', 'prod'], hasProvider: false });
  });

  const wrong = ['', 'acme', 'acme/*', 'acme@12/*@34', 'acme@12/orders', 'acme@x/orders@34', 'repo:acme/orders'];

  test.each<[context: object, key: string]>([
    ...wrong.map((value): [object, string] => [{ github: value }, 'github']),
    [{ github, githubProvider: 'arn:aws:iam::123456789012:oidc-provider/a' }, 'githubProvider'],
    [{ github, stage: 'dev-anna' }, 'stage'],
    // Without `github`, `cdk deploy` would deploy the service instead of the stack for GitHub.
    [{ githubProvider: 'existing' }, 'github'],
  ])('refuse %j', (context, key) => {
    expect(() => read({ ...context })).toThrow(new RegExp(`^The context value ${key} is .*: .*\\.$`));
  });
});
