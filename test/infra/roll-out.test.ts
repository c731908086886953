/** Tests how `prod` shifts traffic to a new version of a function. */
import { expect, test } from 'vitest';
import { byFunction, byOperation, ofType, prod, propertiesOf, ref } from '../kit/template.ts';

const groups = propertiesOf('AWS::CodeDeploy::DeploymentGroup');

test('every function is rolled out in steps, and an alarm rolls it back', () => {
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
        { UpdatePolicy: { CodeDeployLambdaAliasUpdate: { DeploymentGroupName: ref(`${name}RollOut`) } } },
      ],
    ]),
  );
});

test('a function is rolled back by its own alarms only: on errors, and an operation also on faults in its log', () => {
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
