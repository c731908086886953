import { expect, test } from 'vitest';
import { contract } from '../kit/contract.ts';
import { arn, ofType, prod, propertiesOf, ref } from '../kit/template.ts';

const routes = Object.values(ofType('AWS::ApiGatewayV2::Route')).map(({ Properties }) => Properties);
const stages = propertiesOf('AWS::ApiGatewayV2::Stage');

test('the API has exactly the routes of the contract', () => {
  const operations = Object.entries(contract.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.map((route) => route['RouteKey'])).toEqual(operations);
});

test('one authorizer guards every route', () => {
  expect(Object.keys(ofType('AWS::ApiGatewayV2::Authorizer'))).toEqual(['ApiBearerAuth']);
  const locks = routes.map(({ RouteKey, AuthorizationType, AuthorizerId }) => [
    RouteKey,
    { AuthorizationType, AuthorizerId },
  ]);
  const locked = { AuthorizationType: 'CUSTOM', AuthorizerId: ref('ApiBearerAuth') };
  expect(locks).toEqual(routes.map(({ RouteKey }) => [RouteKey, locked]));
});

test('POST /plants calls createPlant by its alias', () => {
  const { Target } = routes.find(({ RouteKey }) => RouteKey === 'POST /plants') ?? {};
  const [, [, { Ref: integration }]] = (Target as { 'Fn::Join': [string, [string, { Ref: string }]] })['Fn::Join'];
  expect(Target).toEqual({ 'Fn::Join': ['', ['integrations/', ref(integration)]] });
  expect(propertiesOf('AWS::ApiGatewayV2::Integration')[integration]).toMatchObject({
    IntegrationType: 'AWS_PROXY',
    PayloadFormatVersion: '2.0',
    IntegrationUri: ref('CreatePlantLive'),
  });
});

test('the API asks the authorizer, by its alias, about the Authorization header of every request', () => {
  expect(propertiesOf('AWS::ApiGatewayV2::Authorizer')['ApiBearerAuth']).toMatchObject({
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
          ref('AWS::Partition'),
          ':apigateway:',
          ref('AWS::Region'),
          ':lambda:path/2015-03-31/functions/',
          ref('AuthorizerLive'),
          '/invocations',
        ],
      ],
    },
  });
});

test('the API has no stage in its URLs, is throttled and logged, and allows no other origin (CORS)', () => {
  expect(stages).toEqual({
    ApiStage: expect.objectContaining({
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 500, ThrottlingBurstLimit: 1_000, DetailedMetricsEnabled: true },
      AccessLogSettings: { DestinationArn: arn('ApiAccessLog'), Format: expect.any(String) },
    }),
  });
  expect(propertiesOf('AWS::ApiGatewayV2::Api')).toEqual({ Api: { Name: 'PlantStore', ProtocolType: 'HTTP' } });
  expect(prod.Outputs['ApiUrl']?.Value).toEqual({ 'Fn::GetAtt': ['Api', 'ApiEndpoint'] });
});

test('the access log has exactly the expected fields, and no header except the user agent', () => {
  const settings = stages['ApiStage']?.['AccessLogSettings'] as { Format: string } | undefined;
  expect(JSON.parse(settings?.Format ?? 'null')).toEqual({
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
