/** Parts of CloudFormation templates, and a small stack that is made of them. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of Fn::Sub
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Account, TableSpec } from '../../served-stack.ts';
import type { Template } from '../../template/read-template.ts';

/** Not the default account, so that tests notice if it is used instead of a stack's own. */
export const account: Account = { id: '123456789012', region: 'eu-west-1' };

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

type SmallStack = {
  /** The code of each function by its name. Each function except Authorizer gets the route GET /NAME. */
  functions: Record<string, string>;
  /** What the role of all functions allows. */
  statements?: object[];
  /** Properties to add to the API, besides its protocol. */
  api?: object;
  /** Resources to add to the stack, besides the API, its functions and their role. */
  resources?: object;
};

/**
 * Makes a stack's template, and writes the code of its functions to the folder `assets`. If a function is named
 * Authorizer, it is the authorizer of each route.
 */
export const smallStack = async (
  assets: string,
  { functions, statements = [], api, resources }: SmallStack,
): Promise<{ template: Template; assets: string }> => {
  const Resources: Record<string, object> = {
    Api: resource('AWS::ApiGatewayV2::Api', { ProtocolType: 'HTTP', ...api }),
    Stage: stage(),
    Role: role({ Policies: [{ PolicyName: 'Own', PolicyDocument: policy(...statements) }] }),
    ...resources,
  };
  const isGuarded = functions['Authorizer'] !== undefined;
  for (const [name, code] of Object.entries(functions)) {
    const Code = { S3Bucket: 'assets', S3Key: `${await writeAsset(assets, code)}.zip` };
    const properties = { Code, Handler: 'index.handler', Role: arnOf('Role'), Runtime: 'nodejs24.x', Timeout: 900 };
    Resources[name] = resource('AWS::Lambda::Function', properties);
    Resources[`${name}Permission`] = permission(arnOf(name));
    if (name === 'Authorizer') {
      Resources['AuthorizerOfApi'] = authorizer(arnOf(name));
    } else {
      const target = { 'Fn::Join': ['/', ['integrations', { Ref: `${name}Integration` }]] };
      const guarded = { AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'AuthorizerOfApi' } };
      Resources[`${name}Integration`] = integration(arnOf(name), 30_000);
      Resources[`${name}Route`] = route(`GET /${name}`, target, isGuarded ? guarded : {});
    }
  }
  return { template: { Resources } as Template, assets };
};

/** Writes a function's code as an asset. @returns the hash that the CDK would give to the asset */
const writeAsset = async (assets: string, code: string): Promise<string> => {
  const digest = createHash('sha256').update(code).digest('hex');
  const folder = path.join(assets, `asset.${digest}`);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, code.startsWith('import ') ? 'index.mjs' : 'index.js'), code);
  return digest;
};
