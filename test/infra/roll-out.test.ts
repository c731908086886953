/** Tests how a stack of stage `prod` shifts traffic to a new version of a function. */
import { expect, inject, test } from 'vitest';
import { operations } from '../../functions/generated/contract.ts';
import { byFunction, byOperation, ofType, prod, propertiesOf, ref } from '../kit/template.ts';

const functions = propertiesOf('AWS::Lambda::Function');
const groups = propertiesOf('AWS::CodeDeploy::DeploymentGroup');

test('each new version of a function is smoke-tested before it gets requests, rolled out in steps, and rolled back by an alarm', () => {
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
  expect(ofType('AWS::Lambda::Alias')).toMatchObject(
    byFunction((name) => [
      [
        `${name}Live`,
        {
          UpdatePolicy: {
            CodeDeployLambdaAliasUpdate: {
              ApplicationName: ref(`${name}RollOutApplication`),
              DeploymentGroupName: ref(`${name}RollOut`),
              BeforeAllowTrafficHook: ref('SmokeTest'),
            },
          },
        },
      ],
    ]),
  );
});

test('an alias is updated only after the smoke test knows the new versions, and after the permissions for the smoke test and the roll-out exist', () => {
  const before = byFunction((name) => [[`${name}Live`, ['SmokeTest', `${name}RollOutRoleDefaultPolicy`]]]);
  for (const [name, all] of Object.entries(before)) {
    expect(prod.Resources[name]?.DependsOn, name).toEqual(expect.arrayContaining(all));
  }
  expect(prod.Resources['SmokeTest']?.DependsOn).toContain('SmokeTestRoleDefaultPolicy');
});

test("only a function's own alarms roll the function back: Errors and, if the function is an operation, also Faults", () => {
  const more: Record<string, string[]> = byOperation((name) => [[name, [`${name}Faults`]]]);
  const alarms = Object.entries(groups).map(([name, { AlarmConfiguration }]) => {
    const { Alarms } = AlarmConfiguration as { Alarms: { Name: { Ref: string } }[] };
    return [name, Alarms.map(({ Name }) => prod.Resources[Name.Ref]?.Properties['AlarmName'])];
  });
  expect(Object.fromEntries(alarms)).toEqual(
    byFunction((name) => [
      [`${name}RollOut`, [`${name}Errors`, ...(more[name] ?? [])].map((alarm) => `PlantStore-${alarm}`)],
    ]),
  );
});

test('the function of the smoke test has the same settings as the other functions, but no versions and no alias', () => {
  const { Code, Environment, LoggingConfig, Role, Timeout, ...settings } = functions['Authorizer'] ?? {};
  expect(functions['SmokeTest']).toMatchObject(settings);
  const ofSmokeTest = ['Version', 'Alias'].flatMap((type) =>
    Object.values(propertiesOf(`AWS::Lambda::${type}`)).filter(
      ({ FunctionName }) => JSON.stringify(FunctionName) === JSON.stringify(ref('SmokeTest')),
    ),
  );
  expect(ofSmokeTest).toEqual([]);
});

test('the environment of the smoke test names the new version of each function, and the issuer that the authorizer trusts', () => {
  const spec = inject('stack').functions.find(({ name }) => name.startsWith('SmokeTest'));
  const { ISSUER, VERSIONS = '', ...others } = spec?.environment ?? {};
  expect([ISSUER, Object.keys(others)]).toEqual(['https://issuer.example', ['BUNDLE_SHA256']]);
  const idOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
  const arnOf = (name: string) =>
    expect.stringMatching(new RegExp(`^arn:aws:lambda:.*:function:${idOf(name)}[^:]*:1$`));
  const names = [...Object.keys(operations), 'authorizer'];
  expect(JSON.parse(VERSIONS)).toEqual(Object.fromEntries(names.map((name) => [name, arnOf(name)])));
});
