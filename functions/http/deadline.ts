import type { MiddlewareObj } from '@middy/core';
import type { Context } from 'aws-lambda';

/** Ends the wait for others: aborts when the request must be answered. */
export type WithDeadline = Context & { deadline: AbortSignal };

/**
 * Gives the handler's context a `deadline`, `milliseconds` after the event came in. To be registered before whatever
 * takes time, so that reading a large body counts.
 */
export const deadline = (milliseconds: number): MiddlewareObj<unknown, unknown, Error, WithDeadline> => ({
  before: ({ context }) => {
    context.deadline = AbortSignal.timeout(milliseconds);
  },
});
