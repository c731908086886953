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

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Unavailable())));

test.each([
  ['aborts with its signal', '', aborted],
  ['does not end', 'the operation did not end in time', () => new Promise<never>(() => {})],
])(
  'if an operation %s, it responds with 503 after 2.3 s, and logs one line with the reason %j',
  async (_, reason, handler) => {
    const answered = vi.fn();
    void invoke(handler).then(answered);
    await vi.advanceTimersByTimeAsync(2_299);
    expect(answered).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(answered).toHaveBeenCalledWith(
      expect.objectContaining({ statusCode: 503, body: expect.stringContaining('50301') }),
    );
    const cause = expect.objectContaining({ stack: expect.stringContaining(`Error: ${reason}\n`) });
    const line = expect.objectContaining({ outcome: 'failed', error: 50301, cause });
    expect(vi.mocked(console.warn).mock.calls).toEqual([[line]]);
  },
);
