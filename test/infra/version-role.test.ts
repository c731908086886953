/** Tests that a deployment leaves older versions of the functions the permissions that they had. */
import type { Stack } from 'aws-cdk-lib';
import { Template as CdkTemplate } from 'aws-cdk-lib/assertions';
import { ManagedPolicy, Policy, PolicyStatement, type Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { describe, expect, test } from 'vitest';
import { grantedActions as actions, changedOperation, deployedOver, withChange } from '../kit/roll-out.ts';
import { kinds, templateOf, withStack } from '../kit/stacks.ts';
import { arn, type Resource, type Template } from '../kit/template.ts';

const { name } = changedOperation;

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
    ['a grant of a queue', (fn) => new Queue(fn.stack, 'Jobs').grantSendMessages(fn)],
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
