import { event, lambdaContext } from '@lambda-service/testing/events';
import { expect, test, vi } from 'vitest';
import { httpOperation } from '../../http/http-operation.ts';

// The suite in packages/testing tests operations that end when their signal aborts.
test('if an operation does not end, it responds with 503 after 2.3 s, and logs one line with the reason', async () => {
  // Replace the timers of `node:timers` too, because Middy imports its timers from there.
  vi.useFakeTimers({ fakeNodeBuiltins: true });
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const operation = httpOperation({}).handler(() => new Promise(() => {}));
  const answered = vi.fn();
  // The invocation has 5 s until Lambda's time-out.
  void operation(event({ routeKey: 'POST /items' }), { ...lambdaContext, storeCalls: [] }).then(answered);
  await vi.advanceTimersByTimeAsync(2_299);
  expect(answered).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  const body = expect.stringContaining('50301');
  expect(answered).toHaveBeenCalledWith(expect.objectContaining({ statusCode: 503, body }));
  const stack = expect.stringContaining('Error: the operation did not end in time\n');
  const cause = expect.objectContaining({ stack });
  expect(warn.mock.calls).toEqual([[expect.objectContaining({ outcome: 'failed', error: 50301, cause })]]);
});
