import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { httpOperation } from '../../../functions/http/http-operation.ts';
import { lambdaContext, proxyEvent } from '../../kit/gateway-events.ts';

class Unavailable extends Error {}

beforeEach(() => {
  // Replace the timers of `node:timers` too, because Middy imports its timers from there.
  vi.useFakeTimers({ fakeNodeBuiltins: true });
  vi.spyOn(console, 'warn').mockReturnValue();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Invokes `handler` within the middleware of an operation. The invocation has 5 s until Lambda's time-out. */
const invoke = (handler: (signal: AbortSignal) => Promise<{ statusCode: number }>) =>
  httpOperation({ errors: [], unavailable: Unavailable }).handler((_, _context, { signal }) => handler(signal))(
    proxyEvent(undefined),
    { ...lambdaContext, storeCalls: [] },
  );

const ok = { statusCode: 200 };

const aborted = (signal: AbortSignal): Promise<typeof ok> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Unavailable())));

test.each([
  ['aborts with its signal', aborted],
  ['does not end', () => new Promise<never>(() => {})],
])('if an operation %s, it responds with 503 after 2.3 s, and logs one line', async (_, handler) => {
  const answered = vi.fn();
  void invoke(handler).then(answered);
  await vi.advanceTimersByTimeAsync(2_299);
  expect(answered).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(answered).toHaveBeenCalledWith(
    expect.objectContaining({ statusCode: 503, body: expect.stringContaining('50301') }),
  );
  expect(vi.mocked(console.warn).mock.calls).toEqual([[expect.objectContaining({ outcome: 'failed', error: 50301 })]]);
});

test.each([
  ['a response', () => Promise.resolve(ok)],
  ['an error', () => Promise.reject(new Unavailable())],
])('the Lambda function of an operation leaves no timer behind after it has ended with %s', async (_, handler) => {
  const response = invoke(handler);
  const during = vi.getTimerCount();
  await response;
  expect({ during, after: vi.getTimerCount() }, 'timers').toEqual({ during: 1, after: 0 });
});

test('the abort signal of a request fires at its deadline even if another request has ended earlier', async () => {
  const signals: AbortSignal[] = [];
  const requests = [true, false, true].map((waits) =>
    invoke((signal) => {
      signals.push(signal);
      return waits ? aborted(signal) : Promise.resolve(ok);
    }),
  );
  await vi.advanceTimersByTimeAsync(2_300);
  expect(signals.map((signal) => signal.aborted)).toEqual([true, false, true]);
  await Promise.all(requests);
});
