/** Tests what operators read in the alarms and in the dashboard. alarms.test.ts tests what triggers an alarm. */
import { describe, expect, test } from 'vitest';
import { kinds, templateOf } from '../kit/stacks.ts';
import { functionNames } from '../kit/template.ts';

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
