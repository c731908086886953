import middy from '@middy/core';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { deadline, type WithDeadline } from '../../../functions/http/deadline.ts';
import { lambdaContext } from '../../kit/gateway-events.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const invoke = (handler: (deadline: AbortSignal) => unknown): Promise<unknown> =>
  middy({ timeoutEarlyInMillis: 0 })
    .use(deadline(2_300))
    .handler(async (_, context: WithDeadline) => handler(context.deadline))({}, lambdaContext as WithDeadline);

test('the deadline aborts when its time is up, and not before', async () => {
  let signal: AbortSignal | undefined;
  const answer = invoke((deadline) => {
    signal = deadline;
    return new Promise((resolve) => deadline.addEventListener('abort', resolve));
  });
  await vi.advanceTimersByTimeAsync(2_299);
  expect(signal?.aborted, 'aborted after 2,299 ms').toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(signal?.aborted, 'aborted after 2,300 ms').toBe(true);
  await answer;
});

test.each([
  ['a response', () => 'response'],
  ['an error', () => Promise.reject(new Error())],
])('the deadline leaves no timer behind after %s', async (_, handler) => {
  let during = 0;
  await invoke(() => {
    during = vi.getTimerCount();
    return handler();
  }).catch(() => undefined);
  expect({ during, after: vi.getTimerCount() }, 'timers').toEqual({ during: 1, after: 0 });
});

test('the deadline of a request stays in force when another request ends', async () => {
  const signals: AbortSignal[] = [];
  const handler = middy({ timeoutEarlyInMillis: 0 })
    .use(deadline(2_300))
    .handler(async (wait, context: WithDeadline) => {
      signals.push(context.deadline);
      if (wait) await new Promise((resolve) => context.deadline.addEventListener('abort', resolve));
    });
  const context = () => ({ ...lambdaContext }) as WithDeadline;
  const requests = [true, false, true].map((wait) => handler(wait, context()).catch(() => undefined));
  await vi.advanceTimersByTimeAsync(2_300);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, true]);
  await Promise.all(requests);
});
