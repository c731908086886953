/** Tests how the settings change the stack. What all stacks have in common is tested only on stage `prod`. */
import { AccountBudget } from '@lambda-service/cdk';
import type { App, Stack } from 'aws-cdk-lib';
import { expect, inject, test } from 'vitest';
import { tableKey } from '../../data/example.ts';
import { names } from '../../stack/handler-permissions.ts';
import { externalIssuer, kinds } from '../../stack/settings.ts';
import { emptyStack, plainTemplateOf, withStack } from '../../stack/stacks.ts';
import { ofType, propertiesOf, ref, resolve, type Template } from '../../stack/template.ts';
import { createOperation, operations } from '../../under-test.ts';

const name = inject('stackName');
const mail = 'me@a.example';
const tables = propertiesOf('AWS::DynamoDB::GlobalTable');
const [firstTable = ''] = Object.keys(tables);

/** Returns the names that the template sets for resources, as JSON. CloudFormation makes up names for all others. */
const namesIn = ({ Resources }: Template): string[] =>
  Object.values(Resources).flatMap(({ Type, Properties = {} }) => {
    const given = names[Type]?.split('.').reduce((inner: unknown, key) => Object(inner)[key], Properties);
    return given === undefined ? [] : [JSON.stringify(given)];
  });

const keptOf = ({ Resources }: Template) =>
  Object.entries(Resources).flatMap(([name, { DeletionPolicy = 'Delete', UpdateReplacePolicy = DeletionPolicy }]) =>
    DeletionPolicy === 'Delete' && UpdateReplacePolicy === 'Delete' ? [] : [[name, DeletionPolicy]],
  );

type Policy = { PolicyDocument: { Statement: object[] } };

/** @param outputs and `kept` are those that the stack has besides those of every service */
export const testSettings = ({ outputs: own = [], kept = [] }: { outputs?: string[]; kept?: string[] }): void => {
  const prod = plainTemplateOf(kinds.prod);
  const prodAnna = plainTemplateOf({ stage: 'prod-anna', alarmEmail: mail, rateLimit: '20', burstLimit: '30' });
  const dev = plainTemplateOf(kinds.dev);
  const devAnna = plainTemplateOf({ stage: 'dev-anna' });

  test('a dev stack rolls out at once, keeps logs for a week, and has no smoke test, check from outside, backups or key', () => {
    expect(Object.keys(dev.Resources).filter((each) => /^(SmokeTest|OutsideCheck)/.test(each))).toEqual([]);
    for (const type of ['CodeDeploy::DeploymentGroup', 'KMS::Key']) expect(ofType(`AWS::${type}`, dev)).toEqual({});
    for (const { UpdatePolicy } of Object.values(ofType('AWS::Lambda::Alias', dev)))
      expect(UpdatePolicy).toBe(undefined);
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
    const unnamed = (template: Template, stage: string) =>
      JSON.parse(JSON.stringify(template).replaceAll(new RegExp(`${name}-?${stage}`, 'g'), 'STACK'));
    expect(unnamed(devAnna, 'dev-?anna')).toEqual(unnamed(dev, 'dev'));
  });

  test('no two stacks in one account give their resources the same name', () => {
    const given = [devAnna, dev, prod, prodAnna].map((template) => [...new Set(namesIn(template))]);
    expect(given[0]).toContain(`"/aws/vendedlogs/${name}-dev-anna-AccessLog"`);
    expect(new Set(given.flat())).toHaveProperty('size', given.flat().length);
  });

  test('the tables, the user pool, the logs, and the function versions with their roles outlive a prod stack; nothing outlives a dev stack', () => {
    const versions = Object.keys(ofType('AWS::Lambda::Version', prod));
    const roles = versions.map((each) => each.replace(/CurrentVersion$/, 'Role'));
    const logs = Object.keys(ofType('AWS::Logs::LogGroup', prod));
    const ofPool = ['Api', 'Domain', 'Machine'].map((each) => `TokenIssuerPool${each}`);
    const others = keptOf(prod).filter(([id = '']) => !kept.includes(id));
    expect(Object.fromEntries(others), 'Name more of them in `kept` of testStack').toEqual({
      ...Object.fromEntries([...Object.keys(tables), 'TokenIssuerPool'].map((each) => [each, 'Retain'])),
      // `RetainExceptOnCreate`, because `Retain` would leave these resources behind whenever creating the stack fails.
      ...Object.fromEntries([...ofPool, ...logs, ...versions, ...roles].map((each) => [each, 'RetainExceptOnCreate'])),
    });
    expect([...keptOf(dev), ...keptOf(devAnna)]).toEqual([]);
  });

  test.each([
    [kinds.prodWithIssuer, ['Issuer']],
    [kinds.prod, ['ClientId', 'TokenUrl', 'UserPoolId']],
  ])('the outputs with %j include URL, table, scopes of the contract, and the issuer', (context, ofIssuer) => {
    const { Outputs } = plainTemplateOf(context);
    const outputs = Object.keys(Outputs).filter((each) => !/.TableName$/.test(each));
    const expected = ['ApiUrl', 'DashboardUrl', 'Scope', 'TableName', ...ofIssuer, ...own];
    expect(outputs.sort(), 'Name more of them in `outputs` of testStack').toEqual(expected.sort());
    expect(Outputs['TableName']).toEqual({ Value: ref(firstTable) });
    const scopes = String(Outputs['Scope']?.Value).split(' ');
    expect(scopes).toEqual(expect.arrayContaining([...createOperation.scopes]));
    expect(scopes.sort()).toEqual([...new Set(Object.values(operations).flatMap((each) => each.scopes))].sort());
  });

  const { issuer: ISSUER, audience: AUDIENCE, jwksUri, clientIds } = externalIssuer;
  const pool = { 'Fn::GetAtt': ['TokenIssuerPool', 'ProviderURL'] };
  const trustedPool = (clients: string) => ({
    ISSUER: pool,
    JWKS_URI: { 'Fn::Join': ['', [pool, '/.well-known/jwks.json']] },
    AUDIENCE: 'none',
    CLIENT_IDS: expect.toSatisfy((ids) => resolve(ids) === clients),
    SCOPE_CLAIM: 'scope',
  });
  const trustedIssuer = { ISSUER, AUDIENCE, JWKS_URI: jwksUri, CLIENT_IDS: clientIds, SCOPE_CLAIM: 'scp,roles' };

  test.each<[whom: string, context: Record<string, string>, trusted: object]>([
    ["the stack's own user pool and its client", kinds.prod, trustedPool('TokenIssuerPoolMachine')],
    ['more clients of that pool', { ...kinds.dev, clientIds: 'a,b' }, trustedPool('TokenIssuerPoolMachine,a,b')],
    ['an external issuer', { ...kinds.prodWithIssuer, scopeClaim: 'scp,roles' }, trustedIssuer],
  ])('the authorizer trusts %s if the CDK context says so: %j', (_, context, trusted) => {
    const { Variables } = Object(plainTemplateOf(context).Resources['Authorizer']?.Properties['Environment']);
    expect(Variables).toMatchObject(trusted);
  });

  test("alarmEmail in the CDK context subscribes an address to pages and tickets; rateLimit and burstLimit set the API's throttle, and the most writes of each table", () => {
    expect(ofType('AWS::SNS::Subscription', prod)).toEqual({});
    const topics = [ref('MonitoringPages'), ref('MonitoringTickets')];
    expect(Object.values(propertiesOf('AWS::SNS::Subscription', prodAnna))).toEqual(
      topics.map((TopicArn) => ({ Protocol: 'email', Endpoint: mail, TopicArn })),
    );
    expect(prodAnna.Resources['ApiStage']?.Properties).toMatchObject({
      DefaultRouteSettings: { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 30 },
    });
    for (const [id, properties] of Object.entries(propertiesOf('AWS::DynamoDB::GlobalTable', prodAnna)))
      expect(properties, id).toMatchObject({ WriteOnDemandThroughputSettings: { MaxWriteRequestUnits: 400 } });
  });

  test('X-Ray traces the functions, and their roles may write traces, only if the setting `tracing` is on', () => {
    const expected = structuredClone(prod);
    const write = { Action: ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'], Effect: 'Allow', Resource: '*' };
    for (const name of Object.keys(ofType('AWS::Lambda::Function', expected))) {
      Object.assign(expected.Resources[name]?.Properties ?? {}, { TracingConfig: { Mode: 'Active' } });
      const { Policies = [expected.Resources[`${name}RoleDefaultPolicy`]?.Properties] } =
        expected.Resources[`${name}Role`]?.Properties ?? {};
      for (const { PolicyDocument } of Policies as Policy[]) PolicyDocument.Statement.splice(1, 0, write);
    }
    expect(plainTemplateOf({ ...kinds.prod, tracing: 'on' })).toEqual(expected);
    expect(JSON.stringify([prod, dev])).not.toMatch(/TracingConfig|xray/);
  });

  test('the stack has the tags service and stage, and those of the setting `tags`, which do not change the template and so deploy no new function versions', () => {
    const read = (stack: Stack) => {
      const { tags, template } = (stack.node.root as App).synth().getStackArtifact(stack.artifactId);
      return { tags, template };
    };
    const { tags, template } = withStack({ stage: 'dev-anna', tags: 'owner=Team A,cost-center=42' }, read);
    const untagged = withStack({ stage: 'dev-anna' }, read);
    const service = expect.stringMatching(/^[a-z][a-z\d-]*$/);
    // CDK gives CloudFormation the tags together with the template: they are in the cloud assembly.
    expect(tags).toEqual({ service, stage: 'dev-anna', owner: 'Team A', 'cost-center': '42' });
    // With CDK's hashes, because they name the versions and their roles.
    expect(template).toEqual(untagged.template);
  });

  test('each table is on-demand, with point-in-time recovery, and with a write unit for each request that the throttle lets through', () => {
    const recovery = { PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 35 };
    for (const [id, properties] of Object.entries(tables)) {
      expect(properties, id).toMatchObject({
        BillingMode: 'PAY_PER_REQUEST',
        Replicas: [{ DeletionProtectionEnabled: true, PointInTimeRecoverySpecification: recovery }],
        WriteOnDemandThroughputSettings: { MaxWriteRequestUnits: 1_500 },
      });
    }
    expect(tables[firstTable], `the only key that ${createOperation.id} uses`).toMatchObject({
      KeySchema: [{ AttributeName: tableKey.name, KeyType: 'HASH' }],
      AttributeDefinitions: expect.arrayContaining([{ AttributeName: tableKey.name, AttributeType: tableKey.type }]),
    });
  });

  test('AWS mails alarmEmail if the account spends more than the budget, or is forecast to; each address has a budget with another name', () => {
    const over = (NotificationType: string) => ({
      Notification: { NotificationType, ComparisonOperator: 'GREATER_THAN', Threshold: 100 },
      Subscribers: [{ SubscriptionType: 'EMAIL', Address: mail }],
    });
    const template = plainTemplateOf({ ...kinds.devWithIssuer, alarmEmail: mail, budget: '50' });
    const BudgetName = expect.stringMatching(/^[\w-]+-[\da-f]{8}$/);
    const [budget] = Object.values(propertiesOf('AWS::Budgets::Budget', template));
    expect(budget).toEqual({
      Budget: { BudgetName, BudgetType: 'COST', TimeUnit: 'MONTHLY', BudgetLimit: { Amount: 50, Unit: 'USD' } },
      NotificationsWithSubscribers: [over('ACTUAL'), over('FORECASTED')],
    });
    const nameFor = (address: string) =>
      Object(new AccountBudget(emptyStack(), 'Budget', 50, address).budget).budgetName;
    expect(nameFor('you@a.example')).not.toBe(nameFor(mail));
    expect(ofType('AWS::Budgets::Budget', prodAnna)).toEqual({});
  });

  test.each([
    [kinds.prodWithIssuer, true],
    [kinds.devWithIssuer, false],
  ])('only a stack of stage prod has termination protection: %j', (context, isProtected) => {
    expect(withStack(context, (stack) => stack.terminationProtection)).toBe(isProtected);
  });
};
