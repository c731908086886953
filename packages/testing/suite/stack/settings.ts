/**
 * Tests how the settings change the stack. What all stacks have in common is tested elsewhere, only on stage `prod`.
 */

import { tableKey } from '@lambda-service/testing/data';
import {
  emptyStack,
  kinds,
  ofType,
  propertiesOf,
  ref,
  type Template,
  templateOf,
  withoutHashes,
  withStack,
} from '@lambda-service/testing/stack';
import type { App, Stack } from 'aws-cdk-lib';
import { expect, test } from 'vitest';
import { operations } from '../../functions/generated/contract.ts';
import { AccountBudget } from '../../packages/cdk/account-budget.ts';

const templateFor = (context: Record<string, string>): Template => withoutHashes(templateOf(context).toJSON());

const mail = 'me@a.example';
const templates = {
  prod: templateFor(kinds.prod),
  prodWithIssuer: templateFor(kinds.prodWithIssuer),
  prodAnna: templateFor({ stage: 'prod-anna', alarmEmail: mail, rateLimit: '20', burstLimit: '30' }),
  dev: templateFor(kinds.dev),
  anna: templateFor({ stage: 'dev-anna' }),
};

test('a dev stack rolls out at once, keeps logs for a week, and has no smoke test, backups or key', () => {
  const { dev } = templates;
  expect(dev.Resources).not.toHaveProperty('SmokeTest');
  expect(ofType('AWS::CodeDeploy::DeploymentGroup', dev)).toEqual({});
  expect(ofType('AWS::KMS::Key', dev)).toEqual({});
  for (const { UpdatePolicy } of Object.values(ofType('AWS::Lambda::Alias', dev))) expect(UpdatePolicy).toBe(undefined);
  const logs = Object.values(propertiesOf('AWS::Logs::LogGroup', dev));
  expect(new Set(logs.map(({ RetentionInDays }) => RetentionInDays))).toEqual(new Set([7]));
  for (const { Replicas } of Object.values(propertiesOf('AWS::DynamoDB::GlobalTable', dev))) {
    const [replica, ...others] = Replicas as object[];
    expect(others).toEqual([]);
    expect(replica).toMatchObject({ DeletionProtectionEnabled: false });
    expect(replica).not.toHaveProperty('PointInTimeRecoverySpecification');
  }
  expect(dev.Resources['TokenIssuerPool']?.Properties).toMatchObject({ DeletionProtection: 'INACTIVE' });
});

test('the stacks of stage dev-anna and stage dev differ only in their names', () => {
  /** Replaces the stack's name, and its form in logical ids, which contain no dash. */
  const unnamed = (template: Template, name: RegExp) => JSON.parse(JSON.stringify(template).replaceAll(name, 'STACK'));
  const dev = unnamed(templates.dev, /PlantStore-?dev/g);
  expect(unnamed(templates.anna, /PlantStore-?dev-?anna/g)).toEqual(dev);
});

/**
 * Resource names that may be the same in two stacks, because they must be unique only in an API, namespace, user pool,
 * role or function, or name something of AWS.
 */
const inside = [
  ...['ApiGatewayV2::Authorizer Name', 'ApiGatewayV2::Stage StageName', 'CloudWatch::Alarm MetricName'],
  ...['Cognito::UserPoolResourceServer Name', 'IAM::Policy PolicyName', 'Lambda::Alias Name'],
  'CodeDeploy::DeploymentGroup DeploymentConfigName',
];

/** Returns, as JSON, the names that the template sets for resources. CloudFormation makes up names for all others. */
const namesIn = ({ Resources }: Template): string[] =>
  Object.values(Resources).flatMap(({ Type, Properties = {} }) =>
    Object.entries(Properties).flatMap(([key, value]) => {
      const [what, name] = [`${Type.replace('AWS::', '')} ${key}`, JSON.stringify(value)];
      const isReference = /"(Ref":"(?!AWS::)|Fn::GetAtt")/.test(name);
      return key.endsWith('Name') && !isReference && !inside.includes(what) ? [`${what}: ${name}`] : [];
    }),
  );

test('no two stacks in one account give their resources the same name', () => {
  const { anna, dev, prod, prodAnna } = templates;
  const names = [anna, dev, prod, prodAnna].flatMap((template) => [...new Set(namesIn(template))]);
  expect(names).toContain('Logs::LogGroup LogGroupName: "/aws/vendedlogs/PlantStore-dev-anna-AccessLog"');
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

const tableIds = Object.keys(ofType('AWS::DynamoDB::GlobalTable'));

const keptOf = ({ Resources }: Template) =>
  Object.entries(Resources).flatMap(([name, { DeletionPolicy = 'Delete', UpdateReplacePolicy = DeletionPolicy }]) =>
    DeletionPolicy === 'Delete' && UpdateReplacePolicy === 'Delete' ? [] : [[name, DeletionPolicy]],
  );

test('the tables, the user pool, the logs, and the function versions with their roles outlive a prod stack; nothing outlives a dev stack', () => {
  const logs = ofType('AWS::Logs::LogGroup', templates.prod);
  const versions = Object.keys(ofType('AWS::Lambda::Version', templates.prod));
  expect(Object.fromEntries(keptOf(templates.prod))).toEqual({
    ...Object.fromEntries(tableIds.map((id) => [id, 'Retain'])),
    TokenIssuerPool: 'Retain',
    // `RetainExceptOnCreate`, because `Retain` would leave these resources behind whenever creating the stack fails.
    TokenIssuerPoolApi: 'RetainExceptOnCreate',
    TokenIssuerPoolDomain: 'RetainExceptOnCreate',
    TokenIssuerPoolMachine: 'RetainExceptOnCreate',
    ...Object.fromEntries(Object.keys(logs).map((name) => [name, 'RetainExceptOnCreate'])),
    ...Object.fromEntries(
      versions
        .flatMap((name) => [name, name.replace(/CurrentVersion$/, 'Role')])
        .map((name) => [name, 'RetainExceptOnCreate']),
    ),
  });
  expect([...keptOf(templates.dev), ...keptOf(templates.anna)]).toEqual([]);
});

test('the outputs of a stack with an external issuer include the URL of the service, all scopes of the contract and the issuer', () => {
  const { Outputs } = templates.prodWithIssuer;
  const names = Object.keys(Outputs).filter((name) => !/.TableName$/.test(name));
  expect(names.sort()).toEqual(['ApiUrl', 'DashboardUrl', 'Issuer', 'Scope', 'TableName']);
  expect(Outputs['TableName']).toEqual({ Value: ref('Plants') });
  const scopes = String(Outputs['Scope']?.Value).split(' ');
  expect(scopes).toContain('plants/create');
  expect(scopes.sort()).toEqual([...new Set(Object.values(operations).flatMap((each) => each.scopes))].sort());
});

test("alarmEmail in the CDK context subscribes an address to pages and tickets; rateLimit and burstLimit set the API's throttle, and the most writes of each table", () => {
  expect(ofType('AWS::SNS::Subscription', templates.prod)).toEqual({});
  const topics = [ref('MonitoringPages'), ref('MonitoringTickets')];
  expect(Object.values(propertiesOf('AWS::SNS::Subscription', templates.prodAnna))).toEqual(
    topics.map((TopicArn) => ({ Protocol: 'email', Endpoint: mail, TopicArn })),
  );
  expect(templates.prodAnna.Resources['ApiStage']?.Properties).toMatchObject({
    DefaultRouteSettings: { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 30 },
  });
  for (const [id, properties] of Object.entries(propertiesOf('AWS::DynamoDB::GlobalTable', templates.prodAnna)))
    expect(properties, id).toMatchObject({ WriteOnDemandThroughputSettings: { MaxWriteRequestUnits: 400 } });
});

type Policy = { PolicyDocument: { Statement: object[] } };

test('X-Ray traces the functions, and their roles may write traces, only if the setting `tracing` is on', () => {
  const expected = structuredClone(templates.prod);
  const write = { Action: ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'], Effect: 'Allow', Resource: '*' };
  for (const name of Object.keys(ofType('AWS::Lambda::Function', expected))) {
    Object.assign(expected.Resources[name]?.Properties ?? {}, { TracingConfig: { Mode: 'Active' } });
    const { Policies = [expected.Resources[`${name}RoleDefaultPolicy`]?.Properties] } =
      expected.Resources[`${name}Role`]?.Properties ?? {};
    for (const { PolicyDocument } of Policies as Policy[]) PolicyDocument.Statement.splice(1, 0, write);
  }
  expect(templateFor({ ...kinds.prod, tracing: 'on' })).toEqual(expected);
  expect(JSON.stringify(templates)).not.toMatch(/TracingConfig|xray/);
});

test('the stack has the tags service and stage, and those of the setting `tags`, which do not change the template and so deploy no new function versions', () => {
  const read = (stack: Stack) => {
    const { tags, template } = (stack.node.root as App).synth().getStackArtifact(stack.artifactId);
    return { tags, template };
  };
  const { tags, template } = withStack({ stage: 'dev-anna', tags: 'owner=Team A,cost-center=42' }, read);
  // CDK gives CloudFormation the tags together with the template: they are in the cloud assembly.
  expect(tags).toEqual({ service: 'plant-store', stage: 'dev-anna', owner: 'Team A', 'cost-center': '42' });
  expect(withoutHashes(template)).toEqual(templates.anna);
});

test('each table is on-demand, with point-in-time recovery, and with a write unit for each request that the throttle lets through', () => {
  const recovery = { PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 35 };
  const expected = {
    BillingMode: 'PAY_PER_REQUEST',
    Replicas: [{ DeletionProtectionEnabled: true, PointInTimeRecoverySpecification: recovery }],
    WriteOnDemandThroughputSettings: { MaxWriteRequestUnits: 1_500 },
  };
  const tables = propertiesOf('AWS::DynamoDB::GlobalTable');
  for (const [id, properties] of Object.entries(tables)) expect(properties, id).toMatchObject(expected);
  expect(tables['Plants'], 'the only key that createPlant uses').toMatchObject({
    KeySchema: [{ AttributeName: tableKey.name, KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: tableKey.name, AttributeType: tableKey.type }],
  });
});

test('AWS mails alarmEmail if the account spends more than the budget, or is forecast to; each address has a budget with another name', () => {
  const over = (NotificationType: string) => ({
    Notification: { NotificationType, ComparisonOperator: 'GREATER_THAN', Threshold: 100 },
    Subscribers: [{ SubscriptionType: 'EMAIL', Address: mail }],
  });
  const template = templateFor({ ...kinds.devWithIssuer, alarmEmail: mail, budget: '50' });
  const BudgetName = expect.stringMatching(/^[\w-]+-[\da-f]{8}$/);
  const [budget] = Object.values(propertiesOf('AWS::Budgets::Budget', template));
  expect(budget).toEqual({
    Budget: { BudgetName, BudgetType: 'COST', TimeUnit: 'MONTHLY', BudgetLimit: { Amount: 50, Unit: 'USD' } },
    NotificationsWithSubscribers: [over('ACTUAL'), over('FORECASTED')],
  });
  const nameFor = (address: string) => Object(new AccountBudget(emptyStack(), 'Budget', 50, address).budget).budgetName;
  expect(nameFor('you@a.example')).not.toBe(nameFor(mail));
  expect(ofType('AWS::Budgets::Budget', templates.prodAnna)).toEqual({});
});

test.each([
  [kinds.prodWithIssuer, true],
  [kinds.devWithIssuer, false],
])('only a stack of stage prod has termination protection: %j', (context, isProtected) => {
  expect(withStack(context, (stack) => stack.terminationProtection)).toBe(isProtected);
});
