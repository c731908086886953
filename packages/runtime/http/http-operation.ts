import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { functionTimeout, responseTime } from '../time-budget.ts';
import { type ErrorRows, errorResponse, type HttpEvent } from './error-response.ts';
import { CatalogueError, errors } from './errors.ts';
import type { OperationContext } from './store-time.ts';

/** Milliseconds from the abort of the handler's `signal` to the function's time-out. */
const timeoutEarlyInMillis = functionTimeout - responseTime;

class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Starts an operation's chain of Middy middlewares. It responds before the time-out, and turns errors into responses.
 * @example httpOperation(errors).use(validEvent(rules)).handler(...)
 */
export const httpOperation = (table: ErrorRows) =>
  middy<HttpEvent, APIGatewayProxyStructuredResultV2, Error, OperationContext>({
    timeoutEarlyInMillis,
    timeoutEarlyResponse: () => {
      throw new TimeoutError('the operation did not end in time');
    },
  })
    .use(errorResponse({ ...table, 50301: [...(table[50301] ?? []), [TimeoutError]] }))
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
