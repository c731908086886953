import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { CatalogueError, type ErrorResponse, errors } from './errors.ts';
import { jsonResponse } from './json-response.ts';
import { type OperationContext, storeTime } from './store-time.ts';

export type HttpEvent = Pick<APIGatewayProxyEventV2, 'requestContext'>;

type ErrorClass = new (...args: never[]) => Error;

/** A class of errors, and the message of their response. Without a message, it is that of the shared error. */
type ErrorRow = readonly [errorClass: ErrorClass, message?: string];

/** For each error number, the classes of errors that are answered with it. */
export type ErrorRows = Readonly<Record<number, readonly ErrorRow[]>>;

/**
 * The error table of an operation of the contract. It does not compile if the contract has an error number of its own
 * that the table lacks, if the table has one that the contract lacks, or if the contract lacks a shared one.
 */
export type ErrorTable<Operation extends { body: unknown; errorCode: number }> =
  SharedCode<Operation['body']> extends Operation['errorCode']
    ? {
        readonly [Code in Exclude<Operation['errorCode'], AnySharedCode>]: readonly [
          Required<ErrorRow>,
          ...Required<ErrorRow>[],
        ];
      } & {
        readonly [Code in Extract<Operation['errorCode'], AnySharedCode>]?: readonly ErrorRow[];
      }
    : { 'the contract lacks': Exclude<SharedCode<Operation['body']>, Operation['errorCode']> };

/** The numbers that every operation can answer with, and those that only a body can cause. */
type SharedCode<Body> =
  | CodeOf<'fault' | 'storeUnavailable' | 'noTimeLeft'>
  | (undefined extends Body ? never : AnySharedCode);
type AnySharedCode = CodeOf<keyof typeof errors>;
type CodeOf<Name extends keyof typeof errors> = (typeof errors)[Name]['error'];

/**
 * Turns a thrown error into a response, and logs one line, with the reason for a 4xx or the cause of a 5xx. An error
 * without a row is a 500. Register this middleware first: Middy runs `onError` hooks in reverse order.
 * @example .use(errorResponse({ 50301: [[StoreUnavailable]], 40401: [[OrderNotFound, 'no order has this id']] }))
 */
export const errorResponse = (
  table: ErrorRows,
): MiddlewareObj<HttpEvent, APIGatewayProxyStructuredResultV2, Error, OperationContext> => ({
  onError: (request) => {
    const thrown = request.error;
    const error = inCatalogue(thrown, table);
    const { response, message } = error;
    log(error, thrown, {
      store: storeTime(request.context.storeCalls),
      gatewayRequestId: request.event?.requestContext?.requestId,
    });
    request.response = jsonResponse(response.status, { error: response.error, message }, response.headers);
  },
});

const inCatalogue = (thrown: unknown, table: ErrorRows): CatalogueError => {
  if (thrown instanceof CatalogueError) return thrown;
  for (const [number, rows] of Object.entries(table)) {
    const row = rows.find(([errorClass]) => thrown instanceof errorClass);
    if (row) return new CatalogueError(responseOf(Number(number), row[1]));
  }
  return new CatalogueError(errors.fault);
};

/** The first three digits of an error number are the status. */
export const responseOf = (error: number, message?: string): ErrorResponse => {
  const shared = Object.values<ErrorResponse>(errors).find((response) => response.error === error);
  return { status: Math.floor(error / 100), error, headers: {}, ...shared, message: message ?? shared?.message ?? '' };
};

const log = ({ response: { status, error }, reason }: CatalogueError, thrown: unknown, more: object): void => {
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
