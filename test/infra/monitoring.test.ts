/** Tests what operators read in the alarms and in the dashboard. alarms.test.ts tests what triggers an alarm. */
import { CfnAlarm, CfnDashboard } from 'aws-cdk-lib/aws-cloudwatch';
import { describe, expect, test } from 'vitest';
import { kinds, templateOf, withStack } from '../kit/stacks.ts';
import { functionNames, ofType } from '../kit/template.ts';

const template = templateOf(kinds.dev);

describe('the mail of an alarm', () => {
  const alarms = Object.values(template.findResources('AWS::CloudWatch::Alarm')).map(({ Properties }) => Properties);

  test.each(alarms)('says what is wrong and which section of the runbook says what to do: $AlarmName', (alarm) => {
    const section = String(alarm.AlarmName).replace(new RegExp(`^PlantStore-dev-(${functionNames.join('|')})?`), '');
    expect(alarm.AlarmDescription).toMatch(/^\w.+\. What to do: docs\/operate\/runbook\.md, \w+\.$/);
    expect(alarm.AlarmDescription).toContain(` ${section}.`);
  });
});

test('a log metric has the default value 0 only if it counts lines and has no dimensions; with dimensions, CloudWatch forbids a default', () => {
  const filters = Object.values(template.findResources('AWS::Logs::MetricFilter'));
  const transformations = filters.map(({ Properties }) => Properties.MetricTransformations[0]);
  const defaults = transformations.map(({ Dimensions, MetricValue, DefaultValue }) => [
    Dimensions === undefined && MetricValue === '1',
    DefaultValue,
  ]);
  expect(new Set(defaults.map(([isWhole]) => isWhole))).toEqual(new Set([true, false]));
  for (const [isWhole, value] of defaults) expect(value).toBe(isWhole ? 0 : undefined);
});

test('alarms and the dashboard keep their logical ids: with a new id, an update would try to make a second one with the same name, and fail', () => {
  // Do not move an alarm or the dashboard, or rename what contains them: CDK makes the logical id from the path. With
  // another id, an update would fail, because CloudFormation makes the new one before it deletes the old one.
  const named = withStack(kinds.prod, ({ node }) =>
    node.findAll().filter((each) => each instanceof CfnAlarm || each instanceof CfnDashboard),
  );
  const alarmNames = Object.values(ofType('AWS::CloudWatch::Alarm')).map(({ Properties }) => Properties['AlarmName']);
  expect(named.map(({ node }) => node.path).sort()).toEqual(
    [
      ...alarmNames.map((name) => `PlantStore/Monitoring/Facade/${name}/Resource`),
      'PlantStore/Monitoring/Dashboard/Dashboard/Resource',
    ].sort(),
  );
});

test("the dashboard's URL opens the dashboard in the region of the stack", () => {
  const { Value } = template.toJSON()['Outputs'].DashboardUrl;
  const region = { Ref: 'AWS::Region' };
  expect(Value).toEqual({
    'Fn::Join': [
      '',
      [
        'https://',
        region,
        '.console.aws.amazon.com/cloudwatch/home?region=',
        region,
        '#dashboards/dashboard/PlantStore-dev-Health-',
        region,
      ],
    ],
  });
});
