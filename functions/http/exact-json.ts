/** Matches JSON text with a number that a double may not represent exactly. A match inside a string only costs time. */
export const mayRound = /\d[.eE]|\d{16}/;

/**
 * Parses JSON text. Integers that a double might round become bigints.
 * @throws SyntaxError if the text is not JSON, or has a key that @middy/http-json-body-parser refuses
 * @example parseExactly('[9007199254740993, 1.5]') // [9007199254740993n, 1.5]
 */
export const parseExactly = (json: string): unknown => JSON.parse(json, exactValue);

const exactValue = (key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown => {
  if (key === '__proto__' || (key === 'constructor' && value && Object.hasOwn(value, 'prototype'))) {
    throw new SyntaxError(`The key ${key} is forbidden.`);
  }
  return typeof value === 'number' ? exactNumber(value, source) : value;
};

/**
 * Returns the number written in `source`, as a bigint if its nearest double, `value`, might differ. A number that only
 * rounding made whole (1.0000000000000000001) becomes NaN, which no check accepts. Beyond 19 digits it stays a double.
 */
const exactNumber = (value: number, source: string): number | bigint => {
  // A double holds any 15 digits exactly. But it rounds 1e-400 to 0, so only a literal without 1-9 really means 0.
  const isExact = source.length <= 15 && Number.isSafeInteger(value) && (value !== 0 || !/[1-9]/.test(source));
  if (isExact || !Number.isInteger(value)) return value;
  return integerOf(source) ?? (Number.isSafeInteger(value) ? Number.NaN : value);
};

const jsonNumber = /^(?<sign>-?)(?<whole>\d+)(?:\.(?<fraction>\d+))?(?:[eE](?<exponent>[+-]?\d+))?$/;

/**
 * Reads an integer in any JSON spelling (`10`, `1e1`, `10.0`). Returns undefined for other numbers and for more than 19
 * digits, the most an int64 has. The time it takes depends on the literal's length, not on its value.
 */
const integerOf = (literal: string): bigint | undefined => {
  const { sign, whole = '', fraction = '', exponent = '0' } = jsonNumber.exec(literal)?.groups ?? {};
  const digits = (whole + fraction).replace(/^0+/, '');
  // Without the lookbehind, the time would grow with the square of the length of a run of zeros.
  const significant = digits.replace(/(?<!0)0+$/, '');
  if (significant === '') return 0n;
  const trailingZeros = Number(exponent) - fraction.length + digits.length - significant.length;
  if (trailingZeros < 0 || significant.length + trailingZeros > 19) return undefined;
  return BigInt(`${sign}${significant}${'0'.repeat(trailingZeros)}`);
};
