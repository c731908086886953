/** Writes the template of a small stack, and the code of its functions, for tests that serve it. */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Template } from '../../template/read-template.ts';
import { arnOf, authorizer, integration, permission, policy, resource, role, route, stage } from './template-parts.ts';

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
