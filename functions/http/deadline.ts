import type { MiddlewareObj } from '@middy/core';
import type { Context } from 'aws-lambda';

/** Ends the wait for others: aborts when the request must be answered. */
export type WithDeadline = Context & { deadline: AbortSignal };

/**
 * Gives the handler's context a `deadline`, `milliseconds` after the event came in. To be registered before whatever
 * takes time, so that reading a large body counts.
 */
export const deadline = (
  milliseconds: number,
): MiddlewareObj<unknown, unknown, Error, WithDeadline, { timer?: Timer }> => {
  const end = ({ internal }: { internal: { timer?: Timer } }) => clearTimeout(internal.timer);
  return {
    before: ({ context, internal }) => {
      // Not AbortSignal.timeout, which cannot be ended: each lives on for its time, and costs four times as much.
      const controller = new AbortController();
      internal.timer = setTimeout(() => controller.abort(), milliseconds);
      context.deadline = controller.signal;
    },
    after: end,
    onError: end,
  };
};

type Timer = NodeJS.Timeout;
