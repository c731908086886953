/** Tests that a deployment leaves older versions of the functions the permissions that they had. */
import { arn, emptyStack, ofType, type Template, withApp } from '@lambda-service/testing/stack';
import { Duration, Stack } from 'aws-cdk-lib';
import { Template as StackTemplate } from 'aws-cdk-lib/assertions';
import { type CfnRole, ManagedPolicy, Policy, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { describe, expect, test } from 'vitest';
import { setBundle } from '../bundling.ts';
import { ServiceFunction } from '../service-function.ts';
import { VersionRole } from '../version-role.ts';

/** Makes a stack of stage `prod`, whose one function has this code and may do `action`. */
const synthesize = ({ action = 's3:PutObject', code = '' }): Template =>
  withApp({}, (app) => {
    const entry = 'version-example.lambda.ts';
    setBundle(entry, Buffer.from(`exports.handler = () => {};${code}`));
    const props = { entry, stage: 'prod', tracing: false, timeout: Duration.seconds(5) } as const;
    const stack = new Stack(app, 'OrderStore');
    const createOrder = new ServiceFunction(stack, 'CreateOrder', props);
    createOrder.addToRolePolicy(new PolicyStatement({ actions: [action], resources: ['*'] }));
    return StackTemplate.fromStack(stack).toJSON() as Template;
  });

const idIn = (template: Template, type: string): string => Object.keys(ofType(type, template)).join();

test.each([
  [{}, { role: 'the same', version: 'the same' }],
  [{ code: '// changed' }, { role: 'the same', version: 'a new' }],
  // The next deployment deletes neither the older version nor its role: in prod, both are kept.
  [{ action: 's3:GetObject' }, { role: 'a new', version: 'a new' }],
])('with %j, the next deployment of a function has %j', (change, expected) => {
  const [before, after] = [synthesize({}), synthesize(change)];
  const compare = (type: string) => (idIn(before, type) === idIn(after, type) ? 'the same' : 'a new');
  expect({ role: compare('AWS::IAM::Role'), version: compare('AWS::Lambda::Version') }).toEqual(expected);
  const [fn] = Object.values(ofType('AWS::Lambda::Function', after));
  expect(fn?.Properties['Role']).toEqual(arn(idIn(after, 'AWS::IAM::Role')));
  expect(ofType('AWS::IAM::Policy', after)).toEqual({});
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
