/** Parts of CloudFormation templates. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of Fn::Sub
import type { TableSpec } from '../../served-stack.ts';

type Attribute = TableSpec['AttributeDefinitions'] & unknown[];
type Key = TableSpec['KeySchema'] & unknown[];

export const text = (AttributeName: string): Attribute[number] => ({ AttributeName, AttributeType: 'S' });
export const number = (AttributeName: string): Attribute[number] => ({ AttributeName, AttributeType: 'N' });
export const hash = (AttributeName: string): Key[number] => ({ AttributeName, KeyType: 'HASH' });
export const range = (AttributeName: string): Key[number] => ({ AttributeName, KeyType: 'RANGE' });

/** The key of a table: one attribute, `id`, which is a number. */
export const key = { KeySchema: [hash('id')], AttributeDefinitions: [number('id')] };

export const arnOf = (logicalId: string) => ({ 'Fn::GetAtt': [logicalId, 'Arn'] });

export const policy = (...statements: object[]) => ({ Version: '2012-10-17', Statement: statements });

const lambdaMayAssume = policy({
  Effect: 'Allow',
  Action: 'sts:AssumeRole',
  Principal: { Service: { 'Fn::Sub': 'lambda.${AWS::URLSuffix}' } },
});

export const resource = (Type: string, Properties: Record<string, unknown> = {}) => ({ Type, Properties });

/** A role that Lambda may assume. */
export const role = (Properties: object) =>
  resource('AWS::IAM::Role', { AssumeRolePolicyDocument: lambdaMayAssume, ...Properties });

export const permission = (FunctionName: object) =>
  resource('AWS::Lambda::Permission', {
    Action: 'lambda:InvokeFunction',
    FunctionName,
    Principal: 'apigateway.amazonaws.com',
  });

const inApi = (part: string, Properties: object) =>
  resource(`AWS::ApiGatewayV2::${part}`, { ApiId: { Ref: 'Api' }, ...Properties });

export const stage = (Properties: object = {}) =>
  inApi('Stage', { StageName: '$default', AutoDeploy: true, ...Properties });

export const route = (RouteKey: string, Target: object, Properties: object = {}) =>
  inApi('Route', { RouteKey, Target, ...Properties });

export const integration = (IntegrationUri: object, TimeoutInMillis: number) =>
  inApi('Integration', { IntegrationType: 'AWS_PROXY', IntegrationUri, PayloadFormatVersion: '2.0', TimeoutInMillis });

export const authorizer = (AuthorizerUri: object, Properties: object = {}) =>
  inApi('Authorizer', {
    AuthorizerPayloadFormatVersion: '2.0',
    AuthorizerResultTtlInSeconds: 0,
    AuthorizerType: 'REQUEST',
    AuthorizerUri,
    EnableSimpleResponses: true,
    ...Properties,
  });
