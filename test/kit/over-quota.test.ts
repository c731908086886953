import { afterEach, expect, test, vi } from 'vitest';
import { isOverQuota, retryWhile } from './over-quota.ts';

afterEach(() => {
  vi.useRealTimers();
});

test.each<[status: number, body: unknown, isOver: boolean]>([
  [429, { message: 'Too Many Requests' }, true],
  [500, { message: 'Internal Server Error' }, true],
  [503, { message: 'Service Unavailable' }, true],
  [500, { error: 50001, message: 'the service failed; the fault is ours' }, false],
  [503, { error: 50301, message: 'the store cannot answer now' }, false],
  [200, { name: 'Moss' }, false],
  [401, { message: 'Unauthorized' }, false],
  [403, { message: 'Forbidden' }, false],
  [404, { message: 'Not Found' }, false],
  [502, { message: 'Bad Gateway' }, false],
])(
  'isOverQuota recognizes a 429, 500 or 503 that the gateway itself sends: for %i %j, it returns %s',
  (status, body, isOver) => {
    expect(isOverQuota(status, body), 'over quota').toBe(isOver);
  },
);

test('retryWhile gives up after sending a refused request eight times in 13 seconds', async () => {
  vi.useFakeTimers();
  const send = vi.fn(async () => 429);
  const started = performance.now();
  const answer = retryWhile(send, (status) => status === 429);
  await vi.runAllTimersAsync();
  expect(await answer).toBe(429);
  expect(send).toHaveBeenCalledTimes(8);
  expect(performance.now() - started, 'milliseconds').toBe(12_700);
});
