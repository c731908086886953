import { describe, expect, test } from 'vitest';
import { operations } from '../../functions/generated/contract.ts';
import { listOperations } from '../../infra/operations.ts';
import { corsFor } from '../../infra/plant-api.ts';
import { operations as contract } from '../kit/contract.ts';
import { allowOrigins, kinds, named, templateOf, zone } from '../kit/stacks.ts';
import { arn, byOperation, ofType, prod, propertiesOf, ref, type Template, withoutHashes } from '../kit/template.ts';

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

test('the API has exactly the routes of the contract, and each route calls the alias of the function for its operation', () => {
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

test("the API calls the authorizer's alias for every request, without a cache, and requires the Authorization header", () => {
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

test('the API has no stage name in its URLs, is throttled and logged, and by default allows no requests from other origins (CORS)', () => {
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

const templateWith = (context: Record<string, string>): Template =>
  withoutHashes(templateOf({ ...kinds.prod, ...context }).toJSON());

describe('an API with allowed origins', () => {
  const template = templateWith({ allowOrigins });

  test("lets pages of these origins use the contract's methods and headers, and read its response headers, but not send cookies", () => {
    const methods = [...new Set(Object.values(operations).map(({ method }) => method))];
    const headers = contract.flatMap(({ responses }) => responses.flatMap((response) => response.headers));
    expect(headers).toEqual(expect.arrayContaining(['retry-after', 'apigw-requestid', 'idempotent-replayed']));
    expect(propertiesOf('AWS::ApiGatewayV2::Api', template)).toEqual({
      Api: {
        Name: 'PlantStore',
        ProtocolType: 'HTTP',
        CorsConfiguration: {
          AllowOrigins: ['https://shop.example', 'http://localhost:5173'],
          AllowMethods: methods,
          AllowHeaders: expect.arrayContaining(['authorization', 'content-type']),
          ExposeHeaders: [...new Set(headers)],
          MaxAge: 7_200,
        },
      },
    });
  });

  test('has the same routes and the same authorizer as an API without CORS, and no route for OPTIONS', () => {
    for (const type of ['AWS::ApiGatewayV2::Route', 'AWS::ApiGatewayV2::Authorizer'])
      expect(propertiesOf(type, template)).toEqual(propertiesOf(type));
  });

  test('lets browsers use every method and send every header parameter that the contract has', () => {
    const parameters = ['header', 'path'].map((place) => ({ name: place === 'header' ? 'if-match' : 'id', in: place }));
    const [operation] = listOperations(operations);
    const changed = [operation, { ...operation, method: 'PUT', parameters }] as ReturnType<typeof listOperations>;
    expect(corsFor(changed, [])).toMatchObject({
      allowMethods: expect.arrayContaining([operation?.method, 'PUT']),
      allowHeaders: expect.arrayContaining(['authorization', 'content-type', 'if-match']),
    });
    expect(corsFor(changed, []).allowHeaders).not.toContain('id');
  });
});

describe('an API with a domain name', () => {
  const template = templateWith(named);
  const target = (attribute: string) => ({ 'Fn::GetAtt': ['ApiDomain', attribute] });

  test('has no other address, and accepts only TLS 1.2 or newer', () => {
    expect(propertiesOf('AWS::ApiGatewayV2::DomainName', template)).toEqual({
      ApiDomain: {
        DomainName: named.domainName,
        DomainNameConfigurations: [
          { CertificateArn: named.certificateArn, EndpointType: 'REGIONAL', SecurityPolicy: 'TLS_1_2' },
        ],
      },
    });
    const mapping = { ApiId: ref('Api'), DomainName: ref('ApiDomain'), Stage: '$default' };
    expect(propertiesOf('AWS::ApiGatewayV2::ApiMapping', template)).toEqual({ ApiMapping: mapping });
    expect(propertiesOf('AWS::ApiGatewayV2::Api', template)).toEqual({
      Api: { Name: 'PlantStore', ProtocolType: 'HTTP', DisableExecuteApiEndpoint: true },
    });
  });

  test('has outputs in the stack for its URL and, if no DNS zone is configured, for the target of a DNS record', () => {
    expect(template.Outputs).toMatchObject({
      ApiUrl: { Value: 'https://api.example.com' },
      DomainTarget: { Value: target('RegionalDomainName') },
    });
    expect(ofType('AWS::Route53::RecordSet', template)).toEqual({});
  });

  test('has an IPv4 record in the DNS zone that the CDK context names, so that nobody has to make a record by hand', () => {
    const inZone = templateWith({ ...named, ...zone });
    expect(propertiesOf('AWS::Route53::RecordSet', inZone)).toEqual({
      ApiDomainRecord: {
        AliasTarget: { DNSName: target('RegionalDomainName'), HostedZoneId: target('RegionalHostedZoneId') },
        HostedZoneId: zone.hostedZoneId,
        Name: 'api.example.com.',
        Type: 'A',
      },
    });
    expect(inZone.Outputs['ApiUrl']).toEqual({ Value: 'https://api.example.com' });
    expect(inZone.Outputs).not.toHaveProperty('DomainTarget');
  });
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
