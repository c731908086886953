/**
 * Tests all roles of the stack, all permissions in their policies, and that a deployment leaves older versions of the
 * functions the permissions that they had.
 */
import type { Stack } from 'aws-cdk-lib';
import { Template as CdkTemplate } from 'aws-cdk-lib/assertions';
import { ManagedPolicy, Policy, PolicyStatement, type Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { describe, expect, test } from 'vitest';
import { grants } from '../../infra/operations.ts';
import { changedOperation, deployedOver, withChange } from '../kit/roll-out.ts';
import { kinds, templateOf, withStack } from '../kit/stacks.ts';
import {
  arn,
  byFunction,
  byOperation,
  functionNames,
  prod,
  propertiesOf,
  type Resource,
  ref,
  resolve,
  type Template,
} from '../kit/template.ts';

const assumedBy = (Service: string) => ({
  AssumeRolePolicyDocument: {
    Statement: [{ Action: 'sts:AssumeRole', Effect: 'Allow', Principal: { Service } }],
    Version: '2012-10-17',
  },
});

const allow = (Action: string | string[], Resource: unknown) => ({ Action, Effect: 'Allow', Resource });

/** What the function of each operation may do, apart from writing its log. */
const own: Record<string, object[]> = byOperation((name, id) => {
  const [first = '', ...more] = grants[id].toSorted();
  return [[name, first === '' ? [] : [allow(more.length === 0 ? first : [first, ...more], arn('Plants'))]]];
});

test('createPlant may update items in the table, and may do nothing else with the table', () => {
  expect(grants.createPlant).toEqual(['dynamodb:UpdateItem']);
});

/** The permissions of a function, which may also write its log. */
const documentFor = (name: string, more: object[]) => ({
  Statement: [allow(['logs:CreateLogStream', 'logs:PutLogEvents'], arn(`${name}Logs`)), ...more],
  Version: '2012-10-17',
});

test('each function has a role that Lambda assumes to run it, with its permissions inline; each function except the smoke test also has a role that CodeDeploy assumes to roll it out', () => {
  expect(propertiesOf('AWS::IAM::Role')).toEqual({
    ...byFunction((name) => [
      [
        `${name}Role`,
        {
          ...assumedBy('lambda.amazonaws.com'),
          // By this path, `aws iam list-roles` finds the roles of older versions.
          Path: join('/PlantStore/', ref('AWS::Region'), '/'),
          Policies: [{ PolicyName: 'Permissions', PolicyDocument: documentFor(name, own[name] ?? []) }],
        },
      ],
      [`${name}RollOutRole`, assumedBy('codedeploy.amazonaws.com')],
    ]),
    SmokeTestRole: assumedBy('lambda.amazonaws.com'),
  });
  expect(propertiesOf('AWS::Lambda::Function')).toMatchObject({
    ...byFunction((name) => [[name, { Role: arn(`${name}Role`) }]]),
    SmokeTest: { Role: arn('SmokeTestRole') },
  });
  expect(propertiesOf('AWS::CodeDeploy::DeploymentGroup')).toMatchObject(
    byFunction((name) => [[`${name}RollOut`, { ServiceRoleArn: arn(`${name}RollOutRole`) }]]),
  );
});

test('only the roles for roll-outs and of the smoke test have separate policies, with exactly the expected permissions', () => {
  const policy = (role: string, PolicyDocument: object): [string, object] => [
    `${role}DefaultPolicy`,
    { PolicyName: expect.any(String), Roles: [ref(role)], PolicyDocument },
  ];
  expect(propertiesOf('AWS::IAM::Policy')).toEqual({
    ...byFunction((name) => [
      policy(`${name}RollOutRole`, {
        Statement: [
          allow(
            ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig', 'lambda:UpdateAlias'],
            [arn(name), join(arn(name), ':live')],
          ),
          // Without this permission, every deployment but the first would fail. CDK would grant it, too, but the role
          // ignores such grants (`withoutPolicyUpdates`).
          allow('lambda:InvokeFunction', arn('SmokeTest')),
          allow('cloudwatch:DescribeAlarms', '*'),
        ],
        Version: '2012-10-17',
      }),
    ]),
    ...Object.fromEntries([
      policy(
        'SmokeTestRole',
        documentFor('SmokeTest', [
          allow('lambda:InvokeFunction', inAnyOrder(functionNames.map((name) => ref(`${name}CurrentVersion`)))),
          allow('codedeploy:PutLifecycleEventHookExecutionStatus', inAnyOrder(functionNames.map(deploymentGroup))),
        ]),
      ),
    ]),
  });
});

const join = (...parts: unknown[]) => ({ 'Fn::Join': ['', parts] });

const deploymentGroup = (name: string) => {
  const ids = [ref('AWS::Partition'), ':codedeploy:', ref('AWS::Region'), ':', ref('AWS::AccountId')];
  return join('arn:', ...ids, ':deploymentgroup:', ref(`${name}RollOutApplication`), '/', ref(`${name}RollOut`));
};

/** Matches a list that has exactly these resources, in any order. */
const inAnyOrder = (resources: object[]) =>
  expect.toSatisfy((list: object[]) => {
    const sorted = (all: object[]) => all.map((each) => JSON.stringify(each)).sort();
    return sorted(list).join() === sorted(resources).join();
  });

test('no role has a managed policy, and no policy names an action with a wildcard (*)', () => {
  const text = JSON.stringify(prod);
  expect(text).not.toContain('ManagedPolicyArns');
  const actions = text.match(/"(Not)?Action":("[^"]*"|\[[^\]]*\])/g) ?? [];
  expect(actions).toContain('"Action":"sts:AssumeRole"');
  expect(actions.filter((action) => action.includes('*') || action.includes('Not'))).toEqual([]);
});

test("only this API may invoke a function, and only through the function's alias", () => {
  const permissions = Object.values(propertiesOf('AWS::Lambda::Permission'));
  const aliases = permissions.map(({ FunctionName }) => resolve(FunctionName));
  expect(aliases.sort()).toEqual(functionNames.map((name) => `${name}Live`).sort());
  for (const { Action, Principal, SourceArn } of permissions) {
    expect([Action, Principal]).toEqual(['lambda:InvokeFunction', 'apigateway.amazonaws.com']);
    expect(resolve(SourceArn)).toContain(':execute-api:AWS::Region:AWS::AccountId:Api/');
  }
});

describe('the roles of older function versions', () => {
  const { id, name } = changedOperation;
  const actions = grants[id];

  type Change = Parameters<typeof withChange>[0];
  const synthesize = (change: Change, context = kinds.prod): Template =>
    withChange(change, () => templateOf(context).toJSON() as Template);

  const idsOf = ({ Resources }: Template, type: string, start = ''): string[] =>
    Object.keys(Resources).filter((each) => Resources[each]?.Type === type && each.startsWith(start));

  /** The roles of the functions in `functions`, as they are in `account`, with the separate policies that they have there. */
  const permissionsOf = (functions: Template, account: Template): Record<string, (Resource | undefined)[]> => {
    const called = idsOf(functions, 'AWS::Lambda::Function').filter((each) => !each.startsWith('SmokeTest'));
    const roles = called.map((each) => Object(functions.Resources[each]?.Properties['Role'])['Fn::GetAtt'][0]);
    const policies = idsOf(account, 'AWS::IAM::Policy').map((each) => account.Resources[each]);
    const policiesOf = (role: string) => policies.filter((each) => JSON.stringify(each).includes(`"${role}"`));
    return Object.fromEntries(roles.map((role) => [role, [account.Resources[role], ...policiesOf(role)]]));
  };

  const before = synthesize({ actions });

  describe.each<[what: string, after: Change]>([
    ['other permissions', { actions: ['dynamodb:GetItem'] }],
    ['more permissions', { actions: [...actions, 'dynamodb:GetItem'] }],
    ['other permissions and other code', { actions: ['dynamodb:GetItem'], code: 'exports.handler = () => {};' }],
  ])('a deployment in prod that gives a function %s', (_, change) => {
    const after = synthesize(change);

    test('changes and deletes nothing that the permissions of the older versions consist of', () => {
      expect(permissionsOf(before, deployedOver(before, after) as Template)).toEqual(permissionsOf(before, before));
    });

    test('makes a new version of that function with a new role, and no version of other functions', () => {
      const isNew = (each: string) => !(each in before.Resources);
      const versions = idsOf(after, 'AWS::Lambda::Version').filter(isNew);
      expect(versions).toEqual([expect.stringMatching(`^${name}CurrentVersion`)]);
      const [role = '', ...others] = idsOf(after, 'AWS::IAM::Role').filter(isNew);
      expect([role, others]).toEqual([expect.stringMatching(`^${name}Role`), []]);
      const [fn = ''] = idsOf(after, 'AWS::Lambda::Function', name);
      expect(after.Resources[fn]?.Properties['Role']).toEqual(arn(role));
    });
  });

  test('a deployment of other code with the same permissions keeps the role', () => {
    const after = synthesize({ actions, code: 'exports.handler = () => {};' });
    expect(idsOf(after, 'AWS::IAM::Role')).toEqual(idsOf(before, 'AWS::IAM::Role'));
    expect(idsOf(after, 'AWS::Lambda::Version')).not.toEqual(idsOf(before, 'AWS::Lambda::Version'));
  });

  test("a dev stage deletes a function's old role once its new version has all calls", () => {
    const [then, now] = [synthesize({ actions }, kinds.dev), synthesize({ actions: [] }, kinds.dev)];
    const [role = ''] = idsOf(then, 'AWS::IAM::Role', `${name}Role`);
    expect(idsOf(now, 'AWS::IAM::Role')).not.toContain(role);
    expect(then.Resources[role]).toMatchObject({ DeletionPolicy: 'Delete', UpdateReplacePolicy: 'Delete' });
  });

  describe("CDK's own ways to permit something", () => {
    const functionIn = (stack: Stack) => stack.node.findChild(name) as LambdaFunction;
    const statement = new PolicyStatement({ actions: ['s3:GetObject'], resources: ['*'] });
    const managed = ManagedPolicy.fromAwsManagedPolicyName('ReadOnlyAccess');
    const principals = [new ServicePrincipal('edgelambda.amazonaws.com')];
    const trust = new PolicyStatement({ actions: ['sts:AssumeRole'], principals });

    test.each<[what: string, permit: (fn: LambdaFunction) => unknown]>([
      ['addToRolePolicy', (fn) => fn.addToRolePolicy(statement)],
      ['a managed policy', ({ role }) => role?.addManagedPolicy(managed)],
      ['trust', ({ role }) => (role as Role).assumeRolePolicy?.addStatements(trust)],
    ])('also make a new role: %s', (_, permit) => {
      const roles = withStack(kinds.prod, (stack) => {
        permit(functionIn(stack));
        return idsOf(CdkTemplate.fromStack(stack).toJSON() as Template, 'AWS::IAM::Role', `${name}Role`);
      });
      expect(roles).toHaveLength(1);
      expect(idsOf(before, 'AWS::IAM::Role')).not.toContain(roles[0]);
    });

    test('throw if they attach a separate policy, which would change what older versions may do', () => {
      withStack(kinds.prod, (stack) => {
        const attach = () =>
          new Policy(stack, 'Separate', { statements: [statement] }).attachToRole(functionIn(stack).role as never);
        expect(attach).toThrow(/^Add the permissions of PlantStore\/Separate with addToRolePolicy/);
      });
    });
  });
});
