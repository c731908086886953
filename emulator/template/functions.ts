import path from 'node:path';
import { functionArn } from '../account.ts';
import type { FunctionSpec, LogLevel, Target } from '../served-stack.ts';
import { aliasArn, functionName, functionNameIn, onlyVersion, versionArn } from './references.ts';
import type { Resource } from './resource.ts';
import type { Resources } from './resources.ts';
import { readRole } from './roles.ts';

type FunctionResource = Resource<'AWS::Lambda::Function'>;

/** @param assets is the folder that the paths of assets are relative to */
export const readFunctions = (resources: Resources, assets: string): FunctionSpec[] =>
  resources.ofType('AWS::Lambda::Function').map((one) => {
    one.mustBe('PackageType', ['Zip', undefined], 'Deploy the code as a folder or a zip file.');
    if (!/^nodejs\d+\.x$/.test(one.text('Runtime'))) {
      throw one.refuse(`its Runtime is ${one.text('Runtime')}`, 'Only Node.js runs here: use nodejs24.x.');
    }
    return {
      name: functionName(one),
      folder: path.join(assets, codeFolder(one)),
      handler: one.text('Handler'),
      environment: readEnvironment(one),
      timeout: 1000 * one.number('Timeout', 3),
      memoryMegabytes: one.number('MemorySize', 128),
      logLevel: readLogLevel(one),
      ...readRole(one, resources),
    };
  });

/** The folder of a function's code: the CDK puts an asset into asset.HASH, and uploads it as HASH.zip. */
const codeFolder = (one: FunctionResource): string => {
  const { S3Key: key } = Object(one.get('Code')) as { S3Key?: unknown };
  const [, hash] = /(?:^|\/)([0-9a-f]{64})\.zip$/.exec(String(key)) ?? [];
  if (hash !== undefined) return `asset.${hash}`;
  throw one.refuse('its Code is not an asset of the CDK', 'Deploy the code as a folder (in CDK: Code.fromAsset).');
};

const readEnvironment = (one: FunctionResource): Record<string, string> => {
  const { Variables: variables = {} } = one.fields('Environment', one.get('Environment') ?? {}, ['Variables']);
  return Object.fromEntries(
    Object.entries(variables as object).map(([name, value]) => {
      if (typeof value !== 'object') return [name, String(value)];
      throw one.refuse(`its Environment.Variables.${name} is not text`, 'Correct it.');
    }),
  );
};

const logLevels: LogLevel[] = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'];

/** Lambda filters lines by their level only if LogFormat is JSON; Text is the default. */
const readLogLevel = (one: FunctionResource): LogLevel => {
  const fields = one.fields('LoggingConfig', one.raw('LoggingConfig') ?? {}, [
    'ApplicationLogLevel',
    'LogFormat',
    'LogGroup',
    'SystemLogLevel',
  ]);
  const read = (field: 'ApplicationLogLevel' | 'LogFormat') => one.evaluate(`LoggingConfig.${field}`, fields[field]);
  if (read('LogFormat') !== 'JSON') return 'TRACE';
  const level = read('ApplicationLogLevel') ?? 'INFO';
  const known = logLevels.find((each) => each === level);
  if (known !== undefined) return known;
  throw one.refuse(`its LoggingConfig.ApplicationLogLevel is ${JSON.stringify(level)}`, `Use ${logLevels.join(', ')}.`);
};

/** Reads what an HTTP API can invoke, and finds it by its ARN. */
export class Invocables {
  readonly #targets: Target[];
  /** The ARNs that API Gateway has permission to invoke. */
  readonly #permitted: Set<string>;

  constructor(resources: Resources) {
    this.#targets = [
      ...resources.ofType('AWS::Lambda::Function').map((one) => {
        const name = functionName(one);
        return { functionName: name, arn: functionArn(name), version: '$LATEST' };
      }),
      ...resources.ofType('AWS::Lambda::Version').map((version) => ({
        functionName: functionNameIn(version.text('FunctionName')),
        arn: versionArn(version),
        version: onlyVersion,
      })),
      ...resources.ofType('AWS::Lambda::Alias').map((alias) => ({
        functionName: functionNameIn(alias.text('FunctionName')),
        arn: aliasArn(alias),
        version: alias.text('FunctionVersion'),
      })),
    ];
    const permissions = resources
      .ofType('AWS::Lambda::Permission')
      .filter((permission) => permission.text('Principal') === 'apigateway.amazonaws.com')
      .filter((permission) => ['lambda:InvokeFunction', 'lambda:*', '*'].includes(permission.text('Action')))
      .map((permission) => permission.text('FunctionName'));
    this.#permitted = new Set(permissions.map((text) => (text.startsWith('arn:') ? text : functionArn(text))));
  }

  /**
   * The function, version or alias whose ARN, or path that contains the ARN, stands in a property. API Gateway needs
   * permission to invoke exactly that ARN; without it, every request would get a 500.
   */
  find(
    resource: Resource<'AWS::ApiGatewayV2::Integration'> | Resource<'AWS::ApiGatewayV2::Authorizer'>,
    uri: string,
  ): Target {
    const arn = /\/functions\/(.*)\/invocations$/.exec(uri)?.[1] ?? uri;
    const target = this.#targets.find((each) => each.arn === arn);
    if (target === undefined) {
      throw resource.refuse(`the template has no function, version or alias ${arn}`, 'Define it in the same stack.');
    }
    if (this.#permitted.has(arn)) return target;
    throw resource.refuse(
      `API Gateway has no permission to invoke ${arn}`,
      'Add an AWS::Lambda::Permission for exactly that ARN, with the principal apigateway.amazonaws.com.',
    );
  }
}
