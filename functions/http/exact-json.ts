/** Text in which a double may not hold a number exactly. It may match inside a string, which only costs time. */
export const mayRound = /\d[.eE]|\d{16}/;

/**
 * The value of a JSON text, in which an integer that a double might round is a bigint.
 * @throws SyntaxError also for the keys that @middy/http-json-body-parser refuses
 */
export const parseExactly = (json: string): unknown => JSON.parse(json, exactValue);

const exactValue = (key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown => {
  if (key === '__proto__' || (key === 'constructor' && value && Object.hasOwn(value, 'prototype'))) {
    throw new SyntaxError(`The key ${key} is forbidden.`);
  }
  return typeof value === 'number' ? exactNumber(value, source) : value;
};

/**
 * The number that `source` writes, of which `value` is the nearest double: a bigint if the two differ. A number that only
 * rounding made whole (1.0000000000000000001) becomes NaN, which no integer check accepts.
 */
const exactNumber = (value: number, source: string): number | bigint => {
  // A double holds 15 digits. A 0 may be all that is left of 1e-400.
  const isExact = source.length <= 15 && Number.isSafeInteger(value) && (value !== 0 || !/[1-9]/.test(source));
  if (isExact || !Number.isInteger(value)) return value;
  return integerOf(source) ?? Number.NaN;
};

/**
 * The integer that a JSON number literal writes, whatever the spelling (`10`, `1e1`, `10.0`); undefined where it is no
 * integer or has more than 19 digits, the most an int64 has. Takes time in the length of the literal, not in its value.
 */
const integerOf = (literal: string): bigint | undefined => {
  const {
    sign,
    whole = '',
    fraction = '',
    exponent = '0',
  } = /^(?<sign>-?)(?<whole>\d+)(?:\.(?<fraction>\d+))?(?:[eE](?<exponent>[+-]?\d+))?$/.exec(literal)?.groups ?? {};
  const digits = whole + fraction;
  let first = 0;
  while (digits[first] === '0') first += 1;
  let end = digits.length;
  while (end > first && digits[end - 1] === '0') end -= 1;
  if (first === end) return 0n;
  const trailingZeros = Number(exponent) - fraction.length + (digits.length - end);
  if (trailingZeros < 0 || end - first + trailingZeros > 19) return undefined;
  return BigInt(`${sign}${digits.slice(first, end)}${'0'.repeat(trailingZeros)}`);
};
