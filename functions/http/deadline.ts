import type { MiddlewareObj } from '@middy/core';
import type { Context } from 'aws-lambda';
import { CatalogueError, errors } from './errors.ts';

/** Ends the wait for others: aborts when the request must be answered. */
export type WithDeadline = Context & { deadline: AbortSignal };

type Timer = { timer?: NodeJS.Timeout; endsAt?: number };

/**
 * Gives the handler's context a `deadline`, `milliseconds` after the event came in. To be registered before whatever
 * takes time, so that reading a large body counts.
 */
export const deadline = (milliseconds: number): MiddlewareObj<unknown, unknown, Error, WithDeadline, Timer> => {
  const end = ({ internal }: { internal: Timer }) => clearTimeout(internal.timer);
  return {
    before: ({ context, internal }) => {
      // Not AbortSignal.timeout, which cannot be ended: each lives on for its time, and costs four times as much.
      const controller = new AbortController();
      internal.timer = setTimeout(() => controller.abort(), milliseconds);
      internal.endsAt = performance.now() + milliseconds;
      context.deadline = controller.signal;
    },
    after: end,
    onError: end,
  };
};

/** Milliseconds. With less, a call is cut off before it can be answered: a cold start needs 30, TLS some more. */
const enoughForACall = 200;

/**
 * Ends a request whose body took nearly all of its time to read: no timer fires during that. To be registered last.
 * @throws CatalogueError noTimeLeft
 */
export const timeLeft = (): MiddlewareObj<unknown, unknown, Error, WithDeadline, Timer> => ({
  before: ({ internal: { endsAt = 0 } }) => {
    if (endsAt - performance.now() < enoughForACall) throw new CatalogueError(errors.noTimeLeft);
  },
});
