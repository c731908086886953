import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { type ErrorClass, errorResponse, type HttpEvent, type Translation } from './error-response.ts';
import { CatalogueError, errors } from './errors.ts';
import type { OperationContext } from './store-time.ts';

/**
 * Milliseconds before Lambda's time-out (5 s, infra/plant-store-stack.ts) at which a request is answered with 503 and
 * the handler's `signal` aborts. docs/decisions/contract.md promises an answer within 2.5 s, even if the store hangs.
 */
const timeoutEarlyInMillis = 2_700;

/**
 * Starts an operation's Middy chain: it answers each request in time, and errors with the catalogue's responses.
 * @param operation `unavailable` is the class of temporary errors of the store; `errors` are the other ones
 * @example httpOperation({ errors, unavailable: StoreUnavailable }).use(validEvent(contract)).handler(...)
 */
export const httpOperation = (operation: { errors: readonly Translation[]; unavailable: ErrorClass }) =>
  middy<HttpEvent, APIGatewayProxyStructuredResultV2, Error, OperationContext>({
    timeoutEarlyInMillis,
    timeoutEarlyResponse: () => {
      throw new CatalogueError(errors.storeUnavailable);
    },
  })
    .use(errorResponse([...operation.errors, [operation.unavailable, errors.storeUnavailable]]))
    .before(({ context }) => {
      context.storeCalls = [];
    });

/**
 * Fails a request if parsing its body, during which no timer fires, took nearly all its time. Register this last.
 * @throws CatalogueError noTimeLeft
 * @example .use(timeLeft())
 */
export const timeLeft = (): MiddlewareObj => ({
  before: ({ context }) => {
    const left = context.getRemainingTimeInMillis() - timeoutEarlyInMillis;
    // A call to the store needs some time: an instance's first call to another service takes 30 ms, or more with TLS.
    if (left < 200) throw new CatalogueError(errors.noTimeLeft);
  },
});
