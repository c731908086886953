import { expect, test } from 'vitest';
import { operations } from '../../functions/generated/contract.ts';
import { arn, byOperation, ofType, prod, propertiesOf, ref } from '../kit/template.ts';

const routes = Object.values(ofType('AWS::ApiGatewayV2::Route')).map(({ Properties }) => Properties);
const stages = propertiesOf('AWS::ApiGatewayV2::Stage');

test('one authorizer guards every route', () => {
  expect(Object.keys(ofType('AWS::ApiGatewayV2::Authorizer'))).toEqual(['ApiBearerAuth']);
  const locks = routes.map(({ RouteKey, AuthorizationType, AuthorizerId }) => [
    RouteKey,
    { AuthorizationType, AuthorizerId },
  ]);
  const locked = { AuthorizationType: 'CUSTOM', AuthorizerId: ref('ApiBearerAuth') };
  expect(locks).toEqual(routes.map(({ RouteKey }) => [RouteKey, locked]));
});

test('the API has exactly the routes of the contract, and each calls the function of its operation by its alias', () => {
  const found = routes.map(({ RouteKey, Target }) => {
    const [, [, { Ref: integration }]] = (Target as { 'Fn::Join': [string, [string, { Ref: string }]] })['Fn::Join'];
    expect(Target).toEqual({ 'Fn::Join': ['', ['integrations/', ref(integration)]] });
    return [RouteKey, propertiesOf('AWS::ApiGatewayV2::Integration')[integration]];
  });
  const expected = byOperation((name, id) => {
    const { method, path } = operations[id];
    const calls = { IntegrationType: 'AWS_PROXY', PayloadFormatVersion: '2.0', IntegrationUri: ref(`${name}Live`) };
    return [[`${method} ${path}`, expect.objectContaining(calls)]];
  });
  expect(Object.fromEntries(found)).toEqual(expected);
});

test('POST /plants is a route of the API', () => {
  expect(routes.map(({ RouteKey }) => RouteKey)).toContain('POST /plants');
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
    gatewayError: '$context.error.message',
    subject: '$context.authorizer.sub',
    responseLength: '$context.responseLength',
    userAgent: '$context.identity.userAgent',
  });
});
