import type { MiddlewareObj } from '@middy/core';
import type { Context } from 'aws-lambda';
import { CatalogueError, errors } from './errors.ts';

/** Lambda's context, with a signal that aborts calls to other services when the time for the request is up. */
export type WithDeadline = Context & { deadline: AbortSignal };

type Timer = { timer?: NodeJS.Timeout; endsAt?: number };

/**
 * Adds `deadline` to the handler's context: a signal that aborts `milliseconds` after the event came in. Register this
 * middleware before anything slow, so that reading a large body counts.
 * @example .use(deadline(2_300))
 */
export const deadline = (milliseconds: number): MiddlewareObj<unknown, unknown, Error, WithDeadline, Timer> => {
  const end = ({ internal }: { internal: Timer }) => clearTimeout(internal.timer);
  return {
    before: ({ context, internal }) => {
      // AbortSignal.timeout takes four times as long to create as a controller with a timer, and cannot be cancelled.
      const controller = new AbortController();
      internal.timer = setTimeout(() => controller.abort(), milliseconds);
      internal.endsAt = performance.now() + milliseconds;
      context.deadline = controller.signal;
    },
    after: end,
    onError: end,
  };
};

/** Milliseconds that must be left to call another service. The first call of an instance takes 30, or more with TLS. */
const enoughForACall = 200;

/**
 * Fails a request if parsing its body, during which no timer fires, took nearly all its time. Register this last.
 * @throws CatalogueError noTimeLeft
 * @example .use(timeLeft())
 */
export const timeLeft = (): MiddlewareObj<unknown, unknown, Error, WithDeadline, Timer> => ({
  before: ({ internal: { endsAt = 0 } }) => {
    if (endsAt - performance.now() < enoughForACall) throw new CatalogueError(errors.noTimeLeft);
  },
});
