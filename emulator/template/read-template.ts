/**
 * Reads every route, function, variable and key schema from the template that `cdk deploy` would upload. If a resource
 * cannot be served here as it would be deployed, the start fails.
 */
import path from 'node:path';
import { account, functionArn } from '../account.ts';
import type { AuthorizerSpec, FunctionSpec, RouteSpec, ServedStack, TableSpec, Target } from '../served-stack.ts';

type Resource = { Type: string; Properties: Record<string, unknown>; Metadata?: Record<string, string> };
export type Template = { Resources: Record<string, Resource> };

/** Reads what to serve from a template. @throws Error that names the resource that cannot be served as deployed */
export const readTemplate = (template: Template, folder: string): ServedStack => {
  const ofType = (type: string): [string, Resource][] =>
    Object.entries(template.Resources).filter(([, resource]) => resource.Type === type);

  /** Evaluates an intrinsic function as CloudFormation would, but with logical ids in place of physical names. */
  const resolve = (value: unknown): string => {
    if (typeof value === 'string') return value;
    const [intrinsic, argument] = Object.entries(value ?? {})[0] ?? [];
    if (intrinsic === 'Ref' && typeof argument === 'string') return pseudoParameters[argument] ?? refOf(argument);
    if (intrinsic === 'Fn::Join') {
      const [separator, parts] = argument as [string, unknown[]];
      return parts.map(resolve).join(separator);
    }
    if (intrinsic === 'Fn::GetAtt') {
      const [logicalId, attribute] = argument as [string, string];
      if (attribute === 'Arn') return functionArn(logicalId);
    }
    throw new Error(`${JSON.stringify(value)} in the template cannot be resolved locally.`);
  };

  /** The `Ref` of an alias is its ARN; the `Ref` of every other resource that is served here is its name. */
  const refOf = (logicalId: string): string => {
    const { Type, Properties: p } = template.Resources[logicalId] ?? {};
    if (Type !== 'AWS::Lambda::Alias' || p === undefined) return logicalId;
    return `${functionArn(resolve(p['FunctionName']))}:${resolve(p['Name'])}`;
  };

  const functions = ofType('AWS::Lambda::Function').map(([name, { Properties: p, Metadata }]): FunctionSpec => {
    const { Variables: variables = {} } = (p['Environment'] ?? {}) as { Variables?: Record<string, unknown> };
    return {
      name,
      folder: path.join(folder, required(Metadata?.['aws:asset:path'], `the asset path of ${name}`)),
      handler: resolve(p['Handler']),
      environment: Object.fromEntries(Object.entries(variables).map(([key, value]) => [key, resolve(value)])),
      timeout: 1000 * Number(p['Timeout'] ?? 3),
      memoryMegabytes: Number(p['MemorySize'] ?? 128),
      // MERGE: remove this line when the template's policies are read.
      role: [{ effect: 'Allow', actions: ['*'], resources: ['*'] }],
    };
  });

  const resource = (logicalId: string): Record<string, unknown> =>
    required(template.Resources[logicalId]?.Properties, `the resource ${logicalId}`);

  /**
   * The function that an ARN names, or an API Gateway path that contains an ARN. API Gateway needs permission to invoke
   * exactly that ARN, whether a function's or an alias's; without it, every request would get a 500.
   */
  const invocable = (uri: string): Target => {
    const [arn = '', functionName] = /arn:aws:lambda:[^/]*:function:(\w+)[^/]*/.exec(uri) ?? [];
    const { name } = required(
      functions.find((candidate) => candidate.name === functionName),
      `the function that ${uri} names`,
    );
    const isPermitted = ofType('AWS::Lambda::Permission').some(
      ([, { Properties: p }]) => p['Principal'] === 'apigateway.amazonaws.com' && resolve(p['FunctionName']) === arn,
    );
    required(isPermitted ? name : undefined, `a permission for API Gateway to invoke ${arn}`);
    return { functionName: name, arn, version: '$LATEST' };
  };

  const readAuthorizer = (name: string): AuthorizerSpec => {
    const p = resource(name);
    mustBe(name, p, { AuthorizerType: 'REQUEST', AuthorizerPayloadFormatVersion: '2.0' });
    mustBe(name, p, { EnableSimpleResponses: true, AuthorizerResultTtlInSeconds: 0 });
    const sources = (p['IdentitySource'] ?? []) as string[];
    const header = sources.length === 1 ? /^\$request\.header\.([\w-]+)$/.exec(sources[0] ?? '')?.[1] : undefined;
    return {
      target: invocable(resolve(p['AuthorizerUri'])),
      identitySources: [required(header, `exactly one header as the identity source of ${name}`)].map(
        (each) => `$request.header.${each}`,
      ),
    };
  };

  const routes = ofType('AWS::ApiGatewayV2::Route').map(([name, { Properties: p }]): RouteSpec => {
    const routeKey = resolve(p['RouteKey']);
    if (!/^[A-Z]+ \/[^{}]*$/.test(routeKey))
      throw new Error(`${name}: the route ${routeKey} cannot be served locally.`);
    const integrationName = resolve(p['Target']).replace(/^integrations\//, '');
    const integration = resource(integrationName);
    mustBe(integrationName, integration, { IntegrationType: 'AWS_PROXY', PayloadFormatVersion: '2.0' });
    const type = p['AuthorizationType'] ?? 'NONE';
    if (type !== 'NONE') mustBe(name, p, { AuthorizationType: 'CUSTOM' });
    return {
      routeKey,
      target: invocable(resolve(integration['IntegrationUri'])),
      timeout: Number(integration['TimeoutInMillis'] ?? 30_000),
      ...(type === 'CUSTOM' && { authorizer: readAuthorizer(resolve(p['AuthorizerId'])) }),
    };
  });

  const [stageName, stage] = required(ofType('AWS::ApiGatewayV2::Stage')[0], 'a stage of the API');
  mustBe(stageName, stage.Properties, { StageName: '$default', AutoDeploy: true });

  const [otherTable] = ofType('AWS::DynamoDB::Table');
  if (otherTable) throw new Error(`${otherTable[0]}: only AWS::DynamoDB::GlobalTable (TableV2) can be served locally.`);
  const tables = ofType('AWS::DynamoDB::GlobalTable').map(([name, { Properties: p }]): TableSpec => {
    const { KeySchema, AttributeDefinitions } = p as Pick<TableSpec, 'KeySchema' | 'AttributeDefinitions'>;
    return { TableName: name, KeySchema, AttributeDefinitions };
  });

  return { api: { routes }, functions, tables };
};

const pseudoParameters: Record<string, string> = {
  'AWS::AccountId': account.id,
  'AWS::Partition': 'aws',
  'AWS::Region': account.region,
  'AWS::URLSuffix': 'amazonaws.com',
};

const required = <T>(value: T | undefined, what: string): T => {
  if (value === undefined) throw new Error(`The template does not have ${what}.`);
  return value;
};

const mustBe = (name: string, properties: Record<string, unknown>, allowed: Record<string, unknown>): void => {
  for (const [key, value] of Object.entries(allowed)) {
    if (properties[key] === value) continue;
    throw new Error(`${name}: ${key} is ${JSON.stringify(properties[key])}; only ${value} can be served locally.`);
  }
};
