/**
 * The errors that Lambda's Node.js runtime reports: https://github.com/aws/aws-lambda-nodejs-runtime-interface-client
 */

export class MalformedHandlerNameError extends Error {
  override name = 'Runtime.MalformedHandlerName';
}

export class HandlerNotFoundError extends Error {
  override name = 'Runtime.HandlerNotFound';
}

export class ImportModuleError extends Error {
  override name = 'Runtime.ImportModuleError';
}

export class UserCodeSyntaxError extends Error {
  override name = 'Runtime.UserCodeSyntaxError';
}

export class CallbackHandlerDeprecatedError extends Error {
  override name = 'Runtime.CallbackHandlerDeprecated';
}

export class JSONStringifyError extends Error {
  override name = 'Runtime.JSONStringifyError';
}

export class UnhandledPromiseRejection extends Error {
  override name = 'Runtime.UnhandledPromiseRejection';
  readonly reason: unknown;

  constructor(reason: unknown) {
    super(String(reason));
    this.reason = reason;
  }
}

/** Describes a thrown value by its errorType and errorMessage, as Lambda does: `number: 7` if a function throws 7. */
export const errorText = (thrown: unknown): string =>
  thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `${typeof thrown}: ${String(thrown)}`;
