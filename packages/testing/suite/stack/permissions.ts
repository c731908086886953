/**
 * Tests the roles of the functions that the API calls, of their roll-outs and of the smoke test, with all permissions in
 * their policies; and what holds for every policy.
 */

import {
  arn,
  byFunction,
  byOperation,
  functionNames,
  permissionsIn,
  permissionsOf,
  prod,
  propertiesOf,
  ref,
  resolve,
} from '@lambda-service/testing/stack';
import { expect, test } from 'vitest';

const tables = propertiesOf('AWS::DynamoDB::GlobalTable');

const assumedBy = (Service: string) => ({
  AssumeRolePolicyDocument: {
    Statement: [{ Action: 'sts:AssumeRole', Effect: 'Allow', Principal: { Service } }],
    Version: '2012-10-17',
  },
});

/** An action of DynamoDB on items of one table or its indexes, as an operation may need it. */
const onItems =
  /^Allow dynamodb:(?:BatchGet|Delete|Get|Put|Query|Scan|Update|ConditionCheck)(?:Item)?: (?<table>\w+)\.Arn(?:\/index\/\*)?$/;

/** What the function of each operation may do, apart from writing its log. */
const own: Record<string, string[]> = byOperation((name) => [
  [name, permissionsOf(name).filter((each) => (onItems.exec(each)?.groups?.['table'] ?? '') in tables)],
]);

test('createPlant may update items in the plants table, and may do nothing else with it', () => {
  expect(own['CreatePlant']).toEqual(['Allow dynamodb:UpdateItem: Plants.Arn']);
});

/** The permissions of a function, which may also write its log. */
const withLog = (name: string, permissions: string[]): string[] =>
  [...['CreateLogStream', 'PutLogEvents'].map((each) => `Allow logs:${each}: ${name}Logs.Arn`), ...permissions].sort();

/** Returns the properties of the resources of a type that `expected` names, with their policies as lists. */
const namedIn = (expected: object, type: string) => {
  const properties = Object.entries(propertiesOf(type)).filter(([name]) => name in expected);
  return JSON.parse(JSON.stringify(Object.fromEntries(properties)), (key, value) =>
    key === 'PolicyDocument' ? permissionsIn(value) : value,
  );
};

test('each function has a role that Lambda assumes to run it, with its permissions inline; each function except the smoke test also has a role that CodeDeploy assumes to roll it out', () => {
  const expected = {
    ...byFunction((name) => [
      [
        `${name}Role`,
        {
          ...assumedBy('lambda.amazonaws.com'),
          // By this path, `aws iam list-roles` finds the roles of older versions.
          Path: { 'Fn::Join': ['', ['/PlantStore/', ref('AWS::Region'), '/']] },
          Policies: [{ PolicyName: 'Permissions', PolicyDocument: withLog(name, own[name] ?? []) }],
        },
      ],
      [`${name}RollOutRole`, assumedBy('codedeploy.amazonaws.com')],
    ]),
    SmokeTestRole: assumedBy('lambda.amazonaws.com'),
  };
  const advice =
    'If a function may do something new on purpose, such as send to a queue, add it to `own` in this file.';
  expect(namedIn(expected, 'AWS::IAM::Role'), advice).toEqual(expected);
  expect(propertiesOf('AWS::Lambda::Function')).toMatchObject({
    ...byFunction((name) => [[name, { Role: arn(`${name}Role`) }]]),
    SmokeTest: { Role: arn('SmokeTestRole') },
  });
  expect(propertiesOf('AWS::CodeDeploy::DeploymentGroup')).toMatchObject(
    byFunction((name) => [[`${name}RollOut`, { ServiceRoleArn: arn(`${name}RollOutRole`) }]]),
  );
});

test('only the roles for roll-outs and of the smoke test have separate policies, with exactly the expected permissions', () => {
  const policy = (role: string, permissions: string[]): [string, object] => [
    `${role}DefaultPolicy`,
    { PolicyName: expect.any(String), Roles: [ref(role)], PolicyDocument: permissions.sort() },
  ];
  const group = 'arn:AWS::Partition:codedeploy:AWS::Region:AWS::AccountId:deploymentgroup';
  const expected = Object.fromEntries([
    ...functionNames.map((name) =>
      policy(`${name}RollOutRole`, [
        ...['GetAlias', 'GetProvisionedConcurrencyConfig', 'UpdateAlias'].flatMap((each) =>
          ['', ':live'].map((alias) => `Allow lambda:${each}: ${name}.Arn${alias}`),
        ),
        // Without this permission, every deployment but the first would fail. CDK would grant it, too, but the role
        // ignores such grants (`withoutPolicyUpdates`).
        'Allow lambda:InvokeFunction: SmokeTest.Arn',
        'Allow cloudwatch:DescribeAlarms: *',
      ]),
    ),
    policy(
      'SmokeTestRole',
      withLog('SmokeTest', [
        ...functionNames.flatMap((name) => [
          `Allow lambda:InvokeFunction: ${name}CurrentVersion`,
          `Allow codedeploy:PutLifecycleEventHookExecutionStatus: ${group}:${name}RollOutApplication/${name}RollOut`,
        ]),
        // To delete what it has added.
        'Allow dynamodb:DeleteItem: Plants.Arn',
      ]),
    ),
  ]);
  expect(namedIn(expected, 'AWS::IAM::Policy')).toEqual(expected);
  const attached = Object.values(propertiesOf('AWS::IAM::Policy')).flatMap(({ Roles }) =>
    (Roles as unknown[]).map(resolve),
  );
  expect(attached.filter((role) => functionNames.some((name) => role === `${name}Role`))).toEqual([]);
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
