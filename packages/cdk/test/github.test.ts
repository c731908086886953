/** Tests what the stack for GitHub lets GitHub's workflows do. app.e2e.ts tests that `cdk` synthesizes this stack. */
import { readFileSync } from 'node:fs';
import { temporaryFolder } from '@lambda-service/testing/programs';
import {
  arn,
  featureFlags,
  ofType,
  permissionsIn,
  propertiesOf,
  ref,
  resolve,
  withoutHashes,
} from '@lambda-service/testing/stack';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { RootConstruct } from 'constructs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { names } from '../../infra/plant-store-stack.ts';
import { type GitHubSettings, GitHubStack, readGitHub } from '../../packages/cdk/github.ts';

const read = (context: Record<string, unknown>) => {
  const { node } = new RootConstruct();
  for (const [key, value] of Object.entries(context)) node.setContext(key, value);
  return readGitHub(node);
};

const github = 'acme@12/plants@34';

const synthesize = async (context: Record<string, string>) => {
  const { folder: outdir, remove } = await temporaryFolder();
  const app = new App({ outdir, context: { ...featureFlags, ...context }, builtinCloudFormationValidation: false });
  const stack = new GitHubStack(app, names, read(context) as GitHubSettings);
  const template = withoutHashes(Template.fromStack(stack).toJSON());
  const { assumeRoleArn, cloudFormationExecutionRoleArn } = app.synth().getStackByName(stack.stackName);
  await remove();
  return { ...template, deployedBy: [assumeRoleArn, cloudFormationExecutionRoleArn] };
};

/** Lists what a role may do. */
const permissionsOf = (role: string, template: Awaited<ReturnType<typeof synthesize>>): string[] =>
  permissionsIn(propertiesOf('AWS::IAM::Policy', template)[`${role}DefaultPolicy`]?.['PolicyDocument']);

const tags = (stage: string): string =>
  ` {"StringEquals":{"aws:ResourceTag/service":"plant-store","aws:ResourceTag/stage":"${stage}"}}`;
const own = (service: string): string => `arn:AWS::Partition:${service}:AWS::Region:AWS::AccountId`;
const bootstrapped = (role: string): string =>
  `Allow sts:AssumeRole: arn:AWS::Partition:iam::AWS::AccountId:role/cdk-hnb659fds-${role}-role-AWS::AccountId-AWS::Region`;

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

type Step = { run?: string; with?: Record<string, unknown> };
type Job = { environment?: string; 'timeout-minutes': number; steps?: Step[] };
const workflow = readFileSync(new URL('../../.github/workflows/deploy.yml', import.meta.url), 'utf8');
const { jobs } = parse(workflow) as { jobs: Record<string, Job> };

const template = await synthesize({ github });

describe('the stack for GitHub', () => {
  test('trusts only the branch main of the repository, and gives each environment a separate role', () => {
    const Description = expect.any(String);
    const [dev, prod] = ['dev', 'prod'].map((name) => trust(ref('Provider'), `repo:${github}:environment:${name}`));
    expect(propertiesOf('AWS::IAM::Role', template)).toEqual({
      Dev: { ...dev, Description },
      Prod: { ...prod, Description, MaxSessionDuration: expect.any(Number) },
    });
    expect(template.Outputs).toEqual({ DevRoleArn: { Value: arn('Dev') }, ProdRoleArn: { Value: arn('Prod') } });
  });

  test("is deployed with an administrator's credentials, not with a role of `cdk bootstrap` that GitHub may use", () => {
    expect(template.deployedBy).toEqual([undefined, undefined]);
  });

  test('lets the roles deploy with the CDK, read what they deployed, and do nothing else', () => {
    const types = Object.values(template.Resources).map(({ Type }) => Type.replace('AWS::IAM::', ''));
    expect(types.sort()).toEqual(['OIDCProvider', 'Policy', 'Policy', 'Role', 'Role']);
    expect(permissionsOf('Dev', template)).toEqual([
      `Allow cloudformation:DescribeStacks: ${own('cloudformation')}:stack/PlantStore-dev/*`,
      `Allow cloudformation:ListStackResources: ${own('cloudformation')}:stack/PlantStore-dev/*`,
      `Allow cognito-idp:DescribeUserPoolClient: ${own('cognito-idp')}:userpool/*${tags('dev')}`,
      `Allow dynamodb:GetItem: ${own('dynamodb')}:table/PlantStore-dev-Plants*`,
      `Allow lambda:GetAlias: ${own('lambda')}:function:PlantStore-dev-*${tags('dev')}`,
      `Allow lambda:GetFunction: ${own('lambda')}:function:PlantStore-dev-*${tags('dev')}`,
      bootstrapped('deploy'),
      bootstrapped('file-publishing'),
    ]);
    expect(permissionsOf('Prod', template)).toEqual([
      `Allow cloudformation:ListStackResources: ${own('cloudformation')}:stack/PlantStore/*`,
      `Allow lambda:GetAlias: ${own('lambda')}:function:PlantStore-*${tags('prod')}`,
      `Allow lambda:GetFunction: ${own('lambda')}:function:PlantStore-*${tags('prod')}`,
      bootstrapped('deploy'),
      bootstrapped('file-publishing'),
    ]);
  });

  test.each(['Dev', 'Prod'])('gives role %s the session that its job asks for, at least as long as the job', (role) => {
    const { steps = [], 'timeout-minutes': minutes } = jobs[role.toLowerCase()] ?? {};
    const inputs = steps.find((step) => step.with?.['role-to-assume'])?.with;
    // An hour is the default of both AWS and the action that asks for the session.
    const { MaxSessionDuration = 3600 } = propertiesOf('AWS::IAM::Role', template)[role] ?? {};
    expect(MaxSessionDuration).toBe(inputs?.['role-duration-seconds'] ?? 3600);
    expect(Number(minutes) * 60).toBeLessThanOrEqual(Number(MaxSessionDuration));
  });

  test('lets the job for prod wait for two smoke tests that never report, one of them in the rollback; CodeDeploy gives each an hour', () => {
    expect(jobs['prod']?.['timeout-minutes']).toBeGreaterThanOrEqual(2 * 60 + 20);
  });

  test("creates GitHub's identity provider, and keeps it if the stack is deleted, because other stacks may use it", () => {
    expect(ofType('AWS::IAM::OIDCProvider', template)['Provider']).toMatchObject({
      Properties: { Url: `https://${issuer}`, ClientIdList: ['sts.amazonaws.com'] },
      DeletionPolicy: 'RetainExceptOnCreate',
    });
  });

  test('uses the existing identity provider, and makes a role for only one stage, if the CDK context says so', async () => {
    const single = await synthesize({ github: 'acme/plants', githubProvider: 'existing', stage: 'prod' });
    expect(ofType('AWS::IAM::OIDCProvider', single)).toEqual({});
    const provider = expect.toSatisfy(
      (value) => resolve(value) === `arn:AWS::Partition:iam::AWS::AccountId:oidc-provider/${issuer}`,
    );
    expect(propertiesOf('AWS::IAM::Role', single)).toEqual({
      Prod: expect.objectContaining(trust(provider, 'repo:acme/plants:environment:prod')),
    });
  });

  test('trusts exactly the environments that deploy.yml uses; each job of deploy.yml uses the environment named after the stage that the job deploys', () => {
    const deployed = Object.values(jobs).flatMap(({ environment, steps = [] }) =>
      steps.flatMap(({ run = '' }) => {
        const [, stage] = /\bcdk synth .*-c stage=(\w+)/.exec(run) ?? [];
        return stage === undefined ? [] : [[environment, stage]];
      }),
    );
    expect(deployed).toEqual(read({ github })?.environments.map((each) => [each, each]));
  });
});

describe('the settings for GitHub', () => {
  test('are absent if the context does not have the key github', () => {
    expect(read({ stage: 'dev' })).toBeUndefined();
  });

  test.each(['acme@12/plants@34', 'acme/plants', 'a-b_c@1/x.y_z-1@2'])('accept the repository %s', (repository) => {
    expect(read({ github: repository })).toEqual({ repository, environments: ['dev', 'prod'], hasProvider: false });
  });

  const wrong = ['', 'acme', 'acme/*', 'acme@12/*@34', 'acme@12/plants', 'acme@x/plants@34', 'repo:acme/plants'];

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
