import middy from '@middy/core';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { deadline } from './deadline.ts';
import { type ErrorClass, errorResponse, type HttpEvent, type Translation } from './error-response.ts';
import { errors } from './errors.ts';

/**
 * Milliseconds until a request is answered, even if the store hangs. docs/decisions/contract.md promises 2.5 s. Lambda
 * would end the function only after 5 s (infra/plant-store-stack.ts).
 */
const timeLimit = 2_300;

/**
 * Starts the Middy chain of an operation: it answers every request in time, and errors with the catalogue's responses.
 * @param unavailable is the class of temporary errors of the store; `errors` are the operation's other ones
 * @example httpOperation({ errors, unavailable: StoreUnavailable }).use(validEvent(contract)).handler(...)
 */
export const httpOperation = (operation: { errors: readonly Translation[]; unavailable: ErrorClass }) =>
  // Middy's own time-out is off, because `deadline` ends every request long before it.
  middy<HttpEvent, APIGatewayProxyStructuredResultV2>({ timeoutEarlyInMillis: 0 })
    .use(errorResponse([...operation.errors, [operation.unavailable, errors.storeUnavailable]]))
    .use(deadline(timeLimit));
