import { expect, test } from 'vitest';
import { tableKey } from '../../../../test/kit/example.ts';
import { kinds, templateOf } from '../../../../test/kit/stacks.ts';
import { findLosses } from '../../../release/diff/loss.ts';
import type { Resource, Template } from '../../../release/diff/template.ts';

/** The template of the stack for stage prod, which has a Cognito user pool. */
const before = templateOf(kinds.prod).toJSON() as Template;

const table = 'AWS::DynamoDB::GlobalTable';
const client = 'AWS::Cognito::UserPoolClient';
const api = 'AWS::ApiGatewayV2::Api';
const log = 'AWS::Logs::LogGroup';

const whats = (then: Template['Resources'], now: Template['Resources']): string[] => {
  const stack = (Resources: Template['Resources']) => ({ template: { Resources }, isProtected: true });
  return findLosses(stack(then), stack(now)).map(({ what }) => what);
};

const find = (type: string): [id: string, resource: Resource] =>
  Object.entries(before.Resources).find(([, { Type }]) => Type === type) ?? ['none', { Type: type }];

const removed = (type: string): Template['Resources'] => {
  const { [find(type)[0]]: _, ...others } = before.Resources;
  return others;
};
const renamed = (type: string) => ({ ...removed(type), Other: find(type)[1] });

/** Replaces `from` with `to` in the JSON of the first resource of a type. */
const edited = (type: string, from: string, to: string) => {
  const [id, resource] = find(type);
  const text = JSON.stringify(resource);
  expect(text).toContain(from);
  return { ...before.Resources, [id]: JSON.parse(text.replaceAll(from, to)) as Resource };
};

const replaced = 'would be replaced by a new one';
const expiry = '"TimeToLiveSpecification":{"AttributeName":"at","Enabled":true}';

test.each<[type: string, says: string, from: string, to: string]>([
  [table, replaced, `"AttributeName":"${tableKey.name}"`, '"AttributeName":"pk"'],
  [table, replaced, `"AttributeType":"${tableKey.type}"`, '"AttributeType":"B"'],
  [table, 'would lose its DeletionPolicy', '"DeletionPolicy":"Retain"', '"DeletionPolicy":"Delete"'],
  [table, 'would lose its UpdateReplacePolicy', ',"UpdateReplacePolicy":"Retain"', ''],
  [table, 'would lose its deletion protection in AWS::Region', 'ionEnabled":true', 'ionEnabled":false'],
  [table, 'would lose its point-in-time recovery in AWS::Region', 'eryEnabled":true', 'eryEnabled":false'],
  [table, 'would have a shorter point-in-time recovery in AWS::Region (7 instead of 35 days)', 'Days":35', 'Days":7'],
  [table, 'would delete items after their time to live', '"Properties":{', `"Properties":{${expiry},`],
  [client, replaced, '"GenerateSecret":true', '"GenerateSecret":false'],
  [log, 'would have a shorter retention (30 instead of 90 days)', 'Days":90', 'Days":30'],
])('findLosses reports that a %s %s', (type, says, from, to) => {
  expect(whats(before.Resources, edited(type, from, to))).toEqual([`${find(type)[0]} (${type}) ${says}.`]);
});

test.each<[type: string, says: string]>([
  [table, 'would stay behind without a stack'],
  [log, 'would stay behind without a stack'],
  [api, 'would be deleted'],
])('findLosses reports that a %s %s if it is removed or gets another logical id', (type, says) => {
  const losses = [`${find(type)[0]} (${type}) ${says}.`];
  expect(whats(before.Resources, removed(type))).toEqual(losses);
  expect(whats(before.Resources, renamed(type))).toEqual(losses);
});

/** The properties of a table with one replica for each argument, which says whether that replica is protected. */
const replicas = (...isProtected: boolean[]) => ({
  Replicas: isProtected.map((DeletionProtectionEnabled, index) => ({
    Region: ['eu-central-1', 'eu-west-1'][index],
    DeletionProtectionEnabled,
  })),
});

test.each<[type: string, says: string, properties: object, changed?: object]>([
  ['AWS::ApiGatewayV2::DomainName', replaced, { DomainName: 'a.example' }, { DomainName: 'b.example' }],
  ['AWS::ApiGatewayV2::ApiMapping', 'would be deleted', { ApiId: 'a' }],
  [table, 'would lose its deletion protection in eu-west-1', replicas(true, true), replicas(true, false)],
  [table, 'would lose its replica in eu-west-1', replicas(true, true), replicas(true)],
  [log, 'would have a shorter retention (90 instead of all days)', {}, { RetentionInDays: 90 }],
])('findLosses reports that a %s, which this stack may get, %s', (Type, says, properties, changed) => {
  const DeletionPolicy = Type === log ? 'Retain' : 'Delete';
  const one = (Properties: object | undefined) =>
    Properties ? { One: { Type, DeletionPolicy, Properties: { ...Properties } } } : {};
  expect(whats(one(properties), one(changed))).toEqual([`One (${Type}) ${says}.`]);
});

test.each(['AWS::IAM::Role', 'AWS::IAM::Policy', 'AWS::Lambda::Version'])(
  'findLosses lets a retained %s leave its stack, which older versions of a function need, but not lose its retention',
  (Type) => {
    const One: Resource = { Type, DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' };
    expect(whats({ One }, { Other: One })).toEqual([]);
    expect(whats({ One }, { One: { Type } })).toEqual([
      `One (${Type}) would lose its DeletionPolicy.`,
      `One (${Type}) would lose its UpdateReplacePolicy.`,
    ]);
  },
);

test.each<[what: string, now: Template['Resources']]>([
  ['nothing changes', before.Resources],
  ['the table gets an index', edited(table, '"Properties":{', '"Properties":{"GlobalSecondaryIndexes":[],')],
  ['an alarm is removed', removed('AWS::CloudWatch::Alarm')],
])('findLosses reports no loss if %s', (_, now) => {
  expect(whats(before.Resources, now)).toEqual([]);
});

type Sections = Omit<Template, 'Resources'>;

/** A retained table, with attributes and properties in place of the usual ones, in a template with other sections. */
const tableIn = (attributes: object, properties: object = {}, sections: Sections = {}): Template => ({
  ...sections,
  Resources: {
    One: {
      ...{ Type: table, DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain', ...attributes },
      Properties: {
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        DeletionProtectionEnabled: true,
        ...properties,
      },
    },
  },
});
const lossesOf = (then: Template, now: Template): string[] =>
  findLosses({ template: then, isProtected: true }, { template: now, isProtected: true }).map(({ what }) => what);

const onlyIf = (value: unknown, other: unknown) => ({ 'Fn::If': ['IsProd', value, other] });
const isProd = (value: string): Sections => ({
  Conditions: { Named: { 'Fn::Equals': [{ Ref: 'Stage' }, value] }, IsProd: { 'Fn::Not': [{ Condition: 'Named' }] } },
});
const parameter = (Default: string): Sections => ({ Parameters: { Value: { Type: 'String', Default } } });
const mapping = (days: number): Sections => ({ Mappings: { Days: { prod: { days } } } });
const byMap = { RetentionInDays: { 'Fn::FindInMap': ['Days', 'prod', 'days'] } };
const keyOf = (AttributeType: unknown) => ({ AttributeDefinitions: [{ AttributeName: 'id', AttributeType }] });
const recovery = (enabled: unknown, days: unknown) => ({
  PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: enabled, RecoveryPeriodInDays: days },
});

const deleted = 'might be deleted, because only a deployment evaluates its Condition';
const less = (name: string) => `might be protected less, because only a deployment evaluates its ${name}`;

test.each<[says: string, then: Template, now: Template]>([
  [deleted, tableIn({}), tableIn({ Condition: 'IsProd' })],
  [deleted, tableIn({ Condition: 'IsProd' }), tableIn({ Condition: 'Named' })],
  [deleted, tableIn({ Condition: 'IsProd' }, {}, isProd('prod')), tableIn({ Condition: 'IsProd' }, {}, isProd('live'))],
  [less('DeletionPolicy'), tableIn({}), tableIn({ DeletionPolicy: onlyIf('Retain', 'Delete') })],
  [less('DeletionPolicy'), tableIn({ DeletionPolicy: { Ref: 'Policy' } }), tableIn({ DeletionPolicy: 'Delete' })],
  [
    less('DeletionProtectionEnabled'),
    tableIn({}),
    tableIn({}, { DeletionProtectionEnabled: { Ref: 'Value' } }, parameter('true')),
  ],
  [
    less('DeletionProtectionEnabled'),
    tableIn({}, { DeletionProtectionEnabled: { Ref: 'Value' } }, parameter('true')),
    tableIn({}, { DeletionProtectionEnabled: { Ref: 'Value' } }, parameter('false')),
  ],
  [
    less('DeletionProtectionEnabled'),
    tableIn({}, { DeletionProtectionEnabled: onlyIf(true, false) }),
    tableIn({}, { DeletionProtectionEnabled: false }),
  ],
  [less('DeletionProtectionEnabled'), tableIn({}), tableIn({}, { DeletionProtectionEnabled: '{{resolve:ssm:on}}' })],
  [less('RetentionInDays'), tableIn({}, byMap, mapping(90)), tableIn({}, byMap, mapping(1))],
  [less('Replicas'), tableIn({}, replicas(true)), tableIn({}, { Replicas: onlyIf([], []) })],
  [
    less('TimeToLiveSpecification'),
    tableIn({}),
    tableIn({}, { TimeToLiveSpecification: { AttributeName: 'at', Enabled: onlyIf(true, false) } }),
  ],
  [
    'would lose its deletion protection',
    tableIn({}, { DeletionProtectionEnabled: 'true' }),
    tableIn({}, { DeletionProtectionEnabled: 'false' }),
  ],
  ['would lose its DeletionPolicy', tableIn({}, byMap), tableIn({ DeletionPolicy: 'Delete' }, byMap)],
  [
    'would have a shorter point-in-time recovery (7 instead of 35 days)',
    tableIn({}, recovery('true', '35')),
    tableIn({}, recovery('true', '7')),
  ],
  [
    'would delete items after their time to live',
    tableIn({}),
    tableIn({}, { TimeToLiveSpecification: { Enabled: 'true' } }),
  ],
  ['might be replaced by a new one', tableIn({}), tableIn({}, keyOf(onlyIf('N', 'S')))],
  ['might be replaced by a new one', tableIn({}), tableIn({}, { AttributeDefinitions: onlyIf([], []) })],
  [
    replaced,
    tableIn({}, { TableName: { Ref: 'Value' } }, parameter('a')),
    tableIn({}, { TableName: { Ref: 'Value' } }, parameter('b')),
  ],
  [
    replaced,
    tableIn({}, { TableName: { 'Fn::Sub': `\${Value}-table` } }, parameter('a')),
    tableIn({}, { TableName: { 'Fn::Sub': `\${Value}-table` } }, parameter('b')),
  ],
  ['would be deleted', tableIn({ Type: log, DeletionPolicy: onlyIf('Retain', 'Delete') }), { Resources: {} }],
])('findLosses reports what only a deployment evaluates, and texts: "%s"', (says, then, now) => {
  expect(lossesOf(then, now)).toEqual([`One (${then.Resources['One']?.Type}) ${says}.`]);
  expect(lossesOf(then, then)).toEqual([]);
  expect(lossesOf(now, now)).toEqual([]);
});

test('findLosses reports no loss if a table no longer depends on a condition, or a text stands for the same value', () => {
  expect(lossesOf(tableIn({ Condition: 'IsProd' }), tableIn({}))).toEqual([]);
  expect(lossesOf(tableIn({}), tableIn({}, { DeletionProtectionEnabled: 'true' }))).toEqual([]);
});

test.each<[where: string, template: Template]>([
  ['of the template', tableIn({}, {}, { Transform: 'Shrink' })],
  ['in the properties of a resource', tableIn({}, { 'Fn::Transform': 'Shrink' })],
])('findLosses reports a macro %s, which may change everything when the stack is deployed', (_, template) => {
  const says = 'Macros (["Shrink"]) might change everything when the stack is deployed.';
  expect(lossesOf(tableIn({}), template)).toEqual([says]);
  expect(lossesOf(template, template)).toEqual([]);
});

test('findLosses reads conditions that refer to each other in a circle', () => {
  const Conditions = { A: { 'Fn::Not': [{ Condition: 'B' }] }, B: { 'Fn::Not': [{ Condition: 'A' }] } };
  expect(lossesOf(tableIn({}), tableIn({ Condition: 'A' }, {}, { Conditions }))).toEqual([
    `One (${table}) ${deleted}.`,
  ]);
});

test('findLosses reports that the stack loses its termination protection, unless it had none', () => {
  const [closed, open] = [true, false].map((isProtected) => ({ template: before, isProtected })) as [never, never];
  expect(findLosses(closed, open)).toEqual([
    { rule: 'loss', what: 'The stack would lose its termination protection.' },
  ]);
  expect(findLosses(open, open)).toEqual([]);
});
