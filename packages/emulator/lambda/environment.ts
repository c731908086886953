/** The environment variables that an instance of a function gets besides those in the template. */
import { randomBytes } from 'node:crypto';
import { account } from '../account.ts';
import type { FunctionSpec } from '../served-stack.ts';

/**
 * The environment variables that Lambda sets: https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 */
export const lambdaVariables = (spec: FunctionSpec, folder: string): Record<string, string> => ({
  _HANDLER: spec.handler,
  AWS_DEFAULT_REGION: account.region,
  AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
  AWS_LAMBDA_FUNCTION_NAME: spec.name,
  AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(spec.memoryMegabytes),
  AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
  AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
  AWS_LAMBDA_LOG_FORMAT: 'JSON',
  AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${spec.name}`,
  AWS_LAMBDA_LOG_LEVEL: spec.logLevel,
  AWS_LAMBDA_LOG_STREAM_NAME: `${new Date().toISOString().slice(0, 10).replaceAll('-', '/')}/[$LATEST]${randomBytes(16).toString('hex')}`,
  AWS_REGION: account.region,
  LAMBDA_TASK_ROOT: folder,
  TZ: ':UTC',
});

/** If this process has a cache of compiled code, the function's thread uses it, too, and starts in half the time. */
export const compileCache = (): Record<string, string> => {
  const { NODE_COMPILE_CACHE: folder } = process.env;
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
};
