import { expect, test, vi } from 'vitest';
import { storeTime } from '../../../functions/http/store-time.ts';

test('storeTime is undefined without a call', () => {
  expect(storeTime()).toBeUndefined();
  expect(storeTime([])).toBeUndefined();
});

test('storeTime rounds the time of a call to milliseconds', () => {
  expect(storeTime([{ startedAt: 1_000.3, endedAt: 1_007.1, attempts: 2 }])).toEqual({ milliseconds: 7, attempts: 2 });
});

test.each([
  ['one after the other', 1_008, 1_011],
  ['at the same time', 1_001, 1_002],
])('storeTime adds up the attempts of calls %s, and ends with the last one', (_, startedAt, endedAt) => {
  const calls = [
    { startedAt: 1_000, endedAt: 1_007, attempts: 1 },
    { startedAt, endedAt, attempts: 3 },
  ];
  expect(storeTime(calls)).toEqual({ milliseconds: Math.max(7, endedAt - 1_000), attempts: 4 });
});

test('storeTime counts until now, and leaves out the attempts, if a call has not ended', () => {
  vi.spyOn(performance, 'now').mockReturnValue(2_000);
  const calls = [{ startedAt: 1_000, endedAt: 1_007, attempts: 1 }, { startedAt: 1_500 }];
  expect(storeTime(calls)).toEqual({ milliseconds: 1_000, attempts: undefined });
});
