import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { ErrorBody } from '../generated/contract.ts';
import { type CatalogueEntry, CatalogueError, errors } from './errors.ts';
import { jsonResponse } from './json-response.ts';
import { type OperationContext, storeTime } from './store-time.ts';

/** The part of an event (payload format 2.0) that every operation reads. */
export type HttpEvent = Pick<APIGatewayProxyEventV2, 'requestContext'>;

export type ErrorClass = new (...args: never[]) => Error;

/** An error class from outside http/ and the catalogue entry for its errors. */
export type Translation = readonly [errorClass: ErrorClass, entry: CatalogueEntry];

/**
 * Turns any thrown error into the catalogue's status and body, and logs one line. Clients never see an error's cause;
 * the cause of a 5xx goes to the log. Register this middleware first, because Middy runs `onError` hooks in reverse.
 * @example .use(errorResponse([[StoreUnavailable, errors.storeUnavailable]]))
 */
export const errorResponse = (
  translations: readonly Translation[],
): MiddlewareObj<HttpEvent, APIGatewayProxyStructuredResultV2, Error, OperationContext> => ({
  onError: (request) => {
    const thrown = request.error;
    const { entry, message } = inCatalogue(thrown, translations);
    log(entry, thrown, {
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

/** Logs one JSON line. Lambda's own logger adds the time, level and its own request id, which no client knows. */
const log = ({ status, error }: CatalogueEntry, thrown: unknown, more: object): void => {
  const bundle = process.env['BUNDLE_SHA256'];
  const failure = () => ({ outcome: 'failed', error, cause: evidence(thrown), bundle, ...more });
  if (status < 500) console.info({ outcome: 'refused', error, ...more });
  else if (status === 503) console.warn(failure());
  else console.error(failure());
};

/** The logged metadata of an AWS SDK call: its status, its attempts, and the request id that AWS Support asks for. */
type ServiceMetadata = { httpStatusCode?: number; attempts?: number; requestId?: string };

/** Describes an error and up to three causes for the log, without any content of the request. */
const evidence = (thrown: unknown, depth = 0): object => {
  if (!(thrown instanceof Error)) return { name: typeof thrown };
  const { name, cause, code, stack, $metadata } = thrown as Error & { code?: unknown; $metadata?: ServiceMetadata };
  const { httpStatusCode, attempts, requestId } = $metadata ?? {};
  // DynamoDB's errors and SyntaxErrors may quote text from the network, even in `code`. Their stack starts with their
  // message, so neither `code` nor the stack is logged.
  const isQuote = '$response' in thrown || thrown instanceof SyntaxError;
  return {
    name: ifMatches(errorName, name),
    ...(!isQuote && { code: ifMatches(errorCode, code), stack }),
    ...($metadata && { $metadata: { httpStatusCode, attempts, requestId: ifMatches(dynamoDBRequestId, requestId) } }),
    ...(cause !== undefined && depth < 3 && { cause: evidence(cause, depth + 1) }),
  };
};

/** Only values that look like an error name, an error code or a request id are logged; others might be secrets. */
const errorName = /^(?:[A-Z][A-Za-z]{0,60})?(?:Exception|Error|Failure|Exceeded|Unavailable)$/;
const errorCode = /^[A-Z][A-Z\d_]{1,60}$/;
const dynamoDBRequestId = /^[A-Z\d]{52}$/;

const ifMatches = (pattern: RegExp, value: unknown): string | undefined =>
  typeof value === 'string' && pattern.test(value) ? value : undefined;
