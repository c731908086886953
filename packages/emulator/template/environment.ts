import type { Resource } from './resource.ts';

/** Reads the environment variables that the template gives to a function. */
export const readEnvironment = (fn: Resource<'AWS::Lambda::Function'>): Record<string, string> => {
  const { Variables: variables = {} } = fn.fields('Environment', fn.get('Environment') ?? {}, ['Variables']);
  return Object.fromEntries(
    Object.entries(variables as object).map(([name, value]) => {
      const path = `Environment.Variables.${name}`;
      if (reserved.has(name)) throw fn.refuse(`its ${path} is reserved by Lambda`, 'Rename the variable.');
      if (name === 'AWS_ENDPOINT_URL_DYNAMODB') {
        const advice = 'Leave it out of the template, and pass `store: { endpoint }`.';
        throw fn.refuse(`its ${path} must be left to the emulator, which sets it to the address of the store`, advice);
      }
      if (typeof value !== 'object') return [name, String(value)];
      throw fn.refuse(`its ${path} is not a string`, 'Set it to a string.');
    }),
  );
};

/**
 * The environment variables that Lambda reserves:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 */
const reserved: ReadonlySet<string> = new Set([
  '_HANDLER',
  '_X_AMZN_TRACE_ID',
  'AWS_ACCESS_KEY',
  'AWS_ACCESS_KEY_ID',
  'AWS_DEFAULT_REGION',
  'AWS_EXECUTION_ENV',
  'AWS_LAMBDA_FUNCTION_MEMORY_SIZE',
  'AWS_LAMBDA_FUNCTION_NAME',
  'AWS_LAMBDA_FUNCTION_VERSION',
  'AWS_LAMBDA_INITIALIZATION_TYPE',
  'AWS_LAMBDA_LOG_GROUP_NAME',
  'AWS_LAMBDA_LOG_STREAM_NAME',
  'AWS_LAMBDA_RUNTIME_API',
  'AWS_REGION',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'LAMBDA_RUNTIME_DIR',
  'LAMBDA_TASK_ROOT',
]);
