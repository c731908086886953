import { tableKey } from '@lambda-service/testing/data';
import { kinds, templateOf } from '@lambda-service/testing/stack';
import { expect, test } from 'vitest';
import type { Resource, Template } from '../../../app.ts';
import { findLosses } from '../../../release/diff/loss.ts';
import { withoutHashes } from '../../../release/diff/template.ts';

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

const none = { Ref: 'AWS::NoValue' };
const replaced = 'would be replaced by a new one';
const expires = '"TimeToLiveSpecification":{"AttributeName":"at","Enabled":true}';

test.each<[type: string, says: string, from: string, to: string]>([
  [table, replaced, `"AttributeName":"${tableKey.name}"`, '"AttributeName":"pk"'],
  [table, replaced, `"AttributeType":"${tableKey.type}"`, '"AttributeType":"B"'],
  [table, 'would lose its DeletionPolicy', '"DeletionPolicy":"Retain"', '"DeletionPolicy":"Delete"'],
  [table, 'would lose its UpdateReplacePolicy', ',"UpdateReplacePolicy":"Retain"', ''],
  [table, 'would lose its deletion protection in AWS::Region', 'ionEnabled":true', 'ionEnabled":false'],
  [table, 'would lose its point-in-time recovery in AWS::Region', 'eryEnabled":true', 'eryEnabled":false'],
  [table, 'would have a shorter point-in-time recovery in AWS::Region (7 instead of 35 days)', 'Days":35', 'Days":7'],
  [table, 'would lose its items after their time to live', '"Properties":{', `"Properties":{${expires},`],
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
  [log, 'would have a shorter retention (90 instead of all days)', { RetentionInDays: none }, { RetentionInDays: 90 }],
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

/** A retained table, with properties and attributes in place of the usual ones, in a template with other sections. */
const tableWith = (properties: object, sections: Sections = {}, attributes: object = {}): Template => ({
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
const usual = tableWith({});
const tableIf = (Condition: string, sections: Sections = {}) => tableWith({}, sections, { Condition });
const retained = (DeletionPolicy: unknown, Type = table) => tableWith({}, {}, { DeletionPolicy, Type });
const lossesOf = (then: Template, now: Template): string[] =>
  findLosses({ template: then, isProtected: true }, { template: now, isProtected: true }).map(({ what }) => what);

const onlyIf = (value: unknown, other: unknown) => ({ 'Fn::If': ['IsProd', value, other] });
const isProd = (value: string): Sections => ({
  Conditions: { Named: { 'Fn::Equals': [{ Ref: 'Stage' }, value] }, IsProd: { 'Fn::Not': [{ Condition: 'Named' }] } },
});
const parameter = (Default: string, Description = ''): Sections => ({
  Parameters: { Value: { Type: 'String', Default, Description } },
});
const value = { Ref: 'Value' };
/** A table with these properties, in which the parameter Value has a default. */
const byDefault = (properties: object, ...of: Parameters<typeof parameter>) => tableWith(properties, parameter(...of));
const mapping = (days: number, more: object = {}): Sections => ({ Mappings: { Days: { prod: { days }, ...more } } });
const inMap = (map: unknown) => ({ RetentionInDays: { 'Fn::FindInMap': [map, 'prod', 'days'] } });
const byMap = inMap('Days');
const byRegion = inMap({ Ref: 'AWS::Region' });
const keyOf = (AttributeType: unknown) => ({ AttributeDefinitions: [{ AttributeName: 'id', AttributeType }] });
const keptFor = (RetentionInDays: unknown) => tableWith({ RetentionInDays });
const recovery = (enabled: unknown, days: unknown) =>
  tableWith({
    PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: enabled, RecoveryPeriodInDays: days },
  });
const protectedBy = (DeletionProtectionEnabled: unknown) => ({ DeletionProtectionEnabled });
const expiring = (TimeToLiveSpecification: object) => tableWith({ TimeToLiveSpecification });
const byName = { TableName: value };
const bySub = { TableName: { 'Fn::Sub': `\${Value}-table` } };

const include = (Location: unknown) => ({ 'Fn::Transform': { Name: 'AWS::Include', Parameters: { Location } } });
const nested = (TemplateURL: unknown, Type = 'AWS::CloudFormation::Stack'): Template => ({
  Resources: { One: { Type, Properties: { TemplateURL } } },
});
/** The template of a nested stack, as CDK names it. */
const assetOf = (hash: string) => ({ 'Fn::Sub': `https://s3.\${AWS::Region}.example/${hash.repeat(64)}.json` });

const deleted = 'might be deleted, because only a deployment evaluates its Condition';
const less = (name: string) => `might lose its ${name}, because only a deployment evaluates it`;
const shorter = (what: string, days: string) => `would have a shorter ${what} (${days} days)`;
const [protection, recoverable] = ['deletion protection', 'point-in-time recovery'];
const expiry = 'items after their time to live';

test.each<[says: string, then: Template, now: Template]>([
  [deleted, usual, tableIf('IsProd')],
  [deleted, tableIf('IsProd'), tableIf('Named')],
  [deleted, tableIf('IsProd', isProd('prod')), tableIf('IsProd', isProd('live'))],
  [less('DeletionPolicy'), usual, retained(onlyIf('Retain', 'Delete'))],
  [less('DeletionPolicy'), retained({ Ref: 'Policy' }), retained('Delete')],
  [less(protection), usual, byDefault(protectedBy(value), 'true')],
  [less(protection), byDefault(protectedBy(value), 'true'), byDefault(protectedBy(value), 'false')],
  [less(protection), tableWith(protectedBy(onlyIf(true, false))), tableWith(protectedBy(false))],
  [less(protection), usual, tableWith(protectedBy('{{resolve:ssm:on}}'))],
  [shorter('retention', '1 instead of 90'), tableWith(byMap, mapping(90)), tableWith(byMap, mapping(1))],
  [less('retention'), tableWith(byRegion, mapping(90)), tableWith(byRegion, mapping(1))],
  [less('retention'), tableWith(byRegion, mapping(90)), keptFor(90)],
  [less(recoverable), recovery(true, value), recovery(true, 7)],
  ['would lose its replica in eu-central-1', tableWith(replicas(true)), tableWith({ Replicas: onlyIf([], []) })],
  [
    'would lose its replica in {"Fn::If":["IsProd",{},{}]}',
    tableWith({ Replicas: [onlyIf({}, {})] }),
    tableWith({ Replicas: [] }),
  ],
  [less(recoverable), tableWith({ PointInTimeRecoverySpecification: onlyIf({}, none) }), usual],
  [less(expiry), usual, expiring({ AttributeName: 'at', Enabled: onlyIf(true, false) })],
  [`would lose its ${protection}`, tableWith(protectedBy('true')), tableWith(protectedBy('false'))],
  ['would lose its DeletionPolicy', tableWith(byMap), tableWith(byMap, {}, { DeletionPolicy: 'Delete' })],
  [shorter(recoverable, '7 instead of 35'), recovery('true', '35'), recovery('true', '7')],
  [`would lose its ${expiry}`, usual, expiring({ Enabled: 'true' })],
  ['might be replaced by a new one', usual, tableWith(keyOf(onlyIf('N', 'S')))],
  ['might be replaced by a new one', usual, tableWith({ AttributeDefinitions: onlyIf([], []) })],
  [replaced, byDefault(byName, 'a'), byDefault(byName, 'b')],
  [replaced, byDefault(bySub, 'a'), byDefault(bySub, 'b')],
  ['would be deleted', retained(onlyIf('Retain', 'Delete'), log), { Resources: {} }],
  ['would be deleted', nested('a'), { Resources: {} }],
  [less('resources'), nested('a', 'Acme::Data::MODULE'), nested('b', 'Acme::Data::MODULE')],
  [less('resources'), withoutHashes(nested(assetOf('a'))), withoutHashes(nested(assetOf('b')))],
])('findLosses reports what only a deployment evaluates, and texts: "%s"', (says, then, now) => {
  expect(lossesOf(then, now)).toEqual([`One (${then.Resources['One']?.Type}) ${says}.`]);
  expect([...lossesOf(then, then), ...lossesOf(now, now)]).toEqual([]);
});

/** A protected replica with tags and a key, which only a deployment knows. */
const tagged = (...Tags: string[]) => ({
  Replicas: [{ Region: 'eu-west-1', SSESpecification: { KMSMasterKeyId: { Ref: 'Key' } }, Tags }],
});

test.each<[what: string, then: Template, now: Template]>([
  ['a table no longer depends on a condition', tableIf('IsProd'), usual],
  ['a text stands for the same value', usual, tableWith(protectedBy('true'))],
  ['a property becomes no value', usual, tableWith({ TableName: none })],
  ['logs are kept for ever', keptFor(90), keptFor(none)],
  ['backups get the most days', recovery(true, value), recovery(true, 35)],
  ['backups keep the default days', recovery(true, 35), recovery(true, none)],
  ['a map stands for the same value', keptFor(90), tableWith(byMap, mapping(90))],
  ['a map gets another entry', tableWith(byMap, mapping(90)), tableWith(byMap, mapping(90, { dev: { days: 1 } }))],
  ['a parameter is described in other words', byDefault(byName, 'a'), byDefault(byName, 'a', 'The name')],
  ['a nested stack is new', { Resources: {} }, nested('a')],
  ['a replica, whose key only a deployment knows, gets a tag', tableWith(tagged()), tableWith(tagged('a'))],
  ['an output, which changes no resource, has a macro', usual, { ...usual, Outputs: include('s3://a') }],
])('findLosses reports no loss if %s', (_, then, now) => {
  expect(lossesOf(then, now)).toEqual([]);
});

const ofTable = 'Resources.One.Properties.Fn::Transform';
const eachOf = (...names: string[]): Template => ({
  Resources: { ...usual.Resources, 'Fn::ForEach::Tables': ['N', names, {}] as never },
});

test.each<[what: string, then: Template, now: Template]>([
  ['Transform', usual, tableWith({}, { Transform: 'Shrink' })],
  ['Transform', tableWith({}, { Transform: ['Protect'] }), usual],
  [ofTable, usual, tableWith(include('s3://a'))],
  [ofTable, tableWith(include('s3://protection')), usual],
  [ofTable, byDefault(include(value), 'a'), byDefault(include(value), 'b')],
  ['Mappings.Fn::Transform', usual, { ...usual, Mappings: include('s3://a') }],
  ['Resources.Fn::ForEach::Tables', eachOf('a', 'b'), eachOf('a')],
])('findLosses reports a change of %s, which may change everything when the stack is deployed', (what, then, now) => {
  expect(lossesOf(then, now)).toEqual([`${what} might change everything, because only a deployment evaluates it.`]);
  expect([...lossesOf(then, then), ...lossesOf(now, now)]).toEqual([]);
});

test('findLosses reports that a stack moves to another region, unless it is new', () => {
  const then = { template: before, isProtected: true, environment: 'aws://1/eu' };
  expect(findLosses(then, { ...then, environment: 'aws://1/us' }).map(({ what }) => what)).toEqual([
    'The stack would stay behind in aws://1/eu, because the app has it in aws://1/us.',
  ]);
  expect(findLosses({ template: { Resources: {} }, isProtected: false }, then)).toEqual([]);
});

test('findLosses reads conditions that refer to each other in a circle', () => {
  const Conditions = { A: { 'Fn::Not': [{ Condition: 'B' }] }, B: { 'Fn::Not': [{ Condition: 'A' }] } };
  expect(lossesOf(usual, tableIf('A', { Conditions }))).toEqual([`One (${table}) ${deleted}.`]);
});

test('findLosses reports that the stack loses its termination protection, unless it had none', () => {
  const [closed, open] = [true, false].map((isProtected) => ({ template: before, isProtected })) as [never, never];
  expect(findLosses(closed, open)).toEqual([
    { rule: 'loss', what: 'The stack would lose its termination protection.' },
  ]);
  expect(findLosses(open, open)).toEqual([]);
});
