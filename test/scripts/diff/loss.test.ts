import { describe, expect, test } from 'vitest';
import { findLosses } from '../../../scripts/diff/loss.ts';
import type { Resource, Template } from '../../../scripts/diff/template.ts';
import { kinds, templateOf } from '../../kit/stacks.ts';

/** The template of the stack for stage prod, which has a Cognito user pool. */
const before = templateOf(kinds.prod).toJSON() as Template;

const find = (type: string, template: Template): [id: string, resource: Resource] =>
  Object.entries(template.Resources).find(([, { Type }]) => Type === type) ?? ['none', { Type: type }];

const table = 'AWS::DynamoDB::GlobalTable';
const pool = 'AWS::Cognito::UserPool';
const log = 'AWS::Logs::LogGroup';

const lossesOf = (change: (template: Template) => void): string[] => {
  const template = structuredClone(before);
  change(template);
  const stack = (each: Template) => ({ template: each, isProtected: true });
  return findLosses(stack(before), stack(template)).map(({ what }) => what);
};

/** Returns a function that replaces `from` with `to` in the JSON of a template's first resource with type `type`. */
const edit = (type: string, from: string | RegExp, to: string) => (template: Template) => {
  const [id, resource] = find(type, template);
  const text = JSON.stringify(resource);
  const edited = text.replaceAll(from, to);
  expect(edited, `${id} with ${to} in place of ${from}`).not.toBe(text);
  template.Resources[id] = JSON.parse(edited);
};

const remove = (type: string) => (template: Template) => {
  const [id] = find(type, template);
  delete template.Resources[id];
};

const rename = (type: string) => (template: Template) => {
  const [id, resource] = find(type, template);
  delete template.Resources[id];
  template.Resources[`Other${id}`] = resource;
};

/**
 * Returns the properties of a table that has one replica for each argument. Each argument says whether its replica has
 * deletion protection.
 */
const replicas = (...isProtected: boolean[]) => ({
  Replicas: isProtected.map((DeletionProtectionEnabled, index) => ({
    Region: ['eu-central-1', 'eu-west-1'][index],
    DeletionProtectionEnabled,
    PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
  })),
});

describe('findLosses reports what a deployment would lose, or no longer protect from loss,', () => {
  test.each<[what: string, type: string, says: string, change: (template: Template) => void]>([
    [
      "the table's key changes",
      table,
      'would be replaced by a new one',
      edit(table, '"AttributeName":"id"', '"AttributeName":"pk"'),
    ],
    [
      "the table's key has another type",
      table,
      'would be replaced by a new one',
      edit(table, '"AttributeType":"N"', '"AttributeType":"S"'),
    ],
    [
      'the table gets a name',
      table,
      'would be replaced by a new one',
      edit(table, '"Properties":{', '"Properties":{"TableName":"mine",'),
    ],
    ['the table gets another logical id', table, 'would stay behind without a stack', rename(table)],
    ['the table is removed', table, 'would stay behind without a stack', remove(table)],
    [
      'the table goes with its stack',
      table,
      'would lose its DeletionPolicy',
      edit(table, '"DeletionPolicy":"Retain"', '"DeletionPolicy":"Delete"'),
    ],
    [
      'the table goes if it is replaced',
      table,
      'would lose its UpdateReplacePolicy',
      edit(table, ',"UpdateReplacePolicy":"Retain"', ''),
    ],
    [
      'the table may be deleted',
      table,
      'would lose its deletion protection in AWS::Region',
      edit(table, '"DeletionProtectionEnabled":true', '"DeletionProtectionEnabled":false'),
    ],
    [
      'the table has no backups',
      table,
      'would lose its point-in-time recovery in AWS::Region',
      edit(table, '"PointInTimeRecoveryEnabled":true', '"PointInTimeRecoveryEnabled":false'),
    ],
    [
      'the table can be restored to fewer days',
      table,
      'would have a shorter point-in-time recovery in AWS::Region (7 instead of 35 days)',
      edit(table, '"RecoveryPeriodInDays":35', '"RecoveryPeriodInDays":7'),
    ],
    [
      'items of the table expire',
      table,
      'would delete items after their time to live',
      edit(table, '"Properties":{', '"Properties":{"TimeToLiveSpecification":{"AttributeName":"at","Enabled":true},'),
    ],
    [
      'logs are kept shorter',
      log,
      'would have a shorter retention (30 instead of 90 days)',
      edit(log, '"RetentionInDays":90', '"RetentionInDays":30'),
    ],
    ['the user pool gets another logical id', pool, 'would stay behind without a stack', rename(pool)],
    [
      'a client of the user pool is removed',
      'AWS::Cognito::UserPoolClient',
      'would stay behind without a stack',
      remove('AWS::Cognito::UserPoolClient'),
    ],
    [
      'a client gets another secret',
      'AWS::Cognito::UserPoolClient',
      'would be replaced by a new one',
      edit('AWS::Cognito::UserPoolClient', '"GenerateSecret":true', '"GenerateSecret":false'),
    ],
    ['the API gets another URL', 'AWS::ApiGatewayV2::Api', 'would be deleted', rename('AWS::ApiGatewayV2::Api')],
    ['a log group is removed', log, 'would stay behind without a stack', remove(log)],
  ])('if %s', (_, type, says, change) => {
    const [id] = find(type, before);
    expect(lossesOf(change)).toEqual([`${id} (${type}) ${says}.`]);
  });

  test.each<[what: string, says: string, type: string, properties: object, changed?: object]>([
    ['a domain goes', 'would be deleted', 'AWS::ApiGatewayV2::DomainName', { DomainName: 'a.example' }],
    [
      'a domain gets another name',
      'would be replaced by a new one',
      'AWS::ApiGatewayV2::DomainName',
      { DomainName: 'a.example' },
      { DomainName: 'b.example' },
    ],
    ['the domain no longer leads to the API', 'would be deleted', 'AWS::ApiGatewayV2::ApiMapping', { ApiId: 'a' }],
    [
      'a record gets another name',
      'would be replaced by a new one',
      'AWS::Route53::RecordSet',
      { Name: 'a.example', Type: 'A' },
      { Name: 'b.example', Type: 'A' },
    ],
    [
      'one of several replicas may be deleted',
      'would lose its deletion protection in eu-west-1',
      table,
      replicas(true, true),
      replicas(true, false),
    ],
    ['a replica goes', 'would lose its replica in eu-west-1', table, replicas(true, true), replicas(true)],
    [
      'the logs were kept for ever',
      'would have a shorter retention (90 instead of all days)',
      log,
      {},
      { RetentionInDays: 90 },
    ],
  ])('if %s', (_, says, Type, properties, changed) => {
    const stack = (Properties: object | undefined) => ({
      template: { Resources: Properties ? { One: { Type, DeletionPolicy, Properties: { ...Properties } } } : {} },
      isProtected: true,
    });
    const DeletionPolicy = Type === log ? 'Retain' : 'Delete';
    const losses = findLosses(stack(properties), stack(changed)).map(({ what }) => what);
    expect(losses).toEqual([`One (${Type}) ${says}.`]);
  });

  test('if the stack loses its termination protection', () => {
    const losses = findLosses({ template: before, isProtected: true }, { template: before, isProtected: false });
    expect(losses).toEqual([{ rule: 'loss', what: 'The stack would lose its termination protection.' }]);
  });
});

describe.each(['AWS::IAM::Role', 'AWS::IAM::Policy', 'AWS::Lambda::Version'])(
  'findLosses reports about a retained %s',
  (Type) => {
    const kept: Resource = { Type, DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' };
    const losses = (Resources: Template['Resources']) =>
      findLosses(
        { template: { Resources: { One: kept } }, isProtected: true },
        { template: { Resources }, isProtected: true },
      ).map(({ what }) => what);

    test('nothing if it leaves its stack, because it stays for older versions of a function', () => {
      expect(losses({})).toEqual([]);
      expect(losses({ Other: kept })).toEqual([]);
    });

    test('that it is no longer retained, because older versions of a function would lose it', () => {
      expect(losses({ One: { Type } })).toEqual([
        `One (${Type}) would lose its DeletionPolicy.`,
        `One (${Type}) would lose its UpdateReplacePolicy.`,
      ]);
    });
  },
);

describe('findLosses reports no loss', () => {
  test.each<[what: string, change: (template: Template) => void]>([
    ['nothing changes', () => {}],
    ['the table gets an index', edit(table, '"Properties":{', '"Properties":{"GlobalSecondaryIndexes":[],')],
    ['a version of a function is removed', remove('AWS::Lambda::Version')],
    ['an alarm is removed', remove('AWS::CloudWatch::Alarm')],
    ['a role gets another logical id', rename('AWS::IAM::Role')],
    ['logs are kept longer', edit(log, '"RetentionInDays":90', '"RetentionInDays":180')],
  ])('if %s', (_, change) => {
    expect(lossesOf(change)).toEqual([]);
  });

  test('if a protection was already off before the change', () => {
    const open = structuredClone(before);
    edit(table, '"DeletionProtectionEnabled":true', '"DeletionProtectionEnabled":false')(open);
    const stack = { template: open, isProtected: false };
    expect(findLosses(stack, stack)).toEqual([]);
  });
});
