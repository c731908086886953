/** Random keys for tests, made of the schema that the contract has for the key. */
import fc from 'fast-check';

/** The rules of a schema that the keys follow. */
export type KeySchema = {
  type?: string;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
};

/**
 * Returns random keys, as text.
 * @throws Error if the contract, which `isAllowed` asks, allows none of a hundred such keys
 */
export const keysOf = (schema: KeySchema, isAllowed: (id: string) => boolean): fc.Arbitrary<string> => {
  let cause: unknown;
  try {
    const keys = schema.type === 'integer' ? integers(schema) : texts(schema);
    if (fc.sample(keys, 100).some(isAllowed)) return keys.filter(isAllowed);
  } catch (error) {
    cause = error;
  }
  const rules = JSON.stringify({ ...schema, description: undefined });
  throw new Error(
    `keys.ts of @lambda-service/testing makes no key that schemas/openapi.yaml allows: ${rules}. It knows the formats int32, int64 and ` +
      'uuid, a pattern without look-around, lengths and limits. Teach it the rule, or describe the key with these.',
    { cause },
  );
};

const ranges: Record<string, [least: bigint, most: bigint]> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};

const integers = ({ format = '', ...limits }: KeySchema): fc.Arbitrary<string> => {
  const [least, most] = ranges[format] ?? [-(2n ** 53n) + 1n, 2n ** 53n - 1n];
  const { minimum = limits.exclusiveMinimum ?? Number(least), maximum = limits.exclusiveMaximum ?? Number(most) } =
    limits;
  const [lower, upper] = [BigInt(Math.ceil(minimum)), BigInt(Math.floor(maximum))];
  return fc.bigInt({ min: lower > least ? lower : least, max: upper < most ? upper : most }).map(String);
};

const texts = ({ format, pattern, minLength = 0, maxLength }: KeySchema): fc.Arbitrary<string> => {
  if (format === 'uuid') return fc.uuid();
  if (pattern !== undefined)
    return fc.stringMatching(new RegExp(pattern, 'u'), { size: 'medium', ...(maxLength && { maxLength }) });
  const length = Math.max(minLength, Math.min(maxLength ?? 36, 36));
  const unit = fc.constantFrom(...'0123456789abcdefghijklmnopqrstuvwxyz');
  return fc.string({ unit, minLength: length, maxLength: length });
};

/** Returns a function that returns a new key each time, as long as there are any. */
export const newKeys = (keys: fc.Arbitrary<string>): (() => string) => {
  // One endless stream: a sample for each key would repeat keys of other runs, because its seed has only 32 bits.
  const stream = fc.sample(fc.infiniteStream(keys, { noHistory: true }), { numRuns: 1, unbiased: true })[0];
  const used = new Set<string>();
  return () => {
    const candidates = Array.from({ length: 8 }, (): string => stream?.next().value);
    // Another run could have used a short text, such as one that matches [a-z]+.
    const unused = candidates.filter((id) => !used.has(id)).sort((one, other) => other.length - one.length);
    // Forget keys if none is left, and before they fill the memory.
    if (unused.length === 0 || used.size > 10_000) used.clear();
    const id = unused[0] ?? String(candidates[0]);
    used.add(id);
    return id;
  };
};
