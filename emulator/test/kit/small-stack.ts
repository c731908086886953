/** Writes the template of a small stack, and the code of its functions, for tests that serve it. */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Template } from '../../template/read-template.ts';

type SmallStack = {
  /** The code of each function by its name. Each function except Authorizer gets the route GET /NAME. */
  functions: Record<string, string>;
  role?: object[];
  /** Properties to add to the API, besides its protocol. */
  api?: object;
  /** Resources to add to the stack, besides the API, its functions and their role. */
  resources?: object;
};

const inApi = { ApiId: { Ref: 'Api' } };
const lambdaMayAssume = { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } };
const arnOf = (name: string) => ({ 'Fn::GetAtt': [name, 'Arn'] });

/**
 * Makes a stack's template, and writes the code of its functions to the folder `assets`. If a function is named
 * Authorizer, it is the authorizer of each route.
 */
export const smallStack = async (
  assets: string,
  stack: SmallStack,
): Promise<{ template: Template; assets: string }> => {
  const resources: Record<string, object> = {
    Api: { Type: 'AWS::ApiGatewayV2::Api', Properties: { ProtocolType: 'HTTP', ...stack.api } },
    Stage: {
      Type: 'AWS::ApiGatewayV2::Stage',
      Properties: { ...inApi, StageName: '$default', AutoDeploy: true },
    },
    Role: {
      Type: 'AWS::IAM::Role',
      Properties: {
        AssumeRolePolicyDocument: { Statement: [lambdaMayAssume] },
        Policies: [{ PolicyName: 'Own', PolicyDocument: { Statement: stack.role ?? [] } }],
      },
    },
    ...stack.resources,
  };
  const isGuarded = stack.functions['Authorizer'] !== undefined;
  for (const [name, code] of Object.entries(stack.functions)) {
    resources[name] = {
      Type: 'AWS::Lambda::Function',
      Properties: {
        Code: { S3Bucket: 'assets', S3Key: `${await writeAsset(assets, code)}.zip` },
        Handler: 'index.handler',
        Role: arnOf('Role'),
        Runtime: 'nodejs24.x',
        Timeout: 900,
      },
    };
    resources[`${name}Permission`] = {
      Type: 'AWS::Lambda::Permission',
      Properties: { Action: 'lambda:InvokeFunction', FunctionName: arnOf(name), Principal: 'apigateway.amazonaws.com' },
    };
    Object.assign(resources, name === 'Authorizer' ? authorizer : routeTo(name, isGuarded));
  }
  return { template: { Resources: resources } as Template, assets };
};

/** Writes a function's code as an asset. @returns the hash that the CDK would give to the asset */
const writeAsset = async (assets: string, code: string): Promise<string> => {
  const hash = createHash('sha256').update(code).digest('hex');
  const folder = path.join(assets, `asset.${hash}`);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, code.startsWith('import ') ? 'index.mjs' : 'index.js'), code);
  return hash;
};

const authorizer = {
  AuthorizerOfApi: {
    Type: 'AWS::ApiGatewayV2::Authorizer',
    Properties: {
      ...inApi,
      AuthorizerPayloadFormatVersion: '2.0',
      AuthorizerResultTtlInSeconds: 0,
      AuthorizerType: 'REQUEST',
      AuthorizerUri: {
        'Fn::Join': [
          '',
          ['arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/', arnOf('Authorizer'), '/invocations'],
        ],
      },
      EnableSimpleResponses: true,
    },
  },
};

const routeTo = (name: string, isGuarded: boolean) => ({
  [`${name}Integration`]: {
    Type: 'AWS::ApiGatewayV2::Integration',
    Properties: {
      ...inApi,
      IntegrationType: 'AWS_PROXY',
      IntegrationUri: arnOf(name),
      PayloadFormatVersion: '2.0',
      TimeoutInMillis: 30_000,
    },
  },
  [`${name}Route`]: {
    Type: 'AWS::ApiGatewayV2::Route',
    Properties: {
      ...inApi,
      ...(isGuarded && { AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'AuthorizerOfApi' } }),
      RouteKey: `GET /${name}`,
      Target: { 'Fn::Join': ['/', ['integrations', { Ref: `${name}Integration` }]] },
    },
  },
});
