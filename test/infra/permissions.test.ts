/** Tests all roles of the stack, and all permissions in their policies. */
import { expect, test } from 'vitest';
import { grants } from '../../infra/operations.ts';
import { arn, byFunction, byOperation, functionNames, prod, propertiesOf, ref, resolve } from '../kit/template.ts';

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
