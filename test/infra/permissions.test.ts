/**
 * Tests the roles of the functions that the API calls, of their roll-outs and of the smoke test, with all permissions in
 * their policies; and what holds for every policy.
 */
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
const own: Record<string, object[]> = byOperation((name, id) => [
  [name, Object.entries(grants[id]).map(([table, actions]) => allow([...actions], arn(table)))],
]);

test('createPlant may update items in the plants table, and may do nothing else with it', () => {
  expect(grants.createPlant.Plants).toEqual(['dynamodb:UpdateItem']);
});

/** The permissions of a function, which may also write its log. */
const documentFor = (name: string, more: object[]) => ({
  Statement: [allow(['logs:CreateLogStream', 'logs:PutLogEvents'], arn(`${name}Logs`)), ...more],
  Version: '2012-10-17',
});

type Statement = { Action: string | string[]; Resource?: unknown };

/** Splits policy statements, which CDK merges, into one for each action and resource. */
const split = (properties: object): unknown =>
  JSON.parse(JSON.stringify(properties), (key, value) => {
    if (key !== 'Statement') return value;
    const statements = (value as Statement[]).flatMap(({ Action, Resource, ...rest }) =>
      [Action].flat().flatMap((action) => [Resource].flat().map((one) => ({ ...rest, Action: action, Resource: one }))),
    );
    return statements.map((each) => JSON.stringify(each)).sort();
  });

/** Returns the properties of the resources of a type that `expected` names. */
const namedIn = (expected: object, type: string) =>
  Object.fromEntries(Object.entries(propertiesOf(type)).filter(([name]) => name in expected));

test('each function has a role that Lambda assumes to run it, with its permissions inline; each function except the smoke test also has a role that CodeDeploy assumes to roll it out', () => {
  const expected = {
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
  };
  const advice =
    'If a function may do something new on purpose, such as send to a queue, add it to `own` in this file.';
  expect(split(namedIn(expected, 'AWS::IAM::Role')), advice).toEqual(split(expected));
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
  const expected = {
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
  };
  expect(namedIn(expected, 'AWS::IAM::Policy')).toEqual(expected);
  const attached = Object.values(propertiesOf('AWS::IAM::Policy')).flatMap(({ Roles }) =>
    (Roles as unknown[]).map(resolve),
  );
  expect(attached.filter((role) => functionNames.some((name) => role === `${name}Role`))).toEqual([]);
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

test('no role has a managed policy, and no policy except that of a key allows an action with a wildcard (*)', () => {
  const isLeftOut = (name: string, value: { Effect?: string } | null) =>
    name === 'KeyPolicy' || value?.Effect === 'Deny';
  const text = JSON.stringify(prod, (name, value) => (isLeftOut(name, value) ? undefined : value));
  expect(text).not.toContain('ManagedPolicyArns');
  const actions = text.match(/"(Not)?Action":("[^"]*"|\[[^\]]*\])/g) ?? [];
  expect(actions).toContain('"Action":"sts:AssumeRole"');
  expect(actions.filter((action) => action.includes('*') || action.includes('Not'))).toEqual([]);
});

test('only this API may invoke a function with an alias, and only through the alias', () => {
  const all = Object.values(propertiesOf('AWS::Lambda::Permission'));
  const permissions = all.filter(({ FunctionName }) =>
    functionNames.some((name) => JSON.stringify(FunctionName).includes(`"${name}`)),
  );
  const aliases = permissions.map(({ FunctionName }) => resolve(FunctionName));
  expect(aliases.sort()).toEqual(functionNames.map((name) => `${name}Live`).sort());
  for (const { Action, Principal, SourceArn } of permissions) {
    expect([Action, Principal]).toEqual(['lambda:InvokeFunction', 'apigateway.amazonaws.com']);
    expect(resolve(SourceArn)).toContain(':execute-api:AWS::Region:AWS::AccountId:Api/');
  }
});

/** What the roles of other functions, such as a queue's consumer, may do with tables, functions or roles. */
const ofOthers: Record<string, string[]> = {};

test('any other function has a role that only Lambda assumes, with only the expected power over tables, functions and roles; and only a resource of an AWS service may invoke it', () => {
  const listed = [...functionNames.flatMap((name) => [`${name}Role`, `${name}RollOutRole`]), 'SmokeTestRole'];
  const others = Object.entries(propertiesOf('AWS::IAM::Role')).filter(([name]) => !listed.includes(name));
  const policies = Object.values(propertiesOf('AWS::IAM::Policy'));
  const actions = others.map(([name, role]): [string, string[]] => {
    expect(role, name).toMatchObject(assumedBy('lambda.amazonaws.com'));
    const own = policies.filter(({ Roles }) => (Roles as unknown[]).some((each) => resolve(each) === name));
    const text = JSON.stringify([role['Policies'], own]);
    return [name, [...new Set(text.match(/(?<=")(dynamodb|lambda|iam|sts|codedeploy):\w+/g))].sort()];
  });
  const advice = 'If a function may do this on purpose, add its role and the actions to `ofOthers` in this file.';
  expect(Object.fromEntries(actions.filter(([, used]) => used.length > 0)), advice).toEqual(ofOthers);

  const isListed = (target: unknown) => functionNames.some((name) => JSON.stringify(target).includes(`"${name}`));
  for (const permission of Object.values(propertiesOf('AWS::Lambda::Permission'))) {
    if (isListed(permission['FunctionName'])) continue;
    expect(permission).toMatchObject({
      Principal: expect.stringMatching(/\.amazonaws\.com$/),
      SourceArn: expect.anything(),
    });
  }
});
