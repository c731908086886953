import { expect, test, vi } from 'vitest';
import { parseExactly } from '../../../functions/http/exact-json.ts';

/** Counts how often `parseExactly` reads the text of a number again, after JSON.parse has read it. */
const readings = (number: string): number => {
  const exec = vi.spyOn(RegExp.prototype, 'exec');
  parseExactly(`[${number}]`);
  const count = exec.mock.contexts.filter((pattern) => String(pattern).includes('whole')).length;
  exec.mockRestore();
  return count;
};

test.each([
  [0, ['1', '-0', '0.0', '1e2', '1.5', '1e-7', '-12345678901234', '123456789012345']],
  [1, ['1234567890123456', '9007199254740993', '1e-400']],
])('parseExactly reads a number %i times more, because JSON.parse may have rounded it: %j', (count, numbers) => {
  for (const number of numbers) expect(readings(number), number).toBe(count);
});

test('parseExactly returns an integer of more than 19 digits as a double, and a fraction that was rounded to an integer as NaN', () => {
  expect(parseExactly('[1e20, -123456789012345678901]')).toEqual([1e20, -123456789012345680000]);
  expect(parseExactly('[1.0000000000000000001]')).toEqual([Number.NaN]);
});
