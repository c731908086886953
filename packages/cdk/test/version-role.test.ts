/** Tests that a deployment leaves older versions of the functions the permissions that they had. */
import { arn, emptyStack, type Template, withApp } from '@lambda-service/testing/stack';
import { deployedOver } from '@lambda-service/testing/trial';
import { Duration, Stack } from 'aws-cdk-lib';
import { Template as StackTemplate } from 'aws-cdk-lib/assertions';
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { type CfnRole, ManagedPolicy, Policy, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { describe, expect, test } from 'vitest';
import { setBundle } from '../bundling.ts';
import { ServiceFunction } from '../service-function.ts';
import { VersionRole } from '../version-role.ts';

/** Makes a stack of stage `prod` with two functions. CreateOrder has this code, and may do `action` to the table. */
const synthesize = (action = 'dynamodb:PutItem', code = ''): Template =>
  withApp({}, (app) => {
    const stack = new Stack(app, 'OrderStore');
    const add = (id: string, code: string) => {
      const entry = `${id}-example.lambda.ts`;
      setBundle(entry, Buffer.from(`exports.handler = () => {};${code}`));
      const timeout = Duration.seconds(5);
      return new ServiceFunction(stack, id, { entry, stage: 'prod', tracing: false, timeout });
    };
    const partitionKey = { name: 'id', type: AttributeType.STRING };
    new TableV2(stack, 'Orders', { partitionKey }).grant(add('CreateOrder', code), action);
    add('GetOrder', '');
    return StackTemplate.fromStack(stack).toJSON() as Template;
  });

const idsOf = ({ Resources }: Template, type: string): string[] =>
  Object.keys(Resources).filter((each) => Resources[each]?.Type === type);

const before = synthesize();

describe('a deployment in prod that gives a function other permissions', () => {
  const after = synthesize('dynamodb:GetItem');

  test('changes and deletes nothing that the permissions of the older versions consist of', () => {
    const account = deployedOver(before, after) as Template;
    const roles = idsOf(before, 'AWS::IAM::Role');
    expect(roles).toHaveLength(2);
    for (const role of roles) expect(account.Resources[role]).toEqual(before.Resources[role]);
    expect(idsOf(account, 'AWS::IAM::Policy')).toEqual([]);
  });

  test('makes a new version of that function with a new role, and no version of other functions', () => {
    const isNew = (each: string) => !(each in before.Resources);
    const versions = idsOf(after, 'AWS::Lambda::Version').filter(isNew);
    expect(versions).toEqual([expect.stringMatching('^CreateOrderCurrentVersion')]);
    const [role = '', ...others] = idsOf(after, 'AWS::IAM::Role').filter(isNew);
    expect([role, others]).toEqual([expect.stringMatching('^CreateOrderRole'), []]);
    const [fn = ''] = idsOf(after, 'AWS::Lambda::Function');
    expect(after.Resources[fn]?.Properties['Role']).toEqual(arn(role));
  });
});

test('a deployment of other code with the same permissions keeps the role', () => {
  const after = synthesize(undefined, '// changed');
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
