import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { contract } from '../contract.ts';
import { externalIssuer, templateOf } from './stacks.ts';

const templates = { 'its own Cognito issuer': templateOf(), 'an external issuer': templateOf(externalIssuer) };

type Resource = { Type: string; Properties: Record<string, never> };

const only = (template: Template, type: string, properties: object = {}): [logicalId: string, resource: Resource] => {
  const found = Object.entries(template.findResources(type, { Properties: Match.objectLike(properties) }));
  expect(found).toHaveLength(1);
  return found[0] as [string, Resource];
};

const functionNamed = (template: Template, name: string): string => {
  const ids = Object.keys(template.findResources('AWS::Lambda::Function')).filter((id) => id.startsWith(name));
  expect(ids).toHaveLength(1);
  return ids[0] ?? '';
};

const arn = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });

describe.each(Object.entries(templates))('the stack with %s', (_, template) => {
  test('has one table, with the number id as its only key, that survives the stack', () => {
    template.resourceCountIs('AWS::DynamoDB::GlobalTable', 1);
    template.hasResource('AWS::DynamoDB::GlobalTable', {
      DeletionPolicy: 'Retain',
      Properties: {
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
        BillingMode: 'PAY_PER_REQUEST',
      },
    });
  });

  test('has two functions on Node 24 and arm64, logging JSON into a log group with retention', () => {
    template.resourceCountIs('AWS::Lambda::Function', 2);
    template.allResourcesProperties('AWS::Lambda::Function', {
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      LoggingConfig: { LogFormat: 'JSON', LogGroup: Match.anyValue() },
    });
    template.resourceCountIs('AWS::Logs::LogGroup', 2);
    template.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 90 });
  });

  test('tells createPlant its table, and nothing else', () => {
    const [tableId] = only(template, 'AWS::DynamoDB::GlobalTable');
    const id = functionNamed(template, 'CreatePlant');
    expect(template.toJSON()['Resources'][id].Properties.Environment).toEqual({
      Variables: { TABLE_NAME: { Ref: tableId } },
    });
  });

  test('lets createPlant put items into that table, and the authorizer do nothing', () => {
    const [tableId] = only(template, 'AWS::DynamoDB::GlobalTable');
    const [, policy] = only(template, 'AWS::IAM::Policy');
    expect(policy.Properties['PolicyDocument']).toEqual({
      Statement: [{ Action: 'dynamodb:PutItem', Effect: 'Allow', Resource: arn(tableId) }],
      Version: '2012-10-17',
    });
    const role =
      template.toJSON()['Resources'][functionNamed(template, 'CreatePlant')].Properties.Role['Fn::GetAtt'][0];
    expect(policy.Properties['Roles']).toEqual([{ Ref: role }]);
    for (const each of Object.values(template.findResources('AWS::IAM::Role'))) {
      expect(each['Properties'].Policies).toBeUndefined();
      expect(JSON.stringify(each['Properties'].ManagedPolicyArns)).toMatch(
        /^[^,]*,\[[^[\]]*AWSLambdaBasicExecutionRole"\]\]\}\]$/,
      );
    }
  });

  test('has the routes of schemas/openapi.yaml, and no other', () => {
    const operations = Object.entries(contract.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const routes = Object.values(template.findResources('AWS::ApiGatewayV2::Route'));
    expect(routes.map((route) => route['Properties'].RouteKey)).toEqual(operations);
  });

  test('has every route behind the authorizer, and createPlant behind POST /plants', () => {
    const [authorizerId] = only(template, 'AWS::ApiGatewayV2::Authorizer');
    template.allResourcesProperties('AWS::ApiGatewayV2::Route', {
      AuthorizationType: 'CUSTOM',
      AuthorizerId: { Ref: authorizerId },
    });
    const [integrationId] = only(template, 'AWS::ApiGatewayV2::Integration', {
      IntegrationType: 'AWS_PROXY',
      PayloadFormatVersion: '2.0',
      IntegrationUri: arn(functionNamed(template, 'CreatePlant')),
    });
    const [, route] = only(template, 'AWS::ApiGatewayV2::Route', { RouteKey: 'POST /plants' });
    expect(route.Properties['Target']).toEqual({ 'Fn::Join': ['', ['integrations/', { Ref: integrationId }]] });
  });

  test('asks the authorizer at every request, by the Authorization header, for a simple answer', () => {
    const [, authorizer] = only(template, 'AWS::ApiGatewayV2::Authorizer');
    expect(authorizer.Properties).toMatchObject({
      AuthorizerType: 'REQUEST',
      AuthorizerPayloadFormatVersion: '2.0',
      EnableSimpleResponses: true,
      AuthorizerResultTtlInSeconds: 0,
      IdentitySource: ['$request.header.Authorization'],
    });
    expect(JSON.stringify(authorizer.Properties['AuthorizerUri'])).toContain(
      JSON.stringify(arn(functionNamed(template, 'Authorizer'))),
    );
  });

  test.each(['CreatePlant', 'Authorizer'])('lets this API, and nobody else, invoke %s', (name) => {
    const [apiId] = only(template, 'AWS::ApiGatewayV2::Api');
    const [, permission] = only(template, 'AWS::Lambda::Permission', {
      FunctionName: arn(functionNamed(template, name)),
    });
    expect(permission.Properties).toMatchObject({
      Action: 'lambda:InvokeFunction',
      Principal: 'apigateway.amazonaws.com',
    });
    expect(JSON.stringify(permission.Properties['SourceArn'])).toContain(JSON.stringify({ Ref: apiId }));
  });

  test('gives the authorizer less time than API Gateway does and more than the keys take, createPlant more than the store', () => {
    const timeout = (name: string) => template.toJSON()['Resources'][functionNamed(template, name)].Properties.Timeout;
    expect(timeout('Authorizer')).toBeLessThan(10);
    expect(timeout('Authorizer')).toBeGreaterThan(3);
    expect(timeout('CreatePlant')).toBeGreaterThan(2.5);
    expect(timeout('CreatePlant')).toBeLessThan(30);
  });

  test('serves the API at its root, and to no browser of another origin', () => {
    template.hasResourceProperties('AWS::ApiGatewayV2::Stage', { StageName: '$default', AutoDeploy: true });
    expect(only(template, 'AWS::ApiGatewayV2::Api')[1].Properties['CorsConfiguration']).toBeUndefined();
  });

  test('tells where it is', () => {
    const [apiId] = only(template, 'AWS::ApiGatewayV2::Api');
    template.hasOutput('ApiUrl', { Value: { 'Fn::GetAtt': [apiId, 'ApiEndpoint'] } });
    template.hasOutput('TableName', { Value: { Ref: only(template, 'AWS::DynamoDB::GlobalTable')[0] } });
    template.hasOutput('Scope', { Value: 'plants/create' });
  });
});

describe('the authorizer', () => {
  const environment = (template: Template) =>
    template.toJSON()['Resources'][functionNamed(template, 'Authorizer')].Properties.Environment.Variables;

  test('trusts the external issuer that the context names', () => {
    expect(environment(templates['an external issuer'])).toEqual({
      ISSUER: externalIssuer.issuer,
      JWKS_URI: externalIssuer.jwksUri,
      AUDIENCE: externalIssuer.audience,
      REQUIRED_SCOPE: 'plants/create',
    });
    expect(Object.keys(templates['an external issuer'].findResources('AWS::Cognito::UserPool'))).toEqual([]);
  });

  test("trusts the stack's own user pool otherwise, whose tokens have no audience", () => {
    const template = templates['its own Cognito issuer'];
    const [poolId] = only(template, 'AWS::Cognito::UserPool');
    const issuer = { 'Fn::GetAtt': [poolId, 'ProviderURL'] };
    expect(environment(template)).toEqual({
      ISSUER: issuer,
      JWKS_URI: { 'Fn::Join': ['', [issuer, '/.well-known/jwks.json']] },
      REQUIRED_SCOPE: 'plants/create',
    });
  });

  test('asks for the scope that the context names, which the user pool then grants', () => {
    const template = templateOf({ scope: 'garden/plant' });
    expect(environment(template).REQUIRED_SCOPE).toBe('garden/plant');
    template.hasResourceProperties('AWS::Cognito::UserPoolResourceServer', {
      Identifier: 'garden',
      Scopes: [{ ScopeName: 'plant' }],
    });
  });
});

describe('the Cognito issuer', () => {
  const template = templates['its own Cognito issuer'];

  test('gives tokens to one machine client, by its secret, with the scope and no other', () => {
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
    });
    template.resourceCountIs('AWS::Cognito::UserPoolDomain', 1);
    template.hasResourceProperties('AWS::Cognito::UserPool', {
      AdminCreateUserConfig: { AllowAdminCreateUserOnly: true },
    });
  });

  test('has an address that no other stack can have', () => {
    const [domainId, domain] = only(template, 'AWS::Cognito::UserPoolDomain');
    const uuid = { 'Fn::Select': [2, { 'Fn::Split': ['/', { Ref: 'AWS::StackId' }] }] };
    expect(domain.Properties['Domain']).toEqual({ 'Fn::Join': ['', ['plants-', uuid]] });
    const host = ['https://', { Ref: domainId }, '.auth.', { Ref: 'AWS::Region' }, '.amazoncognito.com/oauth2/token'];
    template.hasOutput('TokenUrl', { Value: { 'Fn::Join': ['', host] } });
  });

  test('is named in the outputs, without a secret', () => {
    template.hasOutput('ClientId', { Value: { Ref: only(template, 'AWS::Cognito::UserPoolClient')[0] } });
    template.hasOutput('UserPoolId', { Value: { Ref: only(template, 'AWS::Cognito::UserPool')[0] } });
    const outputs = template.toJSON()['Outputs'];
    expect(Object.keys(outputs).sort()).toEqual(['ApiUrl', 'ClientId', 'Scope', 'TableName', 'TokenUrl', 'UserPoolId']);
    expect(JSON.stringify(outputs)).not.toMatch(/secret/i);
  });
});
