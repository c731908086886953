import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { ErrorBody } from '../../../functions/generated/contract.ts';
import { type CatalogueEntry, CatalogueError, errors } from './errors.ts';
import { jsonResponse } from './json-response.ts';
import { type OperationContext, storeTime } from './store-time.ts';

export type HttpEvent = Pick<APIGatewayProxyEventV2, 'requestContext'>;

export type ErrorClass = new (...args: never[]) => Error;

export type Translation = readonly [errorClass: ErrorClass, entry: CatalogueEntry];

/**
 * Turns a thrown error into a response from the error catalogue, and logs one line, with the reason for a 4xx or
 * the cause of a 5xx. Register this middleware first: Middy runs `onError` hooks in reverse order.
 * @example .use(errorResponse([[StoreUnavailable, errors.storeUnavailable]]))
 */
export const errorResponse = (
  translations: readonly Translation[],
): MiddlewareObj<HttpEvent, APIGatewayProxyStructuredResultV2, Error, OperationContext> => ({
  onError: (request) => {
    const thrown = request.error;
    const error = inCatalogue(thrown, translations);
    const { entry, message } = error;
    log(error, thrown, {
      store: storeTime(request.context.storeCalls),
      gatewayRequestId: request.event?.requestContext?.requestId,
    });
    request.response = jsonResponse(entry.status, { error: entry.error, message } satisfies ErrorBody, entry.headers);
  },
});

const inCatalogue = (thrown: unknown, translations: readonly Translation[]): CatalogueError => {
  if (thrown instanceof CatalogueError) return thrown;
  const translation = translations.find(([errorClass]) => thrown instanceof errorClass);
  return new CatalogueError(translation?.[1] ?? errors.fault);
};

const log = ({ entry: { status, error }, reason }: CatalogueError, thrown: unknown, more: object): void => {
  const bundle = process.env['BUNDLE_SHA256'];
  const failure = () => ({ outcome: 'failed', error, cause: describeError(thrown), bundle, ...more });
  if (status < 500) console.info({ outcome: 'refused', error, reason, ...more });
  else if (status === 503) console.warn(failure());
  else console.error(failure());
};

type ServiceMetadata = { httpStatusCode?: number; attempts?: number; requestId?: string };

/** Describes an error and up to three nested causes, without any content of the request. */
const describeError = (thrown: unknown, depth = 0): object => {
  if (!(thrown instanceof Error)) return { name: typeof thrown };
  const { name, cause, code, stack, $metadata } = thrown as Error & { code?: unknown; $metadata?: ServiceMetadata };
  const { httpStatusCode, attempts, requestId } = $metadata ?? {};
  // These errors may quote text from the network in `code` and in their message, with which the stack begins.
  const isQuote = '$response' in thrown || thrown instanceof SyntaxError;
  return {
    name: ifMatches(errorName, name),
    ...(!isQuote && { code: ifMatches(errorCode, code), stack }),
    ...(name === 'AccessDeniedException' && { denied: accessDenied.exec(thrown.message)?.[1] }),
    ...($metadata && { $metadata: { httpStatusCode, attempts, requestId: ifMatches(dynamoDBRequestId, requestId) } }),
    ...(cause !== undefined && depth < 3 && { cause: describeError(cause, depth + 1) }),
  };
};

/** A value without its usual form is not logged, because it might be a secret. */
const errorName = /^(?:[A-Z][A-Za-z]{0,60})?(?:Exception|Error|Failure|Exceeded|Unavailable)$/;
const errorCode = /^[A-Z][A-Z\d_]{1,60}$/;
const dynamoDBRequestId = /^[A-Z\d]{52}$/;

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html */
const accessDenied =
  /^User: \S+ is not authorized to perform: (dynamodb:[A-Za-z]+ on resource: arn:aws[\w-]*:dynamodb:[\w-]+:\d+:[\w./-]+)(?= |$)/;

const ifMatches = (pattern: RegExp, value: unknown): string | undefined =>
  typeof value === 'string' && pattern.test(value) ? value : undefined;
