/** Tests that a deployment leaves older versions of the functions the permissions that they had. */

import { arn, emptyStack, kinds, type Resource, type Template, templateOf } from '@lambda-service/testing/stack';
import { grantedActions as actions, changedOperation, deployedOver, withChange } from '@lambda-service/testing/trial';
import type { Stack } from 'aws-cdk-lib';
import { type CfnRole, ManagedPolicy, Policy, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { describe, expect, test } from 'vitest';
import { VersionRole } from '../../packages/cdk/version-role.ts';

const { name } = changedOperation;

type Change = Parameters<typeof withChange>[0];
const synthesize = (change: Change): Template => withChange(change, () => templateOf(kinds.prod).toJSON() as Template);

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

describe('a deployment in prod that gives a function other permissions', () => {
  const after = synthesize({ actions: ['dynamodb:GetItem'] });

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

describe("CDK's own ways to permit something", () => {
  const roleIn = (stack: Stack) => new VersionRole(stack, 'Role', 'prod');
  const idOf = (role: VersionRole): string => role.stack.resolve((role.node.defaultChild as CfnRole).logicalId);
  const statement = new PolicyStatement({ actions: ['s3:GetObject'], resources: ['*'] });
  const managed = ManagedPolicy.fromAwsManagedPolicyName('ReadOnlyAccess');
  const principals = [new ServicePrincipal('edgelambda.amazonaws.com')];
  const trust = new PolicyStatement({ actions: ['sts:AssumeRole'], principals });

  test.each<[what: string, permit: (role: VersionRole) => unknown]>([
    ['a grant of a queue', (role) => new Queue(role.stack, 'Jobs').grantSendMessages(role)],
    ['addToPrincipalPolicy', (role) => role.addToPrincipalPolicy(statement)],
    ['a managed policy', (role) => role.addManagedPolicy(managed)],
    ['trust', (role) => role.assumeRolePolicy?.addStatements(trust)],
  ])('also make a new role: %s', (_, permit) => {
    const role = roleIn(emptyStack());
    const id = idOf(role);
    permit(role);
    expect(idOf(role)).not.toBe(id);
  });

  test('throw if they attach a separate policy, which would change what older versions may do', () => {
    const stack = emptyStack();
    const policy = new Policy(stack, 'Separate', { statements: [statement] });
    const message = 'Add the permissions of Default/Separate with addToRolePolicy';
    expect(() => policy.attachToRole(roleIn(stack))).toThrow(message);
  });
});
