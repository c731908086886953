import { expect, test, vi } from 'vitest';
import { storeTime } from '../../../functions/http/store-time.ts';

test('storeTime returns undefined if the store was not called', () => {
  expect(storeTime()).toBeUndefined();
  expect(storeTime([])).toBeUndefined();
});

test.each([
  ['one after the other', 1_008, 1_011],
  ['at the same time', 1_001, 1_002],
])(
  'for two calls %s, storeTime returns the total number of their attempts, and the time from the start of the first until both have ended',
  (_, startedAt, endedAt) => {
    const calls = [
      { startedAt: 1_000.3, endedAt: 1_007.1, attempts: 1 },
      { startedAt, endedAt, attempts: 3 },
    ];
    expect(storeTime(calls)).toEqual({ milliseconds: Math.max(7, endedAt - 1_000), attempts: 4 });
  },
);

test('if a call has not ended, storeTime measures until now, and leaves out the number of attempts', () => {
  vi.spyOn(performance, 'now').mockReturnValue(2_000);
  const calls = [{ startedAt: 1_000, endedAt: 1_007, attempts: 1 }, { startedAt: 1_500 }];
  expect(storeTime(calls)).toEqual({ milliseconds: 1_000, attempts: undefined });
});
