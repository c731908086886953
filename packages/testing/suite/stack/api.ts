import { operations as documented } from '@lambda-service/testing/data';
import {
  allowOrigins,
  arn,
  byOperation,
  kinds,
  named,
  ofType,
  propertiesOf,
  ref,
  resolve,
  type Template,
  templateOf,
  withoutHashes,
  withStack,
  zone,
} from '@lambda-service/testing/stack';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { type OperationId, operations } from '../../functions/generated/contract.ts';
import { corsFor } from '../../packages/cdk/guarded-api.ts';
import { listRoutes } from '../../packages/cdk/operations.ts';

const routes = Object.values(ofType('AWS::ApiGatewayV2::Route')).map(({ Properties }) => Properties);
const stages = propertiesOf('AWS::ApiGatewayV2::Stage');

test('one authorizer guards every route', () => {
  expect(Object.keys(ofType('AWS::ApiGatewayV2::Authorizer'))).toEqual(['ApiBearerAuth']);
  expect(routes).not.toEqual([]);
  for (const route of routes) {
    expect(route).toMatchObject({ AuthorizationType: 'CUSTOM', AuthorizerId: ref('ApiBearerAuth') });
  }
});

test('the API has exactly the routes of the contract, and each route calls the alias of the function for its operation', () => {
  const integrations = propertiesOf('AWS::ApiGatewayV2::Integration');
  const found = routes.map(({ RouteKey, Target }) => [RouteKey, integrations[resolve(Target).split('/')[1] ?? '']]);
  const expected = byOperation((name, id) => {
    const calls = { IntegrationType: 'AWS_PROXY', PayloadFormatVersion: '2.0', IntegrationUri: ref(`${name}Live`) };
    return [
      [`${operations[id as OperationId].method} ${operations[id as OperationId].path}`, expect.objectContaining(calls)],
    ];
  });
  expect(Object.fromEntries(found)).toEqual(expected);
});

test('an operation of the contract without a function in the stack is named in one sentence', () => {
  expect(() => listRoutes<keyof typeof operations>(operations, Object())).toThrow(
    `The contract has the operation ${Object.keys(operations)[0]}, but the stack has no function for it.`,
  );
});

test("the API calls the authorizer's alias for every request, without a cache, and requires the Authorization header", () => {
  const { AuthorizerUri, ...authorizer } = propertiesOf('AWS::ApiGatewayV2::Authorizer')['ApiBearerAuth'] ?? {};
  expect(resolve(AuthorizerUri)).toContain('/functions/AuthorizerLive/invocations');
  expect(authorizer).toMatchObject({
    AuthorizerType: 'REQUEST',
    AuthorizerPayloadFormatVersion: '2.0',
    EnableSimpleResponses: true,
    AuthorizerResultTtlInSeconds: 0,
    IdentitySource: ['$request.header.Authorization'],
  });
});

test('the API has no stage name in its URLs, is throttled and logged, and by default allows no requests from other origins (CORS)', () => {
  expect(stages).toMatchObject({
    ApiStage: {
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 500, ThrottlingBurstLimit: 1_000 },
      AccessLogSettings: { DestinationArn: arn('ApiAccessLog') },
    },
  });
  expect(propertiesOf('AWS::ApiGatewayV2::Api')).toEqual({ Api: { Name: 'PlantStore', ProtocolType: 'HTTP' } });
});

const templateWith = (context: Record<string, string>): Template =>
  withoutHashes(templateOf({ ...kinds.prod, ...context }).toJSON());

describe('an API with allowed origins', () => {
  const template = templateWith({ allowOrigins });

  test("lets pages of these origins use the contract's methods and headers, and read its response headers, but not send cookies", () => {
    const methods = [...new Set(Object.values(operations).map(({ method }) => method))];
    const headers = documented.flatMap(({ responses }) => responses.flatMap((response) => response.headers));
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
    const operation = operations.createPlant;
    const changed = { ...operation, method: 'PUT', parameters } as const;
    const { allowMethods, allowHeaders } = corsFor({
      operations: { operation, changed },
      responseHeaders: [],
      allowOrigins: [],
    });
    expect(allowMethods).toEqual(expect.arrayContaining([operation.method, 'PUT']));
    expect(allowHeaders).toEqual(expect.arrayContaining(['authorization', 'content-type', 'if-match']));
    expect(allowHeaders).not.toContain('id');
  });
});

describe('an API with a domain name', () => {
  const nextStep = 'defaultAddress=off';
  const template = templateWith(named);
  const target = (attribute: string) => ({ 'Fn::GetAtt': ['ApiDomain', attribute] });

  test('accepts only TLS 1.2 or newer', () => {
    expect(propertiesOf('AWS::ApiGatewayV2::DomainName', template)['ApiDomain']).toMatchObject({
      DomainName: named.domainName,
      DomainNameConfigurations: [{ CertificateArn: named.certificateArn, SecurityPolicy: 'TLS_1_2' }],
    });
    expect(propertiesOf('AWS::ApiGatewayV2::ApiMapping', template)).toMatchObject({
      ApiMapping: { ApiId: ref('Api'), DomainName: ref('ApiDomain'), Stage: '$default' },
    });
  });

  test.each<[defaultAddress: string | undefined, isClosed: boolean, notes: number]>([
    [undefined, false, 1],
    ['on', false, 0],
    ['off', true, 0],
  ])('with defaultAddress %s: the default address is closed: %s; notes: %i', (defaultAddress, isClosed, notes) => {
    const context = { ...kinds.devWithIssuer, ...named, ...zone, ...(defaultAddress && { defaultAddress }) };
    const own = withoutHashes(templateOf(context).toJSON());
    const { Properties, DependsOn = [] } = own.Resources['Api'] ?? {};
    expect(Properties?.['DisableExecuteApiEndpoint'] ?? false).toBe(isClosed);
    // So a certificate or a record that AWS refuses leaves the address open.
    expect(DependsOn).toEqual(isClosed ? ['ApiDomainRecord', 'ApiDomain'] : []);
    const output = { Value: { 'Fn::GetAtt': ['Api', 'ApiEndpoint'] }, Description: expect.stringContaining(nextStep) };
    expect(own.Outputs['DefaultAddress']).toEqual(isClosed ? undefined : output);
    const found = withStack(context, (stack) => Annotations.fromStack(stack).findInfo('*', Match.anyValue()));
    expect(found.map(({ entry }) => entry.data)).toEqual(Array(notes).fill(expect.stringContaining(nextStep)));
  });

  test('has outputs for its URL and, without a DNS zone, for the target of a DNS record that somebody must make', () => {
    expect(template.Outputs).toMatchObject({
      ApiUrl: { Value: 'https://api.example.com' },
      DomainTarget: { Value: target('RegionalDomainName') },
    });
    expect(ofType('AWS::Route53::RecordSet', template)).toEqual({});
  });

  test('has an IPv4 record in the DNS zone that the CDK context names', () => {
    const inZone = templateWith({ ...named, ...zone });
    expect(propertiesOf('AWS::Route53::RecordSet', inZone)).toMatchObject({
      ApiDomainRecord: {
        AliasTarget: { DNSName: target('RegionalDomainName') },
        HostedZoneId: zone.hostedZoneId,
        Name: 'api.example.com.',
        Type: 'A',
      },
    });
    expect(inZone.Outputs['ApiUrl']).toEqual({ Value: 'https://api.example.com' });
    expect(inZone.Outputs).not.toHaveProperty('DomainTarget');
  });
});

test('the access log says who sent which request and what came back, and has no header except the user agent', () => {
  const fields = JSON.parse(Object(stages['ApiStage']?.['AccessLogSettings']).Format);
  const read = ['requestId', 'time', 'route', 'status', 'integrationRequestId', 'integrationStatus', 'subject'];
  const errors = ['integrationError', 'authorizerError', 'gatewayError'];
  expect(Object.keys(fields)).toEqual(expect.arrayContaining([...read, ...errors]));
  const ofClient = Object.values(fields).filter((value) => /identity|header/.test(String(value)));
  expect(ofClient).toEqual(['$context.identity.sourceIp', '$context.identity.userAgent']);
});
