import { readFileSync } from 'node:fs';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { contract } from '../kit/contract.ts';
import { externalIssuer, kinds, templateOf } from '../kit/stacks.ts';

const templates = {
  prod: templateOf(kinds.prod),
  prodWithIssuer: templateOf(kinds.prodWithIssuer),
  dev: templateOf(kinds.dev),
  devWithIssuer: templateOf(kinds.devWithIssuer),
};

const runbook = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');

type Resource = { Type: string; Properties: Record<string, never>; DeletionPolicy?: string; UpdatePolicy?: unknown };

const all = (template: Template, type: string, properties?: object): [logicalId: string, resource: Resource][] =>
  Object.entries(template.findResources(type, properties && { Properties: Match.objectLike(properties) })) as [
    string,
    Resource,
  ][];

const only = (template: Template, type: string, properties?: object): [logicalId: string, resource: Resource] => {
  const found = all(template, type, properties);
  expect(found).toHaveLength(1);
  return found[0] as [string, Resource];
};

/** The one resource of the type whose logical id begins so. */
const named = (template: Template, type: string, name: string): [logicalId: string, resource: Resource] => {
  const found = all(template, type).filter(([id]) => new RegExp(`^${name}[0-9A-F]{8}$`).test(id));
  expect(found).toHaveLength(1);
  return found[0] as [string, Resource];
};

const functionNamed = (template: Template, name: string): string => named(template, 'AWS::Lambda::Function', name)[0];
const aliasOf = (template: Template, name: string): string => named(template, 'AWS::Lambda::Alias', `${name}Live`)[0];
const tableOf = (template: Template): string => only(template, 'AWS::DynamoDB::GlobalTable')[0];

const arn = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
const functions = ['CreatePlant', 'Authorizer'];

const soon = (threshold: number): string => `GreaterThanThreshold ${threshold}, 1 of 1 periods of 300 s`;
const lasting = (threshold: number): string => `GreaterThanThreshold ${threshold}, 3 of 3 periods of 300 s`;
const atOnce = 'GreaterThanThreshold 0, 1 of 1 periods of 60 s';

const functionAlarms = (name: string, milliseconds: number): Record<string, string[]> => {
  const alias = `FunctionName=${name}, Resource=${name}:live`;
  return {
    [`${name}Errors`]: [`m1: Sum of AWS/Lambda Errors, ${alias}`, atOnce],
    [`${name}Throttles`]: [`m1: Sum of AWS/Lambda Throttles, ${alias}`, soon(0)],
    [`${name}Duration`]: [`m1: Maximum of AWS/Lambda Duration, ${alias}`, soon(milliseconds)],
  };
};

/** What each alarm watches, a line for each metric, and when it goes off. STACK is the stack's name. */
const alarms: Record<string, string[]> = {
  Api5xxRate: [
    'IF(all > 0, 100 * FILL(answers5xx, 0) / all, 0)',
    'answers5xx: Sum of AWS/ApiGateway 5xx, ApiId=Api',
    'all: Sum of AWS/ApiGateway Count, ApiId=Api',
    soon(1),
  ],
  Api4xxRate: [
    'IF(all > 0, 100 * FILL(answers4xx, 0) / all, 0)',
    'answers4xx: Sum of AWS/ApiGateway 4xx, ApiId=Api',
    'all: Sum of AWS/ApiGateway Count, ApiId=Api',
    lasting(25),
  ],
  ApiLatencyP99: ['m1: p99 of AWS/ApiGateway Latency, ApiId=Api, Stage=$default', lasting(2_500)],
  ...functionAlarms('CreatePlant', 4_000),
  CreatePlantFaults: ['Sum of STACK Faults', atOnce],
  ...functionAlarms('Authorizer', 7_200),
  AuthorizerKeysNotFetched: ['Sum of STACK KeysNotFetched', atOnce],
  Concurrency: ['Maximum of AWS/Lambda ConcurrentExecutions', soon(800)],
  ConflictRate: [
    'IF(refused > 0, 100 * refused / (refused + FILL(written, 0)), 0)',
    'refused: Sum of AWS/DynamoDB ConditionalCheckFailedRequests, TableName=Plants',
    'written: SampleCount of AWS/DynamoDB SuccessfulRequestLatency, Operation=PutItem, TableName=Plants',
    lasting(20),
  ],
  TableSystemErrors: ['Sum of AWS/DynamoDB SystemErrors, Operation=PutItem, TableName=Plants', soon(0)],
  TableWriteThrottles: [
    'FILL(writeThrottles,0)',
    'writeThrottles: Sum of AWS/DynamoDB WriteThrottleEvents, TableName=Plants',
    soon(0),
  ],
};

/** Without the stack's. */
const alarmName = ({ Properties }: Resource): string =>
  String(Properties['AlarmName']).replace(/^PlantStore(-dev)?-/, '');

type MetricOf = { Namespace: string; MetricName: string; Dimensions?: { Name: string; Value: unknown }[] };
type AlarmProperties = MetricOf & {
  Statistic: string;
  Period: number;
  ComparisonOperator: string;
  Threshold: number;
  DatapointsToAlarm: number;
  EvaluationPeriods: number;
  Metrics?: { Id: string; Expression?: string; MetricStat?: { Metric: MetricOf; Stat: string; Period: number } }[];
};

/** An alarm as lines of `alarms`; logical ids without their hashes. */
const watched = ({ Properties }: Resource): string[] => {
  const alarm = Properties as unknown as AlarmProperties;
  const plain = (value: unknown): string =>
    JSON.stringify(value)
      .replaceAll(/{"Ref":"(\w+)[0-9A-F]{8}"}/g, '$1')
      .replaceAll(/{"Fn::Join":\["",\[(\w+),"(:live)"\]\]}/g, '$1$2')
      .replaceAll('"', '');
  const line = (stat: string, { Namespace, MetricName, Dimensions = [] }: MetricOf): string =>
    [`${stat} of ${Namespace} ${MetricName}`, ...Dimensions.map(({ Name, Value }) => `${Name}=${plain(Value)}`)].join(
      ', ',
    );
  const metrics = alarm.Metrics?.map(({ Id, Expression, MetricStat }) =>
    MetricStat === undefined ? String(Expression) : `${Id}: ${line(MetricStat.Stat, MetricStat.Metric)}`,
  );
  const period = alarm.Metrics?.find(({ MetricStat }) => MetricStat)?.MetricStat?.Period ?? alarm.Period;
  const { ComparisonOperator, Threshold, DatapointsToAlarm, EvaluationPeriods } = alarm;
  return [
    ...(metrics ?? [line(alarm.Statistic, alarm)]),
    `${ComparisonOperator} ${Threshold}, ${DatapointsToAlarm} of ${EvaluationPeriods} periods of ${period} s`,
  ];
};

describe.each(Object.entries(templates))('the stack: %s', (kind, template) => {
  const isProd = kind.startsWith('prod');
  const hasIssuer = kind.endsWith('WithIssuer');

  test('has one table on demand, with the number id as its only key, that can be restored', () => {
    const [, { Properties }] = only(template, 'AWS::DynamoDB::GlobalTable');
    expect(Properties).toMatchObject({
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
      BillingMode: 'PAY_PER_REQUEST',
      Replicas: [
        {
          PointInTimeRecoverySpecification: {
            PointInTimeRecoveryEnabled: true,
            RecoveryPeriodInDays: isProd ? 35 : 1,
          },
        },
      ],
    });
  });

  test('keeps table, logs and older versions of prod when it goes, and nothing of dev', () => {
    const [, { Properties }] = only(template, 'AWS::DynamoDB::GlobalTable');
    expect(Properties).toMatchObject({ Replicas: [{ DeletionProtectionEnabled: isProd }] });
    const kept = Object.values(template.toJSON()['Resources'] as Record<string, Resource>)
      .filter(({ DeletionPolicy = 'Delete' }) => DeletionPolicy !== 'Delete')
      .map(({ Type, DeletionPolicy }) => `${Type} ${DeletionPolicy}`);
    // A log group of a stack whose making failed would be left over at every try.
    const log = 'AWS::Logs::LogGroup RetainExceptOnCreate';
    const version = 'AWS::Lambda::Version RetainExceptOnCreate';
    const table = 'AWS::DynamoDB::GlobalTable Retain';
    expect(kept.sort()).toEqual(isProd ? [table, version, version, log, log, log] : []);
  });

  test('has two functions on Node 24 and arm64, traced, logging JSON into a log group of their own', () => {
    template.resourceCountIs('AWS::Lambda::Function', 2);
    for (const name of functions) {
      const [logs] = named(template, 'AWS::Logs::LogGroup', `${name}Logs`);
      expect(named(template, 'AWS::Lambda::Function', name)[1].Properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
        MemorySize: 1_769,
        TracingConfig: { Mode: 'Active' },
        LoggingConfig: {
          LogFormat: 'JSON',
          ApplicationLogLevel: 'INFO',
          SystemLogLevel: 'INFO',
          LogGroup: { Ref: logs },
        },
      });
    }
  });

  test('reserves no concurrency, which would cap a function and take as much from all others of the account', () => {
    expect(all(template, 'AWS::Lambda::Function', { ReservedConcurrentExecutions: Match.anyValue() })).toEqual([]);
  });

  test('has log groups that end', () => {
    template.resourceCountIs('AWS::Logs::LogGroup', 3);
    template.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: isProd ? 90 : 7 });
  });

  test('tells createPlant its table, and nothing else', () => {
    const [, { Properties }] = named(template, 'AWS::Lambda::Function', 'CreatePlant');
    expect(Properties['Environment']).toEqual({ Variables: { TABLE_NAME: { Ref: tableOf(template) } } });
  });

  const assumedBy = (Service: string) => ({
    Statement: [{ Action: 'sts:AssumeRole', Effect: 'Allow', Principal: { Service } }],
    Version: '2012-10-17',
  });

  /** The whole of what a role may do, by the role's name. */
  const mayDo = (name: string): unknown => {
    const [role] = named(template, 'AWS::IAM::Role', name);
    const [, { Properties }] = named(template, 'AWS::IAM::Policy', `${name}DefaultPolicy`);
    expect(Properties['Roles']).toEqual([{ Ref: role }]);
    return Properties['PolicyDocument'];
  };

  test('gives each function a role that may do what it does: its log, its trace, createPlant its table', () => {
    for (const name of functions) {
      const [role, { Properties }] = named(template, 'AWS::IAM::Role', `${name}Role`);
      expect(Properties).toEqual({ AssumeRolePolicyDocument: assumedBy('lambda.amazonaws.com') });
      expect(named(template, 'AWS::Lambda::Function', name)[1].Properties['Role']).toEqual(arn(role));
      const logs = arn(named(template, 'AWS::Logs::LogGroup', `${name}Logs`)[0]);
      const put = { Action: 'dynamodb:PutItem', Effect: 'Allow', Resource: arn(tableOf(template)) };
      expect(mayDo(`${name}Role`)).toEqual({
        Statement: [
          { Action: ['logs:CreateLogStream', 'logs:PutLogEvents'], Effect: 'Allow', Resource: logs },
          { Action: ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'], Effect: 'Allow', Resource: '*' },
          ...(name === 'CreatePlant' ? [put] : []),
        ],
        Version: '2012-10-17',
      });
    }
  });

  test('gives CodeDeploy a role for each function in prod: to shift its alias, and to see alarms', () => {
    template.resourceCountIs('AWS::IAM::Role', isProd ? 4 : 2);
    template.resourceCountIs('AWS::IAM::Policy', isProd ? 4 : 2);
    if (!isProd) return;
    for (const name of functions) {
      const [role, { Properties }] = named(template, 'AWS::IAM::Role', `${name}RollOutRole`);
      expect(Properties).toEqual({ AssumeRolePolicyDocument: assumedBy('codedeploy.amazonaws.com') });
      const [, group] = named(template, 'AWS::CodeDeploy::DeploymentGroup', `${name}RollOut`);
      expect(group.Properties['ServiceRoleArn']).toEqual(arn(role));
      expect(mayDo(`${name}RollOutRole`)).toEqual({
        Statement: [
          {
            Action: ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig', 'lambda:UpdateAlias'],
            Effect: 'Allow',
            Resource: [arn(functionNamed(template, name)), { Ref: aliasOf(template, name) }],
          },
          { Action: 'cloudwatch:DescribeAlarms', Effect: 'Allow', Resource: '*' },
        ],
        Version: '2012-10-17',
      });
    }
  });

  test('has no managed policy, and no * in an action', () => {
    expect(JSON.stringify(template.toJSON())).not.toContain('ManagedPolicyArns');
    const actions = JSON.stringify(template.toJSON()).match(/"(Not)?Action":("[^"]*"|\[[^\]]*\])/g) ?? [];
    expect(actions.length).toBeGreaterThan(4);
    expect(actions.filter((action) => action.includes('*') || action.includes('Not'))).toEqual([]);
  });

  test('has the routes of schemas/openapi.yaml, and no other', () => {
    const operations = Object.entries(contract.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(all(template, 'AWS::ApiGatewayV2::Route').map(([, route]) => route.Properties['RouteKey'])).toEqual(
      operations,
    );
  });

  test('has every route behind the authorizer, and POST /plants before the alias of createPlant', () => {
    const [authorizerId] = only(template, 'AWS::ApiGatewayV2::Authorizer');
    template.allResourcesProperties('AWS::ApiGatewayV2::Route', {
      AuthorizationType: 'CUSTOM',
      AuthorizerId: { Ref: authorizerId },
    });
    const [integrationId, integration] = only(template, 'AWS::ApiGatewayV2::Integration');
    expect(integration.Properties).toMatchObject({
      IntegrationType: 'AWS_PROXY',
      PayloadFormatVersion: '2.0',
      IntegrationUri: { Ref: aliasOf(template, 'CreatePlant') },
    });
    const [, route] = only(template, 'AWS::ApiGatewayV2::Route', { RouteKey: 'POST /plants' });
    expect(route.Properties['Target']).toEqual({ 'Fn::Join': ['', ['integrations/', { Ref: integrationId }]] });
  });

  test('asks the alias of the authorizer at every request, by the Authorization header, for a simple answer', () => {
    const [, { Properties }] = only(template, 'AWS::ApiGatewayV2::Authorizer');
    expect(Properties).toMatchObject({
      AuthorizerType: 'REQUEST',
      AuthorizerPayloadFormatVersion: '2.0',
      EnableSimpleResponses: true,
      AuthorizerResultTtlInSeconds: 0,
      IdentitySource: ['$request.header.Authorization'],
      AuthorizerUri: {
        'Fn::Join': [
          '',
          [
            'arn:',
            { Ref: 'AWS::Partition' },
            ':apigateway:',
            { Ref: 'AWS::Region' },
            ':lambda:path/2015-03-31/functions/',
            { Ref: aliasOf(template, 'Authorizer') },
            '/invocations',
          ],
        ],
      },
    });
  });

  test.each(functions)('lets this API, and nobody else, invoke %s by its alias', (name) => {
    const [apiId] = only(template, 'AWS::ApiGatewayV2::Api');
    template.resourceCountIs('AWS::Lambda::Permission', 2);
    const [, permission] = only(template, 'AWS::Lambda::Permission', {
      FunctionName: { Ref: aliasOf(template, name) },
    });
    expect(permission.Properties).toMatchObject({
      Action: 'lambda:InvokeFunction',
      Principal: 'apigateway.amazonaws.com',
    });
    expect(JSON.stringify(permission.Properties['SourceArn'])).toContain(JSON.stringify({ Ref: apiId }));
  });

  test.each(functions)('rolls %s out in steps in prod, rolled back by alarms of its own', (name) => {
    const [, alias] = named(template, 'AWS::Lambda::Alias', `${name}Live`);
    const functionId = functionNamed(template, name);
    expect(alias.Properties).toMatchObject({ Name: 'live', FunctionName: { Ref: functionId } });
    template.resourceCountIs('AWS::CodeDeploy::DeploymentGroup', isProd ? 2 : 0);
    expect(alias.UpdatePolicy === undefined).toBe(!isProd);
    if (!isProd) return;
    const [groupId, group] = named(template, 'AWS::CodeDeploy::DeploymentGroup', `${name}RollOut`);
    expect(alias.UpdatePolicy).toMatchObject({
      CodeDeployLambdaAliasUpdate: { DeploymentGroupName: { Ref: groupId } },
    });
    expect(group.Properties).toMatchObject({
      DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent5Minutes',
      AutoRollbackConfiguration: { Enabled: true, Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM'] },
      AlarmConfiguration: { Enabled: true },
    });
    const { Alarms } = group.Properties['AlarmConfiguration'] as unknown as { Alarms: { Name: { Ref: string } }[] };
    expect(Alarms.map(({ Name }) => alarmName(template.toJSON()['Resources'][Name.Ref]))).toEqual(
      name === 'CreatePlant' ? ['CreatePlantErrors', 'CreatePlantFaults'] : ['AuthorizerErrors'],
    );
  });

  test('gives the authorizer less time than API Gateway does and more than the keys take, createPlant more than its limit', () => {
    const timeout = (name: string): unknown => named(template, 'AWS::Lambda::Function', name)[1].Properties['Timeout'];
    expect(timeout('Authorizer')).toBeLessThan(10);
    expect(timeout('Authorizer')).toBeGreaterThan(3);
    expect(timeout('CreatePlant')).toBeGreaterThan(2.5);
    expect(timeout('CreatePlant')).toBeLessThan(30);
  });

  test('serves the API at its root, throttled and logged, and to no browser of another origin', () => {
    const [, { Properties }] = only(template, 'AWS::ApiGatewayV2::Stage');
    expect(Properties).toMatchObject({
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 500, ThrottlingBurstLimit: 1_000, DetailedMetricsEnabled: true },
      AccessLogSettings: { DestinationArn: arn(named(template, 'AWS::Logs::LogGroup', 'ApiAccessLog')[0]) },
    });
    const [, api] = only(template, 'AWS::ApiGatewayV2::Api');
    expect(api.Properties).toMatchObject({ Name: isProd ? 'PlantStore' : 'PlantStore-dev', ProtocolType: 'HTTP' });
    expect(api.Properties['CorsConfiguration']).toBeUndefined();
  });

  test('logs of a request what helps, and no header but the user agent', () => {
    const { AccessLogSettings } = only(template, 'AWS::ApiGatewayV2::Stage')[1].Properties;
    const { Format } = AccessLogSettings as unknown as { Format: string };
    expect(JSON.parse(Format)).toEqual({
      requestId: '$context.requestId',
      time: '$context.requestTime',
      sourceIp: '$context.identity.sourceIp',
      method: '$context.httpMethod',
      route: '$context.routeKey',
      status: '$context.status',
      latency: '$context.responseLatency',
      integrationStatus: '$context.integrationStatus',
      integrationError: '$context.integrationErrorMessage',
      integrationRequestId: '$context.integration.requestId',
      authorizerError: '$context.authorizer.error',
      subject: '$context.authorizer.sub',
      responseLength: '$context.responseLength',
      userAgent: '$context.identity.userAgent',
    });
  });

  test('tells where it is, and no secret', () => {
    const [apiId] = only(template, 'AWS::ApiGatewayV2::Api');
    template.hasOutput('ApiUrl', { Value: { 'Fn::GetAtt': [apiId, 'ApiEndpoint'] } });
    template.hasOutput('TableName', { Value: { Ref: tableOf(template) } });
    template.hasOutput('Scope', { Value: 'plants/create' });
    const common = ['ApiUrl', 'DashboardUrl', 'Scope', 'TableName'];
    const issuer = hasIssuer ? ['Issuer'] : ['ClientId', 'TokenUrl', 'UserPoolId'];
    expect(Object.keys(template.toJSON()['Outputs']).sort()).toEqual([...common, ...issuer].sort());
    expect(JSON.stringify(template.toJSON())).not.toContain('ClientSecret');
  });

  test('has an alarm for each section of the runbook, and a section for each alarm', () => {
    const [, section = ''] = /^## The alarms$(.*?)^## /ms.exec(runbook) ?? [];
    const sections = [...section.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
    expect(sections.sort()).toEqual(Object.keys(alarms).sort());
    const names = all(template, 'AWS::CloudWatch::Alarm').map(([, alarm]) => alarmName(alarm));
    expect(names.sort()).toEqual(Object.keys(alarms).sort());
  });

  test.each(Object.entries(alarms))('has the alarm %s, which watches what it should', (name, expected) => {
    const [, alarm] = all(template, 'AWS::CloudWatch::Alarm').find(([, each]) => alarmName(each) === name) ?? [];
    const stackName = isProd ? 'PlantStore' : 'PlantStore-dev';
    expect(watched(alarm as Resource)).toEqual(expected.map((line) => line.replace('STACK', stackName)));
  });

  test('sends every alarm, and its end, to its topic, into which CloudWatch may write', () => {
    const [topic] = only(template, 'AWS::SNS::Topic');
    const actions = { ActionsEnabled: true, AlarmActions: [{ Ref: topic }], OKActions: [{ Ref: topic }] };
    template.allResourcesProperties('AWS::CloudWatch::Alarm', actions);
    template.allResourcesProperties('AWS::CloudWatch::Alarm', { TreatMissingData: 'notBreaching' });
    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      Topics: [{ Ref: topic }],
      PolicyDocument: {
        Statement: [
          { Effect: 'Deny', Action: 'sns:Publish', Condition: { Bool: { 'aws:SecureTransport': 'false' } } },
          {
            Effect: 'Allow',
            Action: 'sns:Publish',
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Resource: { Ref: topic },
            Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
          },
        ],
      },
    });
  });

  test('has one dashboard in the region, which shows all alarms and what was logged', () => {
    const [, { Properties }] = only(template, 'AWS::CloudWatch::Dashboard');
    const namespace = isProd ? 'PlantStore' : 'PlantStore-dev';
    expect(Properties['DashboardName']).toEqual({ 'Fn::Join': ['', [`${namespace}-Health-`, { Ref: 'AWS::Region' }]] });
    const body = JSON.stringify(Properties['DashboardBody']);
    for (const [id] of all(template, 'AWS::CloudWatch::Alarm')) expect(body).toContain(JSON.stringify(arn(id)));
    const parts = (Properties['DashboardBody'] as unknown as { 'Fn::Join': [string, unknown[]] })['Fn::Join'][1];
    const text = parts.map((part) => (typeof part === 'string' ? part : 'X')).join('');
    const { widgets } = JSON.parse(text) as { widgets: { properties: { title?: string; metrics?: unknown[] } }[] };
    const logged = widgets.find(({ properties }) => properties.title?.startsWith('Plants and tokens'));
    expect(logged?.properties.metrics).toMatchObject(
      [
        ['Stored', 'outcome'],
        ['Refused', 'error'],
        ['Failed', 'error'],
        ['TokensRefused', 'reason'],
      ].map(([metric, dimension]) => [
        { expression: `SEARCH('{"${namespace}","${dimension}"} MetricName="${metric}"', 'Sum', 300)` },
      ]),
    );
    expect(JSON.stringify(template.toJSON()['Outputs'].DashboardUrl)).toContain(`dashboard/${namespace}-Health-`);
  });

  test('counts log lines of the functions under the names that the runbook gives them', () => {
    const filters = all(template, 'AWS::Logs::MetricFilter').map(([, { Properties }]) => {
      const { MetricTransformations, FilterPattern, LogGroupName } = Properties as Record<string, unknown>;
      const [transformation = {}] = MetricTransformations as [Record<string, unknown>];
      const { MetricName, MetricNamespace, MetricValue, DefaultValue = 0, Dimensions = [] } = transformation;
      expect(MetricNamespace).toBe(isProd ? 'PlantStore' : 'PlantStore-dev');
      expect([MetricValue, DefaultValue]).toEqual(['1', 0]);
      const { Ref } = LogGroupName as { Ref: string };
      return [
        Ref.replace(/Logs.*/, ''),
        MetricName,
        FilterPattern,
        ...(Dimensions as { Value: string }[]).map((d) => d.Value),
      ];
    });
    const stored = ['created', 'repeated', 'stored'].map((word) => `$.message.outcome = "${word}"`).join(' || ');
    expect(filters).toEqual([
      ['CreatePlant', 'Faults', '{ $.message.outcome = "failed" && $.message.error = 50001 }'],
      ['Authorizer', 'KeysNotFetched', '{ $.message.outcome = "keys not fetched" }'],
      ['CreatePlant', 'Stored', `{ ${stored} }`, '$.message.outcome'],
      ['CreatePlant', 'Refused', '{ $.message.outcome = "refused" }', '$.message.error'],
      ['CreatePlant', 'Failed', '{ $.message.outcome = "failed" }', '$.message.error'],
      ['Authorizer', 'TokensRefused', '{ $.message.outcome = "refused" }', '$.message.reason'],
    ]);
    for (const [functionName, , pattern] of filters) {
      for (const [, outcome] of String(pattern).matchAll(/outcome = "([^"]+)"/g)) {
        expect(runbook).toMatch(new RegExp(`\\| ${functionName} *\\| \`{"outcome":"${outcome}"`));
      }
    }
  });
});

test('alarms are mailed to the address that the context names', () => {
  expect(all(templates.prod, 'AWS::SNS::Subscription')).toEqual([]);
  const template = templateOf({ alarmEmail: 'me@a.example' });
  const topic = { Ref: only(template, 'AWS::SNS::Topic')[0] };
  const [, { Properties }] = only(template, 'AWS::SNS::Subscription');
  expect(Properties).toEqual({ Protocol: 'email', Endpoint: 'me@a.example', TopicArn: topic });
});

test('the throttle is that of the context', () => {
  templateOf({ rateLimit: '20', burstLimit: '30' }).hasResourceProperties('AWS::ApiGatewayV2::Stage', {
    DefaultRouteSettings: { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 30 },
  });
});

describe('the authorizer', () => {
  const environment = (template: Template) =>
    named(template, 'AWS::Lambda::Function', 'Authorizer')[1].Properties['Environment'] as unknown;

  test('trusts the external issuer that the context names', () => {
    expect(environment(templates.prodWithIssuer)).toEqual({
      Variables: {
        ISSUER: externalIssuer.issuer,
        JWKS_URI: externalIssuer.jwksUri,
        AUDIENCE: externalIssuer.audience,
        REQUIRED_SCOPE: 'plants/create',
        SCOPE_CLAIM: 'scope',
      },
    });
    expect(all(templates.prodWithIssuer, 'AWS::Cognito::UserPool')).toEqual([]);
    templates.prodWithIssuer.hasOutput('Issuer', { Value: externalIssuer.issuer });
  });

  test("trusts the stack's own user pool otherwise, whose tokens have no audience", () => {
    const [poolId] = only(templates.prod, 'AWS::Cognito::UserPool');
    const issuer = { 'Fn::GetAtt': [poolId, 'ProviderURL'] };
    expect(environment(templates.prod)).toEqual({
      Variables: {
        ISSUER: issuer,
        JWKS_URI: { 'Fn::Join': ['', [issuer, '/.well-known/jwks.json']] },
        AUDIENCE: 'none',
        REQUIRED_SCOPE: 'plants/create',
        SCOPE_CLAIM: 'scope',
      },
    });
  });

  test('is told in so many words if an external issuer sets no audience', () => {
    expect(environment(templateOf({ ...externalIssuer, audience: 'none' }))).toMatchObject({
      Variables: { AUDIENCE: 'none' },
    });
  });

  test('looks for the scope in the claims that the context names', () => {
    expect(environment(templateOf({ ...externalIssuer, scopeClaim: 'scp,roles' }))).toMatchObject({
      Variables: { SCOPE_CLAIM: 'scp,roles' },
    });
  });

  test('asks for the scope that the context names, which the user pool then grants', () => {
    const template = templateOf({ scope: 'garden/plant' });
    expect(environment(template)).toMatchObject({ Variables: { REQUIRED_SCOPE: 'garden/plant' } });
    template.hasResourceProperties('AWS::Cognito::UserPoolResourceServer', {
      Identifier: 'garden',
      Scopes: [{ ScopeName: 'plant' }],
    });
  });
});

describe('the Cognito issuer', () => {
  const template = templates.prod;

  test('gives tokens of an hour to one machine client, by its secret, with the scope and no other', () => {
    const [serverId] = only(template, 'AWS::Cognito::UserPoolResourceServer', {
      Identifier: 'plants',
      Scopes: [{ ScopeName: 'create' }],
    });
    const [, client] = only(template, 'AWS::Cognito::UserPoolClient');
    expect(client.Properties).toMatchObject({
      AllowedOAuthFlows: ['client_credentials'],
      AllowedOAuthFlowsUserPoolClient: true,
      AllowedOAuthScopes: [{ 'Fn::Join': ['', [{ Ref: serverId }, '/create']] }],
      GenerateSecret: true,
      AccessTokenValidity: 60,
      TokenValidityUnits: { AccessToken: 'minutes' },
    });
    template.resourceCountIs('AWS::Cognito::UserPoolDomain', 1);
  });

  test('has no users', () => {
    template.hasResourceProperties('AWS::Cognito::UserPool', {
      AdminCreateUserConfig: { AllowAdminCreateUserOnly: true },
      MfaConfiguration: 'ON',
      Policies: {
        PasswordPolicy: {
          MinimumLength: 16,
          RequireLowercase: true,
          RequireNumbers: true,
          RequireSymbols: true,
          RequireUppercase: true,
        },
      },
    });
  });

  test('has an address that no other stack can have', () => {
    const [domainId, domain] = only(template, 'AWS::Cognito::UserPoolDomain');
    const uuid = { 'Fn::Select': [2, { 'Fn::Split': ['/', { Ref: 'AWS::StackId' }] }] };
    expect(domain.Properties['Domain']).toEqual({ 'Fn::Join': ['', ['plants-', uuid]] });
    const host = ['https://', { Ref: domainId }, '.auth.', { Ref: 'AWS::Region' }, '.amazoncognito.com/oauth2/token'];
    template.hasOutput('TokenUrl', { Value: { 'Fn::Join': ['', host] } });
  });

  test('is named in the outputs', () => {
    template.hasOutput('ClientId', { Value: { Ref: only(template, 'AWS::Cognito::UserPoolClient')[0] } });
    template.hasOutput('UserPoolId', { Value: { Ref: only(template, 'AWS::Cognito::UserPool')[0] } });
  });
});
