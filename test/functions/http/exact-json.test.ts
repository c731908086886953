import { expect, test, vi } from 'vitest';
import { parseExactly } from '../../../functions/http/exact-json.ts';

/** Counts how many times `parseExactly` parses the text of a number again, after JSON.parse has parsed it. */
const readings = (number: string): number => {
  const exec = vi.spyOn(RegExp.prototype, 'exec');
  parseExactly(`[${number}]`);
  const count = exec.mock.contexts.filter((pattern) => String(pattern).includes('whole')).length;
  exec.mockRestore();
  return count;
};

test.each(['0', '1', '-0', '0.0', '1e2', '1.5', '1e-7', '-12345678901234', '123456789012345'])(
  "parseExactly uses JSON.parse's value of %s, without parsing the text again, because that value is not an integer, or is a short one, which JSON.parse does not round",
  (number) => {
    expect(readings(number), 'readings').toBe(0);
  },
);

test.each(['1234567890123456', '9007199254740993', '1e-400', '1e18', '0e5'])(
  'parseExactly parses the text of the number %s again, because JSON.parse may have rounded this number',
  (number) => {
    expect(readings(number), 'readings').toBe(1);
  },
);

test('parseExactly returns an integer of more than 19 digits as a double, because it is too long for an int64, but valid for the JSON Schema type number', () => {
  expect(parseExactly('[1e20, -123456789012345678901]')).toEqual([1e20, -123456789012345680000]);
  expect(parseExactly('[1.0000000000000000001]'), 'a number that only rounding made whole').toEqual([Number.NaN]);
});
