import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { describe, expect, inject, test } from 'vitest';
import { operations as documented } from '../../data/contract.ts';
import { allowOrigins, kinds, named, zone } from '../../stack/settings.ts';
import { plainTemplateOf, withStack } from '../../stack/stacks.ts';
import { arn, byOperation, ofType, propertiesOf, ref, resolve, type Template } from '../../stack/template.ts';
import { operations } from '../../under-test.ts';

const routes = propertiesOf('AWS::ApiGatewayV2::Route');
const stages = propertiesOf('AWS::ApiGatewayV2::Stage');
const api = { Name: inject('stackName'), ProtocolType: 'HTTP' };

const templateWith = (context: Record<string, string>): Template => plainTemplateOf({ ...kinds.prod, ...context });

export const testApi = (): void => {
  test('the API has exactly the routes of the contract, and each route calls the alias of the function for its operation', () => {
    const integrations = propertiesOf('AWS::ApiGatewayV2::Integration');
    const found = Object.values(routes).map(({ RouteKey, Target }) => [
      RouteKey,
      integrations[resolve(Target).split('/')[1] ?? ''],
    ]);
    const expected = byOperation((name, id) => {
      const calls = { IntegrationType: 'AWS_PROXY', PayloadFormatVersion: '2.0', IntegrationUri: ref(`${name}Live`) };
      return [[`${operations[id]?.method} ${operations[id]?.path}`, expect.objectContaining(calls)]];
    });
    expect(Object.fromEntries(found)).toEqual(expected);
  });

  test('one authorizer guards every route', () => {
    expect(Object.keys(ofType('AWS::ApiGatewayV2::Authorizer'))).toEqual(['ApiBearerAuth']);
    for (const { RouteKey, ...route } of Object.values(routes))
      expect(route, String(RouteKey)).toMatchObject({
        AuthorizationType: 'CUSTOM',
        AuthorizerId: ref('ApiBearerAuth'),
      });
  });

  test("the API calls the authorizer's alias for every request, by default without a cache, and requires the Authorization header", () => {
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

  test('authorizerCache in the CDK context keeps the result for one Authorization header on one route, whose scopes so still hold', () => {
    const expected = propertiesOf('AWS::ApiGatewayV2::Authorizer')['ApiBearerAuth'];
    expect(propertiesOf('AWS::ApiGatewayV2::Authorizer', templateWith({ authorizerCache: '300' }))).toEqual({
      ApiBearerAuth: {
        ...expected,
        AuthorizerResultTtlInSeconds: 300,
        IdentitySource: ['$request.header.Authorization', '$context.routeKey'],
      },
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
    expect(propertiesOf('AWS::ApiGatewayV2::Api')).toEqual({ Api: api });
  });

  test('with allowed origins, pages of these may use the methods and headers of the contract, but send no cookies, and no route is open', () => {
    const template = templateWith({ allowOrigins });
    const headers = documented.flatMap(({ responses }) => responses.flatMap((response) => response.headers));
    expect(headers).toEqual(expect.arrayContaining(['retry-after', 'apigw-requestid']));
    const CorsConfiguration = {
      AllowOrigins: allowOrigins.split(','),
      AllowMethods: [...new Set(Object.values(operations).map(({ method }) => method))],
      AllowHeaders: expect.arrayContaining(['authorization', 'content-type']),
      ExposeHeaders: [...new Set(headers)],
      MaxAge: 7_200,
    };
    expect(propertiesOf('AWS::ApiGatewayV2::Api', template)).toEqual({ Api: { ...api, CorsConfiguration } });
    for (const type of ['AWS::ApiGatewayV2::Route', 'AWS::ApiGatewayV2::Authorizer'])
      expect(propertiesOf(type, template)).toEqual(propertiesOf(type));
  });

  test('the access log says who sent which request and what came back, and has no header except the user agent', () => {
    const fields = JSON.parse(Object(stages['ApiStage']?.['AccessLogSettings']).Format);
    const read = ['requestId', 'time', 'route', 'status', 'integrationRequestId', 'integrationStatus', 'subject'];
    const errors = ['integrationError', 'authorizerError', 'gatewayError'];
    expect(Object.keys(fields)).toEqual(expect.arrayContaining([...read, ...errors]));
    const ofClient = Object.values(fields).filter((value) => /identity|header/.test(String(value)));
    expect(ofClient).toEqual(['$context.identity.sourceIp', '$context.identity.userAgent']);
  });

  describe('an API with a domain name', () => {
    const nextStep = 'defaultAddress=off';
    const target = { 'Fn::GetAtt': ['ApiDomain', 'RegionalDomainName'] };
    const url = { Value: `https://${named.domainName}` };

    test('accepts only TLS 1.2 or newer, and has outputs for its URL and for the target of a DNS record that somebody must make', () => {
      const template = templateWith(named);
      expect(propertiesOf('AWS::ApiGatewayV2::DomainName', template)['ApiDomain']).toMatchObject({
        DomainName: named.domainName,
        DomainNameConfigurations: [{ CertificateArn: named.certificateArn, SecurityPolicy: 'TLS_1_2' }],
      });
      expect(propertiesOf('AWS::ApiGatewayV2::ApiMapping', template)).toMatchObject({
        ApiMapping: { ApiId: ref('Api'), DomainName: ref('ApiDomain'), Stage: '$default' },
      });
      expect(template.Outputs).toMatchObject({ ApiUrl: url, DomainTarget: { Value: target } });
      expect(ofType('AWS::Route53::RecordSet', template)).toEqual({});
    });

    test('has an IPv4 record in the DNS zone that the CDK context names', () => {
      const template = templateWith({ ...named, ...zone });
      const HostedZoneId = zone.hostedZoneId;
      const record = { AliasTarget: { DNSName: target }, HostedZoneId, Name: `${named.domainName}.`, Type: 'A' };
      expect(propertiesOf('AWS::Route53::RecordSet', template)).toMatchObject({ ApiDomainRecord: record });
      expect(template.Outputs['ApiUrl']).toEqual(url);
      expect(template.Outputs).not.toHaveProperty('DomainTarget');
    });

    test.each<[defaultAddress: string | undefined, isClosed: boolean, notes: number]>([
      [undefined, false, 1],
      ['on', false, 0],
      ['off', true, 0],
    ])('with defaultAddress %s: the default address is closed: %s; notes: %i', (defaultAddress, isClosed, notes) => {
      const context = { ...kinds.devWithIssuer, ...named, ...zone, ...(defaultAddress && { defaultAddress }) };
      const own = plainTemplateOf(context);
      const { Properties, DependsOn = [] } = own.Resources['Api'] ?? {};
      expect(Properties?.['DisableExecuteApiEndpoint'] ?? false).toBe(isClosed);
      // So a certificate or a record that AWS refuses leaves the address open.
      expect(DependsOn).toEqual(isClosed ? ['ApiDomainRecord', 'ApiDomain'] : []);
      const Description = expect.stringContaining(nextStep);
      const output = { Value: { 'Fn::GetAtt': ['Api', 'ApiEndpoint'] }, Description };
      expect(own.Outputs['DefaultAddress']).toEqual(isClosed ? undefined : output);
      const found = withStack(context, (stack) => Annotations.fromStack(stack).findInfo('*', Match.anyValue()));
      expect(found.map(({ entry }) => entry.data)).toEqual(Array(notes).fill(Description));
    });
  });
};
