/**
 * Tests how the settings change the stack. What all stacks have in common is tested elsewhere, only on stage `prod`.
 */
import { Stage } from 'aws-cdk-lib';
import { expect, test } from 'vitest';
import { operations } from '../../functions/generated/contract.ts';
import { externalIssuer, kinds, templateOf, withStack } from '../kit/stacks.ts';
import { byFunction, functionNames, ofType, propertiesOf, ref, type Template, withoutHashes } from '../kit/template.ts';

/**
 * Returns, by path, the values of `changed` that differ from those of `original`. For a path at which `changed` has no
 * value, returns `absent`.
 */
const differences = (original: unknown, changed: unknown, path: string[] = []): Record<string, unknown> => {
  if (original === changed) return {};
  if (!(original instanceof Object && changed instanceof Object)) return { [path.join('.')]: changed ?? 'absent' };
  const [before, after] = [original, changed] as [Record<string, unknown>, Record<string, unknown>];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.assign({}, ...keys.map((key) => differences(before[key], after[key], [...path, key])));
};

/**
 * Returns a template with STACK in place of everything that matches `name`: the stack's name (`PlantStore-dev`) and its
 * form in logical ids, which contain no dash (`PlantStoredev`).
 */
const templateFor = (context: Record<string, string>, name: RegExp): Template =>
  JSON.parse(JSON.stringify(withoutHashes(templateOf(context).toJSON())).replaceAll(name, 'STACK'));

const prodName = /PlantStore/g;
const devName = /PlantStore-?dev/g;
const annaName = /PlantStore-?dev-?anna/g;
const templates = {
  prod: templateFor(kinds.prod, prodName),
  prodWithIssuer: templateFor(kinds.prodWithIssuer, prodName),
  dev: templateFor(kinds.dev, devName),
  devWithIssuer: templateFor(kinds.devWithIssuer, devName),
  anna: templateFor({ stage: 'dev-anna' }, annaName),
};

/**
 * How a stack of stage `dev` differs from one of stage `prod`: nothing outlives the dev stack, and a new version
 * immediately gets all requests, without a smoke test.
 */
const devDiffers = {
  ...byFunction((name) => [
    ...['CurrentVersion', 'Role'].flatMap((part): [string, unknown][] => [
      [`Resources.${name}${part}.DeletionPolicy`, 'Delete'],
      [`Resources.${name}${part}.UpdateReplacePolicy`, 'Delete'],
    ]),
    [`Resources.${name}Live.DependsOn`, 'absent'],
    [`Resources.${name}Live.UpdatePolicy`, 'absent'],
    [`Resources.${name}RollOut`, 'absent'],
    [`Resources.${name}RollOutApplication`, 'absent'],
    [`Resources.${name}RollOutRole`, 'absent'],
    [`Resources.${name}RollOutRoleDefaultPolicy`, 'absent'],
  ]),
  ...Object.fromEntries(
    ['', 'Logs', 'Role', 'RoleDefaultPolicy'].map((part) => [`Resources.SmokeTest${part}`, 'absent']),
  ),
  ...Object.fromEntries(
    [...functionNames.map((name) => `${name}Logs`), 'ApiAccessLog'].flatMap((log) => [
      [`Resources.${log}.DeletionPolicy`, 'Delete'],
      [`Resources.${log}.UpdateReplacePolicy`, 'Delete'],
      [`Resources.${log}.Properties.RetentionInDays`, 7],
    ]),
  ),
  'Resources.Plants.DeletionPolicy': 'Delete',
  'Resources.Plants.UpdateReplacePolicy': 'Delete',
  'Resources.Plants.Properties.Replicas.0.DeletionProtectionEnabled': false,
  // A dev stage must leave nothing behind, but with point-in-time recovery, DynamoDB would keep a backup of the deleted
  // table for 35 days.
  'Resources.Plants.Properties.Replicas.0.PointInTimeRecoverySpecification': 'absent',
  // All log groups with this prefix share one entry in the account's log policy, which saves room: the size of the
  // policy is limited.
  'Resources.ApiAccessLog.Properties.LogGroupName': '/aws/vendedlogs/STACK-AccessLog',
};

/** How a stack with an external issuer differs from one without: the authorizer trusts the external issuer. */
const externalIssuerDiffers = {
  'Resources.Authorizer.Properties.Environment.Variables.AUDIENCE': externalIssuer.audience,
  'Resources.Authorizer.Properties.Environment.Variables.ISSUER': externalIssuer.issuer,
  'Resources.Authorizer.Properties.Environment.Variables.JWKS_URI': externalIssuer.jwksUri,
  'Resources.SmokeTest.Properties.Environment.Variables.ISSUER': externalIssuer.issuer,
  'Outputs.ClientId': 'absent',
  'Outputs.TokenUrl': 'absent',
  'Outputs.UserPoolId': 'absent',
  'Outputs.Issuer': { Value: externalIssuer.issuer },
};

/** A dev stack has its user pool only while it is the trusted issuer, and deletes it with the stack. */
const devPool = ['', 'Api', 'Domain', 'Machine'].map((part) => `Resources.TokenIssuerPool${part}`);
const devPoolDiffers = {
  ...Object.fromEntries(
    devPool.flatMap((resource) => [
      [`${resource}.DeletionPolicy`, 'absent'],
      [`${resource}.UpdateReplacePolicy`, 'absent'],
    ]),
  ),
  'Resources.TokenIssuerPool.DeletionPolicy': 'Delete',
  'Resources.TokenIssuerPool.UpdateReplacePolicy': 'Delete',
  'Resources.TokenIssuerPool.Properties.DeletionProtection': 'INACTIVE',
};
const devPoolAbsent = Object.fromEntries(devPool.map((resource) => [resource, 'absent']));

test('with stage dev or an external issuer, the template differs from that of stage prod only in the values that this file lists', () => {
  const { prod, prodWithIssuer, dev, devWithIssuer } = templates;
  expect({
    'dev from prod': differences(prod, dev),
    'dev from prod, both with an external issuer': differences(prodWithIssuer, devWithIssuer),
    'prod with an external issuer from prod': differences(prod, prodWithIssuer),
  }).toEqual({
    'dev from prod': { ...devDiffers, ...devPoolDiffers },
    'dev from prod, both with an external issuer': { ...devDiffers, ...devPoolAbsent },
    'prod with an external issuer from prod': externalIssuerDiffers,
  });
});

test('the stacks of stage dev-anna and stage dev differ only in their names', () => {
  expect(differences(templates.dev, templates.anna)).toEqual({});
});

/**
 * Resource names that may be the same in two stacks, because they must be unique only in an API, namespace, user pool,
 * role or function.
 */
const inside = [
  ...['ApiGatewayV2::Authorizer Name', 'ApiGatewayV2::Stage StageName', 'CloudWatch::Alarm MetricName'],
  ...['Cognito::UserPoolResourceServer Name', 'IAM::Policy PolicyName', 'Lambda::Alias Name'],
];

/** Returns, as JSON, the names that the template sets for resources. CloudFormation makes up names for all others. */
const namesIn = (stage: string): string[] =>
  Object.values(withoutHashes(templateOf({ ...kinds.prod, stage }).toJSON()).Resources).flatMap(
    ({ Type, Properties = {} }) =>
      Object.entries(Properties).flatMap(([key, value]) => {
        const [what, name] = [`${Type.replace('AWS::', '')} ${key}`, JSON.stringify(value)];
        const isReference = /^\{"(Ref|Fn::GetAtt)"/.test(name);
        return key.endsWith('Name') && !isReference && !inside.includes(what) ? [`${what}: ${name}`] : [];
      }),
  );

test('no two stacks in one account give their resources the same name', () => {
  const names = ['dev-anna', 'dev-ben', 'dev', 'prod'].flatMap((stage) => [...new Set(namesIn(stage))]);
  expect(names).toContain('Logs::LogGroup LogGroupName: "/aws/vendedlogs/PlantStore-dev-anna-AccessLog"');
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

const keptOf = ({ Resources }: Template) =>
  Object.entries(Resources).flatMap(([name, { DeletionPolicy = 'Delete', UpdateReplacePolicy = DeletionPolicy }]) =>
    DeletionPolicy === 'Delete' && UpdateReplacePolicy === 'Delete' ? [] : [[name, DeletionPolicy]],
  );

test('the table, the user pool, the logs, and the function versions with their roles outlive a prod stack; nothing outlives a dev stack', () => {
  expect(Object.fromEntries(keptOf(templates.prod))).toEqual({
    Plants: 'Retain',
    TokenIssuerPool: 'Retain',
    // `RetainExceptOnCreate`, because `Retain` would leave these resources behind whenever creating the stack fails.
    TokenIssuerPoolApi: 'RetainExceptOnCreate',
    TokenIssuerPoolDomain: 'RetainExceptOnCreate',
    TokenIssuerPoolMachine: 'RetainExceptOnCreate',
    ApiAccessLog: 'RetainExceptOnCreate',
    SmokeTestLogs: 'RetainExceptOnCreate',
    ...byFunction((name) => [
      [`${name}Logs`, 'RetainExceptOnCreate'],
      [`${name}CurrentVersion`, 'RetainExceptOnCreate'],
      [`${name}Role`, 'RetainExceptOnCreate'],
    ]),
  });
  expect([...keptOf(templates.dev), ...keptOf(templates.anna)]).toEqual([]);
});

test('the outputs of a stack with an external issuer include the URL of the service, all scopes of the contract and the issuer', () => {
  const { Outputs } = templates.prodWithIssuer;
  expect(Object.keys(Outputs).sort()).toEqual(['ApiUrl', 'DashboardUrl', 'Issuer', 'Scope', 'TableName']);
  expect(Outputs).toMatchObject({ TableName: { Value: ref('Plants') } });
  const scopes = String(Outputs['Scope']?.Value).split(' ');
  expect(scopes).toContain('plants/create');
  expect(scopes.sort()).toEqual([...new Set(Object.values(operations).flatMap((each) => each.scopes))].sort());
});

test('alarms are mailed to the address that alarmEmail in the CDK context sets', () => {
  expect(ofType('AWS::SNS::Subscription', templates.prod)).toEqual({});
  const template = withoutHashes(templateOf({ ...kinds.prod, alarmEmail: 'me@a.example' }).toJSON());
  const [subscription, ...others] = Object.values(propertiesOf('AWS::SNS::Subscription', template));
  expect(subscription).toEqual({ Protocol: 'email', Endpoint: 'me@a.example', TopicArn: ref('MonitoringAlarms') });
  expect(others).toEqual([]);
});

test("rateLimit and burstLimit in the CDK context set the API's throttle", () => {
  const template = withoutHashes(templateOf({ ...kinds.prod, rateLimit: '20', burstLimit: '30' }).toJSON());
  expect(template.Resources['ApiStage']?.Properties).toMatchObject({
    DefaultRouteSettings: { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 30 },
  });
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
  expect(differences(expected, templateFor({ ...kinds.prod, tracing: 'on' }, prodName))).toEqual({});
  expect(JSON.stringify(templates)).not.toMatch(/TracingConfig|xray/);
});

/** Returns the tags that the CDK gives CloudFormation together with the template: they are in the cloud assembly. */
const tagsOf = (context: Record<string, string>) =>
  withStack(context, (stack) => Stage.of(stack)?.synth().getStackArtifact(stack.artifactId).tags);

test('the stack has the tags service and stage, and the tag owner if the CDK context has an owner', () => {
  expect(tagsOf(kinds.prod)).toEqual({ service: 'plant-store', stage: 'prod' });
  expect(tagsOf({ stage: 'dev-anna', owner: 'Team A' })).toEqual({
    service: 'plant-store',
    stage: 'dev-anna',
    owner: 'Team A',
  });
});

test('the tags do not change the template, so a new owner deploys no new function versions', () => {
  const ofTeamA = templateOf({ owner: 'Team A' }).toJSON();
  expect(templateOf({ owner: 'Team B' }).toJSON()).toEqual(ofTeamA);
  expect(templateOf({}).toJSON()).toEqual(ofTeamA);
  expect(JSON.stringify(ofTeamA)).not.toContain('"Tags":');
});
