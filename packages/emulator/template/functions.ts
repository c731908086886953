import path from 'node:path';
import { type LogLevel, logLevels } from '../lambda/reports.ts';
import { type FunctionSpec, functionArn, type Target } from '../served-stack.ts';
import { aliasArn, arnOfFunction, functionName, functionNameIn, onlyVersion, versionArn } from './names.ts';
import type { Resource } from './resource.ts';
import type { Resources } from './resources.ts';
import { readPolicies } from './roles.ts';
import { namesIn, own, UnknownValue } from './template.ts';

type FunctionResource = Resource<'AWS::Lambda::Function'>;

/** Variables to set in place of the template's, by the name of a function. */
type Environment = Record<string, Record<string, string>>;

/**
 * Reads a function of a template. Numbers, such as the timeout, must be in Lambda's ranges:
 * https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html
 * @param assets is the folder of the CDK's assets
 */
export const readFunction = (
  fn: FunctionResource,
  resources: Resources,
  assets: string,
  environment: Environment,
): FunctionSpec => {
  if (isSet(fn, 'Layers')) fn.leaveOut('Layers', 'bundle what the function needs instead');
  if (isSet(fn, 'VpcConfig'))
    fn.leaveOut('VpcConfig', 'this machine is not in that network, so the function may reach other hosts');
  fn.text('FunctionName', '', /^[\w-]{1,64}$/);
  fn.mustBe('PackageType', ['Zip', undefined]);
  const runtime = fn.text('Runtime');
  if (!/^nodejs\d+\.x$/.test(runtime)) throw fn.unsupported('Runtime', runtime, 'Only Node.js runs here.');
  // With 0, Lambda would never run the function. Other values are ignored: `maxInstances` is the limit here.
  fn.number('ReservedConcurrentExecutions', 1, { min: 1 });
  return {
    name: functionName(fn),
    account: fn.account,
    ...readCode(fn, assets),
    handler: fn.text('Handler'),
    runtime,
    environment: readEnvironment(fn, own(environment, functionName(fn)) ?? {}),
    timeout: 1000 * fn.number('Timeout', 3, { min: 1, max: 900 }),
    memoryMegabytes: fn.number('MemorySize', 128, { min: 128, max: 10_240 }),
    logLevel: readLogLevel(fn),
    ...readPolicies(fn, resources),
  };
};

/** Whether a property is more than an empty list. What is unknown here may be in it. */
const isSet = (fn: FunctionResource, name: 'Layers' | 'VpcConfig'): boolean => {
  try {
    return [fn.evaluateKnown(name, fn.raw(name)) ?? []].flat().length > 0;
  } catch (error) {
    if (error instanceof UnknownValue) return true;
    throw error;
  }
};

/** @throws Error if no function has a name in `environment` */
export const checkNames = (resources: Resources, environment: Environment): void => {
  const names = resources.ofType('AWS::Lambda::Function').map(functionName);
  for (const name of Object.keys(environment)) {
    if (!names.includes(name))
      throw new Error(`The option environment names ${name}, but the functions of the stack are ${names.join(', ')}.`);
  }
};

/**
 * The folder of a function's code, or the code itself if it is in the template:
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-lambda-function-code.html
 */
const readCode = (fn: FunctionResource, assets: string): Pick<FunctionSpec, 'folder' | 'inlineCode'> => {
  const { ZipFile: code } = Object(fn.raw('Code')) as { ZipFile?: unknown };
  if (code === undefined) return { folder: path.join(assets, assetOf(fn, 'Code', fn.raw('Code'))) };
  return { folder: '', inlineCode: fn.textIn('Code.ZipFile', fn.evaluate('Code.ZipFile', code)) };
};

/**
 * The folder of an asset, which `content` in the property `name` refers to. The CDK puts an asset into the folder
 * asset.HASH or, if it is a zip file, into asset.HASH.zip, and uploads it as HASH.zip.
 */
const assetOf = (resource: Resource, name: string, content: unknown): string => {
  const { S3Key: key } = Object(content) as { S3Key?: unknown };
  const [, hash] = /(?:^|\/)([0-9a-f]{64})\.zip$/.exec(String(resource.evaluateKnown(`${name}.S3Key`, key))) ?? [];
  if (hash !== undefined) return `asset.${hash}`;
  throw resource.refuse(`its ${name} is not a CDK asset`);
};

/**
 * Reads the least severe level to log. Lambda filters lines by level only if LogFormat is JSON (the default is Text).
 */
const readLogLevel = (fn: FunctionResource): LogLevel | undefined => {
  const read = ['ApplicationLogLevel', 'LogFormat'] as const;
  const config = fn.fields('LoggingConfig', fn.raw('LoggingConfig') ?? {}, read, 'LogGroup SystemLogLevel');
  const { ApplicationLogLevel, LogFormat } = config;
  if (fn.evaluate('LoggingConfig.LogFormat', LogFormat) !== 'JSON') return undefined;
  const level = fn.evaluate('LoggingConfig.ApplicationLogLevel', ApplicationLogLevel) ?? 'INFO';
  const found = logLevels.find((each) => each === level);
  if (found !== undefined) return found;
  throw fn.unsupported('LoggingConfig.ApplicationLogLevel', level, `Use one of ${logLevels.join(', ')}.`);
};

const latest = '$LATEST';

/**
 * Finds the function, version or alias that a resource wants to invoke. `uri` is its ARN, or a path that contains it.
 * @throws Refusal if the template has no such function, version or alias, if it is left out, or if API Gateway may not
 * invoke exactly that ARN: on AWS, every request would then get a 500
 */
export type FindTarget = (resource: Resource, uri: string) => Target;

/** What may be invoked in a stack, and the ARNs that API Gateway has a permission to invoke. */
const readInvocables = (stack: Resources) => ({
  all: [
    ...stack.ofType('AWS::Lambda::Function').map((part) => ({ part, arn: arnOfFunction(part), version: latest })),
    ...stack.ofType('AWS::Lambda::Version').map((part) => ({ part, arn: versionArn(part), version: onlyVersion })),
    ...stack.ofType('AWS::Lambda::Alias').map((part) => {
      return { part, arn: aliasArn(part), version: part.text('FunctionVersion', '') };
    }),
  ],
  permitted: stack.readAll(['AWS::Lambda::Permission'], (permission) => {
    const isOfGateway = permission.text('Principal') === 'apigateway.amazonaws.com';
    const mayInvoke = ['lambda:InvokeFunction', 'lambda:*', '*'].includes(permission.text('Action'));
    const text = isOfGateway && mayInvoke ? permission.text('FunctionName') : '';
    return text.startsWith('arn:') ? text : functionArn(permission.account, text);
  }),
});

export const targetFinder = (resources: Resources): FindTarget => {
  const { all, permitted } = readInvocables(resources);

  /** Finds what has an ARN. @throws Refusal of its `user` */
  const need = (user: Resource, wanted: string, what: string) => {
    const found = all.find(({ arn }) => arn === wanted);
    if (found === undefined) throw user.refuse(`the template has no ${what}`);
    found.part.mustBeServed();
    return found;
  };

  return (resource, uri) => {
    const arn = /\/functions\/(.*)\/invocations$/.exec(uri)?.[1] ?? uri;
    const { part, version } = need(resource, arn, `function, version or alias ${arn}`);
    const name = functionNameIn(arn);
    const unqualified = arn.replace(/(:function:[^:]+):.*/, '$1');
    need(part, unqualified, `function ${name}`);
    if (version !== latest) need(part, `${unqualified}:${version}`, `version ${version} of ${name}`);
    if (permitted.includes(arn)) return { functionName: name, arn, version };
    const advice = 'Add an AWS::Lambda::Permission for exactly that ARN, with the principal apigateway.amazonaws.com.';
    throw resource.refuse(`API Gateway has no permission to invoke ${arn}`, advice);
  };
};

/** Reads the environment variables that the template gives to a function, apart from those in `replaced`. */
const readEnvironment = (fn: FunctionResource, replaced: Record<string, string>): Record<string, string> => {
  const { Variables: raw } = fn.fields('Environment', fn.raw('Environment') ?? {}, ['Variables']);
  const variables = fn.evaluate('Environment.Variables', { ...Object(raw), ...replaced });
  return Object.fromEntries(
    Object.entries(fn.object('Environment.Variables', variables)).map(([name, value]) => {
      const path = `Environment.Variables.${name}`;
      if (reserved.has(name)) throw fn.refuse(`its ${path} is reserved by Lambda`, 'Rename the variable.');
      if (name === 'AWS_ENDPOINT_URL_DYNAMODB') {
        const advice = 'Leave it out of the template, and pass `store: { endpoint }`.';
        throw fn.refuse(`its ${path} must be left to the emulator, which sets it to the address of the store`, advice);
      }
      if (!/^[a-z]\w+$/i.test(name)) throw fn.refuse(`its ${path} has a name that AWS refuses`, 'Rename the variable.');
      if (typeof value !== 'object') return [name, String(value)];
      throw fn.refuse(`its ${path} is not a string`, 'Set it to a string.');
    }),
  );
};

/**
 * The environment variables that Lambda reserves:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 */
const reserved: ReadonlySet<string> = new Set(
  namesIn(`
    _HANDLER _X_AMZN_TRACE_ID AWS_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_DEFAULT_REGION AWS_EXECUTION_ENV
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE AWS_LAMBDA_FUNCTION_NAME AWS_LAMBDA_FUNCTION_VERSION
    AWS_LAMBDA_INITIALIZATION_TYPE AWS_LAMBDA_LOG_GROUP_NAME AWS_LAMBDA_LOG_STREAM_NAME AWS_LAMBDA_RUNTIME_API
    AWS_REGION AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN LAMBDA_RUNTIME_DIR LAMBDA_TASK_ROOT`),
);
