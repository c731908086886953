import { describe, expect, test } from 'vitest';
import { readTemplate } from '../../emulator/template/read-template.ts';
import { externalIssuer, templateOf } from '../kit/stacks.ts';

type Template = Parameters<typeof readTemplate>[0];

const synthesized = templateOf(externalIssuer).toJSON();

/** Copies the stack's template, with the asset paths that the synthesis on this machine adds. */
const template = (): Template => {
  const json = structuredClone(synthesized) as Template;
  for (const resource of resources(json, 'AWS::Lambda::Function')) {
    resource.Metadata = { ...resource.Metadata, 'aws:asset:path': 'asset.of-the-function' };
  }
  return json;
};

const resources = (json: Template, type: string) => Object.values(json.Resources).filter(({ Type }) => Type === type);

describe('readTemplate', () => {
  test('reads routes, functions and tables from the template', () => {
    const { api, functions, tables } = readTemplate(template(), '/assembly');
    const createPlant = functions.find(({ name }) => name.startsWith('CreatePlant'));
    const authorizer = functions.find(({ name }) => name.startsWith('Authorizer'));
    expect(api.routes).toEqual([
      {
        routeKey: 'POST /plants',
        target: {
          functionName: createPlant?.name,
          arn: expect.stringMatching(/:function:CreatePlant.*:live$/),
          version: '$LATEST',
        },
        timeout: 30_000,
        authorizer: {
          target: {
            functionName: authorizer?.name,
            arn: expect.stringMatching(/:function:Authorizer.*:live$/),
            version: '$LATEST',
          },
          identitySources: ['$request.header.Authorization'],
        },
      },
    ]);
    expect(createPlant).toMatchObject({ handler: 'index.handler', timeout: 5_000, memoryMegabytes: 1_769 });
    expect(createPlant?.environment).toEqual({ TABLE_NAME: tables[0]?.TableName });
    expect(authorizer?.environment).toMatchObject({ ISSUER: externalIssuer.issuer, AUDIENCE: externalIssuer.audience });
    expect(tables).toEqual([
      {
        TableName: expect.stringMatching(/^Plants/),
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
      },
    ]);
  });

  test('returns the time-outs of the template, or the defaults of Lambda and API Gateway', () => {
    const json = template();
    for (const { Properties } of resources(json, 'AWS::Lambda::Function')) delete Properties['Timeout'];
    for (const { Properties } of resources(json, 'AWS::ApiGatewayV2::Integration'))
      Properties['TimeoutInMillis'] = 7_000;
    const { functions, api } = readTemplate(json, '/assembly');
    expect(functions).toMatchObject([{ timeout: 3_000 }, { timeout: 3_000 }]);
    expect(api.routes).toMatchObject([{ timeout: 7_000 }]);
  });

  test('returns no routes if the stack has none', () => {
    const json = template();
    json.Resources = Object.fromEntries(
      Object.entries(json.Resources).filter(([, { Type }]) => !Type.endsWith('::Route')),
    );
    expect(readTemplate(json, '/assembly').api.routes).toEqual([]);
  });
});

describe('readTemplate rejects', () => {
  test.each([
    ['AWS::ApiGatewayV2::Stage', 'a stage'],
    ['AWS::Lambda::Permission', 'a permission for API Gateway to invoke'],
  ])('a stack without %s', (type, named) => {
    const json = template();
    json.Resources = Object.fromEntries(Object.entries(json.Resources).filter(([, { Type }]) => Type !== type));
    expect(() => readTemplate(json, '/assembly')).toThrow(named);
  });

  test('a permission for a service other than API Gateway', () => {
    const json = template();
    for (const { Properties } of resources(json, 'AWS::Lambda::Permission')) {
      Properties['Principal'] = 'events.amazonaws.com';
    }
    expect(() => readTemplate(json, '/assembly')).toThrow('a permission for API Gateway to invoke');
  });

  test('a permission for the function itself if the API calls its alias', () => {
    const json = template();
    const [permission] = resources(json, 'AWS::Lambda::Permission');
    const [alias] = resources(json, 'AWS::Lambda::Alias');
    expect(permission?.Properties['FunctionName']).toHaveProperty('Ref');
    Object.assign(permission?.Properties ?? {}, { FunctionName: alias?.Properties['FunctionName'] });
    expect(() => readTemplate(json, '/assembly')).toThrow(/a permission for API Gateway to invoke arn:.*:live/);
  });

  test('a table of type AWS::DynamoDB::Table', () => {
    const json = template();
    for (const resource of resources(json, 'AWS::DynamoDB::GlobalTable')) resource.Type = 'AWS::DynamoDB::Table';
    expect(() => readTemplate(json, '/assembly')).toThrow('TableV2');
  });

  test.each<[string, string, (properties: Record<string, unknown>) => void]>([
    ['AWS::ApiGatewayV2::Authorizer', 'EnableSimpleResponses', (p) => (p['EnableSimpleResponses'] = false)],
    ['AWS::ApiGatewayV2::Authorizer', 'AuthorizerResultTtlInSeconds', (p) => (p['AuthorizerResultTtlInSeconds'] = 300)],
    ['AWS::ApiGatewayV2::Authorizer', 'AuthorizerType', (p) => (p['AuthorizerType'] = 'JWT')],
    [
      'AWS::ApiGatewayV2::Authorizer',
      'one header as the identity source',
      (p) => (p['IdentitySource'] = ['$request.querystring.t']),
    ],
    ['AWS::ApiGatewayV2::Authorizer', 'one header as the identity source', (p) => delete p['IdentitySource']],
    [
      'AWS::ApiGatewayV2::Authorizer',
      'one header as the identity source',
      (p) => (p['IdentitySource'] = ['$request.header.authorization', '$request.header.x-tenant']),
    ],
    ['AWS::ApiGatewayV2::Stage', 'StageName', (p) => (p['StageName'] = 'v1')],
    ['AWS::ApiGatewayV2::Integration', 'PayloadFormatVersion', (p) => (p['PayloadFormatVersion'] = '1.0')],
    ['AWS::ApiGatewayV2::Integration', 'IntegrationType', (p) => (p['IntegrationType'] = 'HTTP_PROXY')],
    [
      'AWS::ApiGatewayV2::Integration',
      'the function that',
      (p) => (p['IntegrationUri'] = 'arn:aws:lambda:x:y:function:z'),
    ],
    ['AWS::ApiGatewayV2::Route', 'AuthorizationType', (p) => (p['AuthorizationType'] = 'AWS_IAM')],
    ['AWS::ApiGatewayV2::Route', 'ANY /{proxy+}', (p) => (p['RouteKey'] = 'ANY /{proxy+}')],
    [
      'AWS::Lambda::Function',
      'Fn::ImportValue',
      (p) => (p['Environment'] = { Variables: { A: { 'Fn::ImportValue': 'x' } } }),
    ],
  ])('%s with an unsupported setting: %s', (type, named, change) => {
    const json = template();
    for (const { Properties } of resources(json, type)) change(Properties);
    expect(() => readTemplate(json, '/assembly')).toThrow(named);
  });
});
