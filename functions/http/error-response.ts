import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { Error as ErrorBody } from '../generated/contract.ts';
import { type CatalogueEntry, CatalogueError, errors } from './errors.ts';

/** An error class of another room, and the catalogue's word for it. */
export type Translation = readonly [errorClass: new (...args: never[]) => Error, entry: CatalogueEntry];

/**
 * Turns whatever is thrown into an Error body of the catalogue, and writes the request's one log line. The client sees
 * the catalogue only; the cause of a 5xx goes to the log.
 *
 * To be registered first: Middy runs `onError` hooks in reverse, so this one has the last word.
 */
export const errorResponse = (
  translations: readonly Translation[],
): MiddlewareObj<unknown, APIGatewayProxyStructuredResultV2> => ({
  onError: (request) => {
    const thrown = request.error;
    const refusal = inCatalogue(thrown, translations);
    log(refusal, thrown);
    request.response = toResponse(refusal);
  },
});

const inCatalogue = (thrown: unknown, translations: readonly Translation[]): CatalogueError => {
  if (thrown instanceof CatalogueError) return thrown;
  const translation = translations.find(([errorClass]) => thrown instanceof errorClass);
  return new CatalogueError(translation?.[1] ?? errors.fault);
};

/** One line, in the JSON format of Lambda's own logger, which adds time, level and request id. */
const log = ({ entry: { status, error } }: CatalogueError, thrown: unknown): void => {
  if (status < 500) console.info({ outcome: 'refused', error });
  else if (status === 503) console.warn({ outcome: 'failed', error, cause: evidence(thrown) });
  else console.error({ outcome: 'failed', error, cause: evidence(thrown) });
};

const toResponse = ({ entry, message }: CatalogueError): APIGatewayProxyStructuredResultV2 => {
  const body: ErrorBody = { error: entry.error, message };
  return {
    statusCode: entry.status,
    headers: { 'content-type': 'application/json', ...entry.headers },
    body: JSON.stringify(body),
  };
};

/** What the AWS SDK tells of a call, as far as it is logged: what AWS's support asks for, and how hard was tried. */
type ServiceMetadata = { httpStatusCode?: number; attempts?: number; requestId?: string };

/** What a reader of the log needs of an error and its causes, and nothing of the request. */
const evidence = (thrown: unknown, depth = 0): object => {
  if (!(thrown instanceof Error)) return { name: typeof thrown };
  const { name, cause, code, stack, $metadata } = thrown as Error & { code?: unknown; $metadata?: ServiceMetadata };
  const { httpStatusCode, attempts, requestId } = $metadata ?? {};
  // Made of an answer from the network, as an error of DynamoDB is: all of its words are those of whoever answered. The
  // stack begins with the message.
  const isQuote = '$response' in thrown || thrown instanceof SyntaxError;
  return {
    name: like(errorName, name),
    ...(!isQuote && { code: like(errorCode, code), stack }),
    ...($metadata && { $metadata: { httpStatusCode, attempts, requestId: like(requestIdOfDynamoDB, requestId) } }),
    ...(cause !== undefined && depth < 3 && { cause: evidence(cause, depth + 1) }),
  };
};

/** As programs name their errors. What else stands in their place may be anybody's secret. */
const errorName = /^(?:[A-Z][A-Za-z]{0,60})?(?:Exception|Error|Failure|Exceeded|Unavailable)$/;
const errorCode = /^[A-Z][A-Z\d_]{1,60}$/;
const requestIdOfDynamoDB = /^[A-Z\d]{52}$/;

const like = (pattern: RegExp, value: unknown): string | undefined =>
  typeof value === 'string' && pattern.test(value) ? value : undefined;
