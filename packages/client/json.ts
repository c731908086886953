/** Like JSON.stringify, but writes a bigint as its digits. */
export const toJson = (value: unknown): string | undefined => {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if ('toJSON' in value && typeof value.toJSON === 'function') return toJson(value.toJSON());
  if (Array.isArray(value)) return `[${Array.from(value, (item) => toJson(item) ?? 'null').join()}]`;
  const fields = Object.entries(value).flatMap(([name, field]) => {
    const json = toJson(field);
    return json === undefined ? [] : [`${JSON.stringify(name)}:${json}`];
  });
  return `{${fields.join()}}`;
};

/** Like JSON.parse, but returns a bigint for an integer that a number would round, and undefined for invalid JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text, exactInteger);
  } catch {
    return undefined;
  }
};

/**
 * A JSON.parse reviver. `source` has the digits of a number. Node.js 20 does not pass `source`, so there an integer
 * beyond ±(2^53 - 1) stays rounded.
 */
const exactInteger = (_: string, value: unknown, { source = '' }: { source?: string } = {}): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value;

/** Returns whether two values that were parsed from JSON are equal. */
export const isEqual = (one: unknown, other: unknown): boolean => {
  if (!(one instanceof Object && other instanceof Object)) return one === other;
  const names = Object.keys(one);
  return (
    Array.isArray(one) === Array.isArray(other) &&
    names.length === Object.keys(other).length &&
    names.every((name) => isEqual(Reflect.get(one, name), Reflect.get(other, name)))
  );
};
