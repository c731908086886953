/**
 * Tests the Lambda functions, and how a stack of stage `prod` shifts traffic to a new version. permissions.test.ts tests
 * what the functions may do.
 */

import {
  byFunction,
  byOperation,
  functionNames,
  ofType,
  operationNames,
  permissionsOf,
  prod,
  propertiesOf,
  ref,
  resolve,
  withoutHashes,
} from '@lambda-service/testing/stack';
import { expect, inject, test } from 'vitest';
import { operations } from '../../functions/generated/contract.ts';

const functions = propertiesOf('AWS::Lambda::Function');
const groups = propertiesOf('AWS::CodeDeploy::DeploymentGroup');

/** The settings that all functions share. */
const settings = {
  Runtime: 'nodejs24.x',
  Architectures: ['arm64'],
  Handler: 'index.handler',
  MemorySize: 1_769,
  LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'INFO', SystemLogLevel: 'INFO' },
};

test('every function runs on Node 24 and arm64, and logs JSON to a separate log group, which expires', () => {
  const names = Object.keys(functions);
  expect(names).toEqual(expect.arrayContaining([...functionNames, 'SmokeTest']));
  const logs = propertiesOf('AWS::Logs::LogGroup');
  for (const name of names) {
    expect(functions[name]).toMatchObject(settings);
    expect(functions[name]).toMatchObject({ LoggingConfig: { LogGroup: ref(`${name}Logs`) } });
  }
  for (const name of [...names.map((each) => `${each}Logs`), 'ApiAccessLog']) {
    expect(logs[name], name).toMatchObject({ RetentionInDays: 90 });
  }
});

test('withoutHashes leaves a SHA-256 whole, even if its end looks like the hash in a name', () => {
  const sha256 = `${'a'.repeat(24)}12345678${'b'.repeat(32)}`;
  const template = { Resources: { Fn12345678: { sha256 } } };
  expect(withoutHashes(template)).toEqual({ Resources: { Fn: { sha256 } } });
});

test("the environment of each operation's function names the tables on which it has grants, and no others", () => {
  const tables = Object.keys(ofType('AWS::DynamoDB::GlobalTable'));
  for (const [, name] of operationNames) {
    const { Variables } = Object(functions[name]?.['Environment']);
    const named = tables.filter((table) => Object.values(Variables).some((value) => resolve(value) === table));
    expect(named, name).toEqual(tables.filter((table) => permissionsOf(name).join().includes(`${table}.Arn`)));
    expect(Variables, name).toMatchObject({ BUNDLE_SHA256: expect.stringMatching(/^[\da-f]{64}$/) });
  }
});

test("the authorizer's time-out is below API Gateway's limit and above the time that fetching the issuer's keys may take", () => {
  expect(functions['Authorizer']?.['Timeout'], 'seconds').toBeLessThan(10);
  expect(functions['Authorizer']?.['Timeout'], 'seconds').toBeGreaterThan(3);
});

test('an operation has a time-out of 5 s; the code in packages/runtime/http/ answers at least 2.7 s before that, so within 2.3 s', () => {
  for (const [, name] of operationNames) expect(functions[name]?.['Timeout'], name).toBe(5);
});

test('each new version is smoke-tested before it gets requests, rolled out in steps, and rolled back by an alarm', () => {
  expect(groups).toMatchObject(
    byFunction((name) => [
      [
        `${name}RollOut`,
        {
          DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent5Minutes',
          AutoRollbackConfiguration: { Enabled: true, Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM'] },
          AlarmConfiguration: { Enabled: true },
        },
      ],
    ]),
  );
  for (const name of functionNames) {
    const { Properties, UpdatePolicy, DependsOn } = prod.Resources[`${name}Live`] ?? {};
    expect(Properties).toMatchObject({ Name: 'live', FunctionName: ref(name) });
    const update = { DeploymentGroupName: ref(`${name}RollOut`), BeforeAllowTrafficHook: ref('SmokeTest') };
    expect(UpdatePolicy).toMatchObject({ CodeDeployLambdaAliasUpdate: update });
    // First, the smoke test must know the new versions, and the permissions for the roll-out must exist.
    expect(DependsOn).toEqual(expect.arrayContaining(['SmokeTest', `${name}RollOutRoleDefaultPolicy`]));
  }
  expect(prod.Resources['SmokeTest']?.DependsOn).toContain('SmokeTestRoleDefaultPolicy');
});

test("only a function's own alarms roll the function back: Errors and, if the function is an operation, also Faults", () => {
  const faults: Record<string, string[]> = byOperation((name) => [[name, [`PlantStore-${name}Faults`]]]);
  const alarms = Object.entries(groups).map(([name, { AlarmConfiguration }]) => {
    const { Alarms } = AlarmConfiguration as { Alarms: { Name: { Ref: string } }[] };
    return [name, Alarms.map(({ Name }) => prod.Resources[Name.Ref]?.Properties['AlarmName'])];
  });
  expect(Object.fromEntries(alarms)).toEqual(
    byFunction((name) => [[`${name}RollOut`, [`PlantStore-${name}Errors`, ...(faults[name] ?? [])]]]),
  );
});

test('the environment of the smoke test names the table, the new version of each function, and the issuer that the authorizer trusts', () => {
  const { environment } = inject('stack').functions.find(({ name }) => name.startsWith('SmokeTest')) ?? {};
  const { TableName } = inject('stack').tables[0] ?? {};
  expect(environment).toMatchObject({ ISSUER: 'https://issuer.example', TABLE_NAME: TableName });
  const names = [...Object.keys(operations), 'authorizer'];
  const versions = names.map((name) => [name, expect.stringMatching(new RegExp(`:function:${name}[^:]*:1$`, 'i'))]);
  expect(JSON.parse(environment?.['VERSIONS'] ?? '')).toEqual(Object.fromEntries(versions));
});
