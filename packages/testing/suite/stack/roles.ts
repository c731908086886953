/** Tests the roles of the functions and of their roll-outs, with all permissions in their policies. */
import { expect, inject, test } from 'vitest';
import type { Handlers } from '../../stack/handler-permissions.ts';
import {
  arn,
  functionNameOf,
  functionNames,
  permissionsIn,
  permissionsOf,
  prod,
  propertiesOf,
  ref,
  resolve,
} from '../../stack/template.ts';
import { createOperation, hasOutsideCheck, hasSmokeTest } from '../../under-test.ts';

/**
 * What functions may do on purpose besides what every service needs. `operations` has permissions by the function's
 * name, `others` actions on tables, functions or roles by the role of a function that the API does not call. `types` has
 * the handlers' permissions for resource types that handler-permissions.ts lacks: actions by resource.
 * @example { operations: { CreateOrder: ['Allow sqs:SendMessage: Tasks.Arn'] } }
 * @example { others: { HandleTasksRole: ['dynamodb:GetItem'] } }
 * @example { types: { 'AWS::S3::Bucket': { 'arn:aws:s3:::{name}': 's3 CreateBucket DeleteBucket' } } }
 */
export type MorePermissions = {
  operations?: Record<string, string[]>;
  others?: Record<string, string[]>;
  types?: Handlers;
};

const tables = propertiesOf('AWS::DynamoDB::GlobalTable');
const [firstTable = ''] = Object.keys(tables);

const assumedBy = (Service: string) => ({
  AssumeRolePolicyDocument: {
    Statement: [{ Action: 'sts:AssumeRole', Effect: 'Allow', Principal: { Service } }],
    Version: '2012-10-17',
  },
});

/** An action of DynamoDB on items of one table or its indexes, as an operation may need it. */
const onItems =
  /^Allow dynamodb:(?:BatchGet|Delete|Get|Put|Query|Scan|Update|ConditionCheck)(?:Item)?: (?<table>\w+)\.Arn(?:\/index\/\*)?$/;

/** A grant of CDK's on a table with indexes covers these, too: here they count as the table. */
const withoutIndexes = (permissions: string[]) => [
  ...new Set(permissions.map((each) => each.replace(/\/index\/\*$/, ''))),
];

/** The permissions of a function, which may also write its log. */
const withLog = (name: string, permissions: string[]): string[] =>
  [...['CreateLogStream', 'PutLogEvents'].map((each) => `Allow logs:${each}: ${name}Logs.Arn`), ...permissions].sort();

const functions = propertiesOf('AWS::Lambda::Function');
const roles = propertiesOf('AWS::IAM::Role');
const policies = Object.values(propertiesOf('AWS::IAM::Policy'));

/** The separate policies of a role. */
const policiesOf = (role: string) =>
  policies.filter(({ Roles }) => (Roles as unknown[]).some((each) => resolve(each) === role));

/** What the separate policies of a role allow. */
const separate = (role: string): string[] =>
  policiesOf(role)
    .flatMap(({ PolicyDocument }) => permissionsIn(PolicyDocument))
    .sort();

export const testRoles = (more: MorePermissions): void => {
  test.each(functionNames)('%s may do only what its inline policy allows and it needs', (name) => {
    const { Policies: _, ...role } = roles[`${name}Role`] ?? {};
    // By this path, `aws iam list-roles` finds the roles of older versions.
    const Path = { 'Fn::Join': ['', [`/${inject('stackName')}/`, ref('AWS::Region'), '/']] };
    expect(role).toEqual({ ...assumedBy('lambda.amazonaws.com'), Path });
    const onTables = permissionsOf(name).filter((each) => (onItems.exec(each)?.groups?.['table'] ?? '') in tables);
    const needed = [...(name === 'Authorizer' ? [] : onTables), ...(more.operations?.[name] ?? [])];
    const advice =
      'If it may do something new on purpose, such as send to a queue, add it to `operations` of testPermissions.';
    expect(permissionsOf(name), advice).toEqual(withLog(name, needed));
    expect(separate(`${name}Role`), 'in policies of their own').toEqual([]);
    expect(functions[name]).toMatchObject({ Role: arn(`${name}Role`) });
  });

  test(`${createOperation.id} may put or update items in the first table, and may do nothing else with it`, () => {
    const onTable = permissionsOf(functionNameOf(createOperation.id)).filter((each) =>
      each.includes(`${firstTable}.Arn`),
    );
    expect(withoutIndexes(onTable)).toEqual([
      expect.stringMatching(`^Allow dynamodb:(Put|Update)Item: ${firstTable}.Arn$`),
    ]);
  });

  test.each(functionNames)('CodeDeploy may roll out %s, and do nothing else', (name) => {
    const role = `${name}RollOutRole`;
    expect(roles[role]).toEqual(assumedBy('codedeploy.amazonaws.com'));
    const actions = ['GetAlias', 'GetProvisionedConcurrencyConfig', 'UpdateAlias'];
    const onFunction = ['', ':live'].flatMap((alias) =>
      actions.map((action) => `Allow lambda:${action}: ${name}.Arn${alias}`),
    );
    // Without the permission to invoke, every deployment but the first would fail. CDK would grant it, too, but the
    // role ignores such grants (`withoutPolicyUpdates`).
    const others = ['Allow cloudwatch:DescribeAlarms: *'];
    if (hasSmokeTest) others.push('Allow lambda:InvokeFunction: SmokeTest.Arn');
    expect(separate(role)).toEqual([...onFunction, ...others].sort());
    expect(propertiesOf('AWS::CodeDeploy::DeploymentGroup')[`${name}RollOut`]).toMatchObject({
      ServiceRoleArn: arn(role),
    });
  });

  test.runIf(hasSmokeTest)(
    'the smoke test may invoke the new versions, report, and delete what it has added, and do nothing else',
    () => {
      expect(roles['SmokeTestRole']).toEqual(assumedBy('lambda.amazonaws.com'));
      expect(functions['SmokeTest']).toMatchObject({ Role: arn('SmokeTestRole') });
      const group = 'arn:AWS::Partition:codedeploy:AWS::Region:AWS::AccountId:deploymentgroup';
      const ofFunctions = functionNames.flatMap((name) => [
        `Allow lambda:InvokeFunction: ${name}CurrentVersion`,
        `Allow codedeploy:PutLifecycleEventHookExecutionStatus: ${group}:${name}RollOutApplication/${name}RollOut`,
      ]);
      const deletion = `Allow dynamodb:DeleteItem: ${firstTable}.Arn`;
      expect(withoutIndexes(separate('SmokeTestRole'))).toEqual(withLog('SmokeTest', [...ofFunctions, deletion]));
    },
  );

  test.runIf(hasOutsideCheck)('the check from outside may do nothing but write its log', () => {
    expect(separate('OutsideCheckRole')).toEqual(withLog('OutsideCheck', []));
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

  const isListed = (target: unknown) => functionNames.some((name) => JSON.stringify(target).includes(`"${name}`));
  const permissions = Object.values(propertiesOf('AWS::Lambda::Permission'));

  test('only this API may invoke a function with an alias, and only through the alias', () => {
    const listed = permissions.filter(({ FunctionName }) => isListed(FunctionName));
    const aliases = listed.map(({ FunctionName }) => resolve(FunctionName));
    expect(aliases.sort()).toEqual(functionNames.map((name) => `${name}Live`).sort());
    for (const { Action, Principal, SourceArn } of listed) {
      expect([Action, Principal]).toEqual(['lambda:InvokeFunction', 'apigateway.amazonaws.com']);
      expect(resolve(SourceArn)).toContain(':execute-api:AWS::Region:AWS::AccountId:Api/');
    }
  });

  test('any other function has a role that only Lambda assumes, with only the expected power over tables, functions and roles; and only a resource of an AWS service may invoke it', () => {
    const listed = [...functionNames.flatMap((name) => [`${name}Role`, `${name}RollOutRole`]), 'SmokeTestRole'];
    const others = Object.entries(roles).filter(([name]) => !listed.includes(name));
    const actions = others.map(([name, role]): [string, string[]] => {
      expect(role, name).toMatchObject(assumedBy('lambda.amazonaws.com'));
      const text = JSON.stringify([role['Policies'], policiesOf(name)]);
      return [name, [...new Set(text.match(/(?<=")(dynamodb|lambda|iam|sts|codedeploy):\w+/g))].sort()];
    });
    const advice = 'If a function may do this on purpose, add its role and actions to `others` of testPermissions.';
    expect(Object.fromEntries(actions.filter(([, used]) => used.length > 0)), advice).toEqual(more.others ?? {});
    for (const permission of permissions.filter(({ FunctionName }) => !isListed(FunctionName)))
      expect(permission).toMatchObject({
        Principal: expect.stringMatching(/\.amazonaws\.com$/),
        SourceArn: expect.anything(),
      });
  });
};
