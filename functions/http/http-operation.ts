import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { type ErrorClass, errorResponse, type HttpEvent, type Translation } from './error-response.ts';
import { CatalogueError, errors } from './errors.ts';
import type { OperationContext } from './store-time.ts';

/**
 * How many milliseconds before the time-out (5 s, infra/plant-store-stack.ts) the handler's `signal` aborts. The value
 * lets an unfinished request get a 503 after 2.3 s: docs/decisions/contract.md promises a response within 2.5 s.
 */
export const timeoutEarlyInMillis = 2_700;

/**
 * Starts an operation's chain of Middy middlewares. It responds before the time-out, and turns errors into responses.
 * @param operation `errors` are the operation's own errors; `unavailable` is the class of the store's temporary errors
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
 * Fails a request if parsing its body has nearly used up the time, because no time-out can fire during the parsing.
 * Register this middleware last.
 * @throws CatalogueError noTimeLeft
 * @example .use(timeLeft())
 */
export const timeLeft = (): MiddlewareObj => ({
  before: ({ context }) => {
    const left = context.getRemainingTimeInMillis() - timeoutEarlyInMillis;
    // Leave at least 200 ms for calling the store: an instance's first call to another service takes 30 ms, and more
    // with TLS.
    if (left < 200) throw new CatalogueError(errors.noTimeLeft);
  },
});
