/** Tests the Lambda functions, and how a stack of stage `prod` shifts traffic to a new version. */
import { expect, inject, test } from 'vitest';
import { externalIssuer, kinds, named } from '../../stack/settings.ts';
import { plainTemplateOf } from '../../stack/stacks.ts';
import {
  arn,
  functionNames,
  operationNames,
  permissionsOf,
  prod,
  propertiesOf,
  ref,
  resolve,
} from '../../stack/template.ts';
import { hasOutsideCheck, hasSmokeTest, operations } from '../../under-test.ts';

const functions = propertiesOf('AWS::Lambda::Function');
const groups = propertiesOf('AWS::CodeDeploy::DeploymentGroup');

/** The settings that all functions share. */
const settings = {
  Runtime: 'nodejs24.x',
  Architectures: ['arm64'],
  Handler: 'index.handler',
  LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'INFO', SystemLogLevel: 'INFO' },
};

/** The functions that call others to check them. */
const checking = [...(hasSmokeTest ? ['SmokeTest'] : []), ...(hasOutsideCheck ? ['OutsideCheck'] : [])];

export const testFunctions = (): void => {
  test('every function runs on Node 24 and arm64, and logs JSON to a separate log group, which expires', () => {
    const names = Object.keys(functions);
    expect(names).toEqual(expect.arrayContaining([...functionNames, ...checking]));
    const logs = propertiesOf('AWS::Logs::LogGroup');
    for (const name of names) {
      expect(functions[name], name).toMatchObject(settings);
      expect(functions[name], name).toMatchObject({ LoggingConfig: { LogGroup: ref(`${name}Logs`) } });
    }
    for (const name of [...names.map((each) => `${each}Logs`), 'ApiAccessLog'])
      expect(logs[name], name).toMatchObject({ RetentionInDays: expect.any(Number) });
  });

  test.each(operationNames)(
    '%s times out before API Gateway stops waiting, and has the names of the tables it may use',
    (_, name) => {
      const { Environment, Timeout } = functions[name] ?? {};
      const { Variables } = Object(Environment);
      const tables = Object.keys(propertiesOf('AWS::DynamoDB::GlobalTable'));
      const named = tables.filter((table) => Object.values(Variables).some((value) => resolve(value) === table));
      expect(named).toEqual(tables.filter((table) => permissionsOf(name).join().includes(`${table}.Arn`)));
      expect(Variables).toMatchObject({ BUNDLE_SHA256: expect.stringMatching(/^[\da-f]{64}$/) });
      expect(Timeout, 'seconds').toBeLessThan(30);
    },
  );

  test("the authorizer's time-out is below API Gateway's limit and above the time that fetching the issuer's keys may take", () => {
    expect(functions['Authorizer']?.['Timeout'], 'seconds').toBeLessThan(10);
    expect(functions['Authorizer']?.['Timeout'], 'seconds').toBeGreaterThan(3);
  });

  test.each(functionNames)('%s is rolled out in steps, after a smoke test if there is one', (name) => {
    expect(groups[`${name}RollOut`]).toMatchObject({
      DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent5Minutes',
    });
    const { Properties, UpdatePolicy, DependsOn } = prod.Resources[`${name}Live`] ?? {};
    expect(Properties).toMatchObject({ Name: 'live', FunctionName: ref(name) });
    const update = { DeploymentGroupName: ref(`${name}RollOut`) };
    expect(UpdatePolicy).toMatchObject({ CodeDeployLambdaAliasUpdate: update });
    // The roll-out needs its permissions before it begins,
    expect(DependsOn).toContain(`${name}RollOutRoleDefaultPolicy`);
    if (!hasSmokeTest) return;
    const hook = { BeforeAllowTrafficHook: ref('SmokeTest') };
    expect(UpdatePolicy).toMatchObject({ CodeDeployLambdaAliasUpdate: hook });
    // and the smoke test its own, and the new versions.
    expect(DependsOn).toContain('SmokeTest');
    expect(prod.Resources['SmokeTest']?.DependsOn).toContain('SmokeTestRoleDefaultPolicy');
  });

  test.each(functionNames)('only its own alarms roll %s back, for errors and faults', (name) => {
    const { AlarmConfiguration, AutoRollbackConfiguration } = groups[`${name}RollOut`] ?? {};
    const { Enabled, Alarms } = AlarmConfiguration as { Enabled: boolean; Alarms: { Name: { Ref: string } }[] };
    const kinds = name === 'Authorizer' ? ['Errors'] : ['Errors', 'Faults'];
    expect(Alarms.map((each) => prod.Resources[each.Name.Ref]?.Properties['AlarmName'])).toEqual(
      kinds.map((kind) => `${inject('stackName')}-${name}${kind}`),
    );
    expect(Enabled).toBe(true);
    expect(AutoRollbackConfiguration).toEqual({
      Enabled: true,
      Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM'],
    });
  });

  test.runIf(hasSmokeTest)(
    'the environment of the smoke test names the table, the new version of each function, and the issuer that the authorizer trusts',
    () => {
      const { environment } = inject('stack').functions.find(({ name }) => name.startsWith('SmokeTest')) ?? {};
      const { TableName } = inject('stack').tables[0] ?? {};
      expect(environment).toMatchObject({ ISSUER: externalIssuer.issuer, TABLE_NAME: TableName });
      const names = [...Object.keys(operations), 'authorizer'];
      const versions = names.map((name) => [name, expect.stringMatching(new RegExp(`:function:${name}[^:]*:1$`, 'i'))]);
      expect(JSON.parse(environment?.['VERSIONS'] ?? '')).toEqual(Object.fromEntries(versions));
    },
  );

  test.runIf(hasOutsideCheck)('only a rule calls the check from outside, every five minutes', () => {
    const isOfCheck = (target: unknown) => JSON.stringify(target).includes('"OutsideCheck"');
    const rules = Object.entries(propertiesOf('AWS::Events::Rule')).filter(([, { Targets }]) => isOfCheck(Targets));
    const every = { ScheduleExpression: 'rate(5 minutes)', State: 'ENABLED' };
    expect(rules).toEqual([[expect.any(String), expect.objectContaining(every)]]);
    const permissions = Object.values(propertiesOf('AWS::Lambda::Permission'));
    const events = { Principal: 'events.amazonaws.com', SourceArn: arn(rules[0]?.[0] ?? '') };
    expect(permissions.filter(({ FunctionName }) => isOfCheck(FunctionName))).toEqual([
      expect.objectContaining(events),
    ]);
  });

  test.runIf(hasOutsideCheck).each<[address: unknown, context: Record<string, string>]>([
    [prod.Outputs['ApiUrl']?.Value, {}],
    [`https://${named.domainName}`, named],
  ])('the check from outside calls the address that clients call: %j', (API_URL, context) => {
    const { Resources } = plainTemplateOf({ ...kinds.prodWithIssuer, ...context });
    const { Variables } = Object(Resources['OutsideCheck']?.Properties['Environment']);
    expect(Variables).toEqual({ BUNDLE_SHA256: expect.any(String), ISSUER: externalIssuer.issuer, API_URL });
  });

  test('no other resource waits for the check from outside, so it cannot stop a roll-out', () => {
    const waiting = Object.entries(prod.Resources).filter(([name, { DependsOn = [] }]) =>
      DependsOn.some((each) => each.startsWith('OutsideCheck') && !name.startsWith('OutsideCheck')),
    );
    expect(waiting).toEqual([]);
  });
};
