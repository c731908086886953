/** Tests what the stack for GitHub lets GitHub's workflows do. app.e2e.ts tests that `cdk` synthesizes this stack. */
import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { RootConstruct } from 'constructs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { GitHubStack, readGitHub } from '../../infra/github.ts';
import { featureFlags } from '../kit/feature-flags.ts';
import { temporaryFolder } from '../kit/local-service.ts';
import { arn, ofType, propertiesOf, ref, withoutHashes } from '../kit/template.ts';

const read = (context: Record<string, unknown>) => {
  const { node } = new RootConstruct();
  for (const [key, value] of Object.entries(context)) node.setContext(key, value);
  return readGitHub(node);
};

const github = 'acme@12/plants@34';

const synthesize = async (context: Record<string, string>) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const app = new App({
    outdir: folder,
    context: { ...featureFlags, ...context },
    builtinCloudFormationValidation: false,
  });
  const settings = read(context);
  if (settings === undefined) throw new Error('The context does not have the key github.');
  return withoutHashes(Template.fromStack(new GitHubStack(app, settings)).toJSON());
};

/** Joins the parts of an `Fn::Join` into one string, in which a reference looks like `<AWS::Region>`. */
const joined = (value: unknown): unknown => {
  const { 'Fn::Join': [, parts] = [] } = Object(value) as { 'Fn::Join'?: [string, (string | { Ref: string })[]] };
  return parts?.map((part) => (typeof part === 'string' ? part : `<${part.Ref}>`)).join('') ?? value;
};

type Condition = { StringEquals: Record<string, string> };
type Statement = { Effect: string; Action: string | string[]; Resource: unknown; Condition?: Condition };
type Permission = { effect: string; action: string; resource: string; condition?: Condition };

/** Returns what a role's policy says, as one permission for each action and resource. */
const permissionsOf = (role: string, template: Awaited<ReturnType<typeof synthesize>>): Permission[] => {
  const { PolicyDocument } = propertiesOf('AWS::IAM::Policy', template)[`${role}DefaultPolicy`] ?? {};
  const { Statement } = PolicyDocument as { Statement: Statement[] };
  return Statement.flatMap(({ Effect, Action, Resource, Condition }) =>
    [Action].flat().flatMap((action) =>
      [Resource].flat().map((each) => {
        const { 'Fn::Sub': [sub, variables] = [] } = Object(each);
        const resource = sub?.replaceAll(/\$\{(.*?)\}/g, (_: string, name: string) => variables[name] ?? `<${name}>`);
        const condition = Condition && { condition: Condition };
        return { effect: Effect, action, resource: resource ?? String(joined(each)), ...condition };
      }),
    ),
  );
};

/** Returns each permission as a string such as `Allow lambda:GetAlias: <resource>, if stage=dev`. */
const listed = (permissions: Permission[]): string[] =>
  permissions.map(({ effect, action, resource, condition }) => {
    const { StringEquals, ...others } = condition ?? { StringEquals: {} };
    expect(others).toEqual({});
    const tags = Object.entries(StringEquals).map(([key, value]) => `${key.replace('aws:ResourceTag/', '')}=${value}`);
    return [`${effect} ${action}: ${resource}`, ...tags].join(', if ');
  });

const own = (service: string): string => `arn:<AWS::Partition>:${service}:<AWS::Region>:<AWS::AccountId>`;
const bootstrapped = (role: string): string =>
  `Allow sts:AssumeRole: arn:<AWS::Partition>:iam::<AWS::AccountId>:role/cdk-hnb659fds-${role}-role-<AWS::AccountId>-<AWS::Region>`;

const trust = (provider: unknown, sub: string) => ({
  Statement: [
    {
      Action: 'sts:AssumeRoleWithWebIdentity',
      Condition: {
        StringEquals: {
          'token.actions.githubusercontent.com:aud': 'sts.amazonaws.com',
          'token.actions.githubusercontent.com:sub': sub,
          'token.actions.githubusercontent.com:ref': 'refs/heads/main',
        },
      },
      Effect: 'Allow',
      Principal: { Federated: provider },
    },
  ],
  Version: '2012-10-17',
});

type Step = { run?: string; with?: Record<string, unknown> };
type Job = { environment?: string; 'timeout-minutes': number; steps?: Step[] };
const workflow = readFileSync(new URL('../../.github/workflows/deploy.yml', import.meta.url), 'utf8');
const { jobs } = parse(workflow) as { jobs: Record<string, Job> };

describe('the stack for GitHub', () => {
  test('trusts only the branch main of the repository, and gives each environment a separate role', async () => {
    const template = await synthesize({ github });
    expect(propertiesOf('AWS::IAM::Role', template)).toEqual({
      Dev: {
        AssumeRolePolicyDocument: trust(ref('Provider'), 'repo:acme@12/plants@34:environment:dev'),
        Description: 'Deploys dev from acme@12/plants@34 on GitHub',
      },
      Prod: {
        AssumeRolePolicyDocument: trust(ref('Provider'), 'repo:acme@12/plants@34:environment:prod'),
        Description: 'Deploys prod from acme@12/plants@34 on GitHub',
        MaxSessionDuration: 9000,
      },
    });
    expect(template.Outputs).toEqual({ DevRoleArn: { Value: arn('Dev') }, ProdRoleArn: { Value: arn('Prod') } });
  });

  test('lets the roles deploy with the CDK, read what they deployed, and do nothing else', async () => {
    const template = await synthesize({ github });
    expect(
      Object.values(template.Resources)
        .map(({ Type }) => Type.replace('AWS::IAM::', ''))
        .sort(),
    ).toEqual([...['OIDCProvider', 'Policy', 'Policy', 'Role', 'Role']]);
    expect(listed(permissionsOf('Dev', template))).toEqual([
      bootstrapped('deploy'),
      bootstrapped('file-publishing'),
      `Allow cloudformation:DescribeStacks: ${own('cloudformation')}:stack/PlantStore-dev/*`,
      `Allow cloudformation:ListStackResources: ${own('cloudformation')}:stack/PlantStore-dev/*`,
      `Allow lambda:GetAlias: ${own('lambda')}:function:PlantStore-dev-*, if service=plant-store, if stage=dev`,
      `Allow lambda:GetFunction: ${own('lambda')}:function:PlantStore-dev-*, if service=plant-store, if stage=dev`,
      `Allow cognito-idp:DescribeUserPoolClient: ${own('cognito-idp')}:userpool/*, if service=plant-store, if stage=dev`,
      `Allow dynamodb:GetItem: ${own('dynamodb')}:table/PlantStore-dev-Plants*`,
    ]);
    expect(listed(permissionsOf('Prod', template))).toEqual([
      bootstrapped('deploy'),
      bootstrapped('file-publishing'),
      `Allow cloudformation:ListStackResources: ${own('cloudformation')}:stack/PlantStore/*`,
      `Allow lambda:GetAlias: ${own('lambda')}:function:PlantStore-*, if service=plant-store, if stage=prod`,
      `Allow lambda:GetFunction: ${own('lambda')}:function:PlantStore-*, if service=plant-store, if stage=prod`,
    ]);
  });

  test.each(['Dev', 'Prod'])(
    'lets the role %s have a session that is as long as its job in deploy.yml asks for, and at least as long as the job',
    async (role) => {
      const job = jobs[role.toLowerCase()];
      // An hour is the default of both AWS and the action that asks for the session.
      const hour = 3600;
      const session =
        job?.steps?.find((step) => step.with?.['role-to-assume'])?.with?.['role-duration-seconds'] ?? hour;
      const { MaxSessionDuration = hour } = propertiesOf('AWS::IAM::Role', await synthesize({ github }))[role] ?? {};
      expect(MaxSessionDuration).toBe(session);
      expect(Number(job?.['timeout-minutes']) * 60).toBeLessThanOrEqual(Number(session));
    },
  );

  test('lets the job for prod wait for two smoke tests that never report, one of them in the rollback; CodeDeploy gives each an hour', () => {
    expect(jobs['prod']?.['timeout-minutes']).toBeGreaterThanOrEqual(2 * 60 + 20);
  });

  test("creates GitHub's identity provider, and keeps it if the stack is deleted: an account can have only one, so other stacks may use it", async () => {
    const { Provider } = ofType('AWS::IAM::OIDCProvider', await synthesize({ github }));
    expect(Provider).toMatchObject({
      Properties: { Url: 'https://token.actions.githubusercontent.com', ClientIdList: ['sts.amazonaws.com'] },
      DeletionPolicy: 'RetainExceptOnCreate',
    });
  });

  test('uses the existing identity provider if the CDK context says that it exists, and makes a role for only one stage if the context names that stage', async () => {
    const template = await synthesize({ github: 'acme/plants', githubProvider: 'existing', stage: 'prod' });
    expect(ofType('AWS::IAM::OIDCProvider', template)).toEqual({});
    const roles = propertiesOf('AWS::IAM::Role', template);
    expect(Object.keys(roles)).toEqual(['Prod']);
    const document = roles['Prod']?.['AssumeRolePolicyDocument'] as ReturnType<typeof trust>;
    const provider = joined(document.Statement[0]?.Principal.Federated);
    expect(provider).toBe(
      'arn:<AWS::Partition>:iam::<AWS::AccountId>:oidc-provider/token.actions.githubusercontent.com',
    );
    expect(document).toEqual(trust(expect.anything(), 'repo:acme/plants:environment:prod'));
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

  test.each<[context: object, key: string]>([
    ...[
      '',
      'acme',
      'acme/*',
      'acme@12/*@34',
      'acme@12/plants',
      'acme@x/plants@34',
      'repo:acme/plants',
      'acme/plants\n',
    ].map((value): [object, string] => [{ github: value }, 'github']),
    [{ github, githubProvider: 'arn:aws:iam::123456789012:oidc-provider/a' }, 'githubProvider'],
    [{ github, stage: 'dev-anna' }, 'stage'],
    // Without `github`, `cdk deploy` would deploy the service instead of the stack for GitHub.
    [{ githubProvider: 'existing' }, 'github'],
  ])('refuse %j', (context, key) => {
    expect(() => read({ ...context })).toThrow(new RegExp(`^The context value ${key} is .*: .*\\.$`));
  });
});
