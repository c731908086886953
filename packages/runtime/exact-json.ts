/** Matches JSON text with a number that a double may not represent exactly. A match inside a string does no harm. */
export const mayRound = /\d[.eE]|\d{16}/;

/**
 * Parses JSON text. Integers that a JavaScript number might round become bigints.
 * @throws SyntaxError if the text is not JSON, or has a key that @middy/http-json-body-parser refuses
 * @example parseExactly('[9007199254740993, 1.5]') // [9007199254740993n, 1.5]
 */
export const parseExactly = (json: string): unknown => JSON.parse(json, exactValue);

/** Writes JSON text. Bigints keep all their digits. */
export const toExactJson = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? JSON.rawJSON(String(part)) : part));

const exactValue = (key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown => {
  if (key === '__proto__' || (key === 'constructor' && value && Object.hasOwn(value, 'prototype'))) {
    throw new SyntaxError(`The key ${key} is forbidden.`);
  }
  return typeof value === 'number' ? exactNumber(value, source) : value;
};

/**
 * Corrects `value`, which JSON.parse may have rounded: an integer of at most 19 digits becomes a bigint, and a fraction
 * that was rounded to a safe integer becomes NaN, which no check accepts.
 */
const exactNumber = (value: number, source: string): number | bigint => {
  // A double keeps 15 digits, but JSON.parse turns a tiny number such as 1e-400 into 0.
  const isExact = source.length <= 15 && Number.isSafeInteger(value) && (value !== 0 || !/[1-9]/.test(source));
  if (isExact || !Number.isInteger(value)) return value;
  return integerOf(source) ?? (Number.isSafeInteger(value) ? Number.NaN : value);
};

const jsonNumber = /^(?<sign>-?)(?<whole>\d+)(?:\.(?<fraction>\d+))?(?:[eE](?<exponent>[+-]?\d+))?$/;

/** Returns undefined for more than 19 digits (an int64 has no more), so that even 1e999999 takes little time. */
const integerOf = (literal: string): bigint | undefined => {
  const { sign, whole = '', fraction = '', exponent = '0' } = jsonNumber.exec(literal)?.groups ?? {};
  const digits = (whole + fraction).replace(/^0+/, '');
  // Keep the lookbehind: without it, the time would grow with the square of the length of a run of zeros.
  const significant = digits.replace(/(?<!0)0+$/, '');
  if (significant === '') return 0n;
  const trailingZeros = Number(exponent) - fraction.length + digits.length - significant.length;
  if (trailingZeros < 0 || significant.length + trailingZeros > 19) return undefined;
  return BigInt(`${sign}${significant}${'0'.repeat(trailingZeros)}`);
};
