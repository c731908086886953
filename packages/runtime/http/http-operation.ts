import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { type ErrorClass, errorResponse, type HttpEvent, type Translation } from './error-response.ts';
import { CatalogueError, errors } from './errors.ts';
import type { OperationContext } from './store-time.ts';

/**
 * Milliseconds from the abort of the handler's `signal` to the time-out (5 s, infra/plant-store-stack.ts): an unfinished
 * request gets a 503 after 2.3 s, because docs/decisions/contract.md promises a response within 2.5 s.
 */
export const timeoutEarlyInMillis = 2_700;

class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Starts an operation's chain of Middy middlewares. It responds before the time-out, and turns errors into responses.
 * @example httpOperation({ errors, unavailable: StoreUnavailable }).use(validEvent(contract)).handler(...)
 */
export const httpOperation = (operation: { errors: readonly Translation[]; unavailable: ErrorClass }) =>
  middy<HttpEvent, APIGatewayProxyStructuredResultV2, Error, OperationContext>({
    timeoutEarlyInMillis,
    timeoutEarlyResponse: () => {
      throw new TimeoutError('the operation did not end in time');
    },
  })
    .use(
      errorResponse([
        ...operation.errors,
        [operation.unavailable, errors.storeUnavailable],
        [TimeoutError, errors.storeUnavailable],
      ]),
    )
    .before(({ context }) => {
      context.storeCalls = [];
    });

/**
 * Fails a request whose parsing has nearly used up the time, because no time-out can fire meanwhile. Register it last.
 * @throws CatalogueError noTimeLeft
 */
export const timeLeft = (): MiddlewareObj => ({
  before: ({ context }) => {
    const left = context.getRemainingTimeInMillis() - timeoutEarlyInMillis;
    // An instance's first call to another service takes 30 ms, and more with TLS.
    if (left < 200) throw new CatalogueError(errors.noTimeLeft);
  },
});
