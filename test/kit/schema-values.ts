/** Generates random values from the schemas of a contract, for property tests. */
import fc from 'fast-check';
import { isSchema } from '../../scripts/contract/schemas.ts';
import { type Place, partsOf } from '../../scripts/contract/subset.ts';

/**
 * Returns all strings and numbers in a schema, such as choices and limits, and for each number n also n - 1 and n + 1.
 */
const edgesOf = (value: unknown): unknown[] => {
  if (typeof value === 'number') return [value - 1, value, value + 1];
  return value instanceof Object ? Object.values(value).flatMap(edgesOf) : [value];
};

const [int32, int64] = [2n ** 31n, 2n ** 63n];
const powers = [-int64 - 1n, -int64, -int32 - 1n, -int32, int32 - 1n, int32, int64 - 1n, int64];

/**
 * Generates values that mostly follow the schema `place.schema`, up to the limits in the schema and a little beyond.
 * @param place a schema to follow, and the contract that contains the schema
 * @param other another schema, whose limits are tried, too
 */
export const valuesOf = (place: Place, other: Place): fc.Arbitrary<unknown> => {
  const edges = [place, other].flatMap(({ contract, schema }) => edgesOf([contract.components.schemas, schema]));
  const numbers = edges.filter((edge) => typeof edge === 'number');
  const words = edges.filter((edge) => typeof edge === 'string');
  const lengths = numbers.filter((length) => Number.isInteger(length) && length >= 0 && length < 100_000);
  const long = lengths.map((length) => 'a'.repeat(length));
  const scalars: Record<string, fc.Arbitrary<unknown>> = {
    string: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', ...long, ...words)),
    integer: fc.oneof(fc.integer(), fc.bigInt(-int64, int64), fc.constantFrom<unknown>(...powers, ...numbers)),
    number: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, ...numbers)),
    boolean: fc.boolean(),
    null: fc.constant(null),
  };
  return drawn(place, scalars, 5);
};

const drawn = (place: Place, scalars: Record<string, fc.Arbitrary<unknown>>, depth: number): fc.Arbitrary<unknown> => {
  const parts = partsOf(place);
  const find = (keyword: string): unknown[] => parts.flatMap((part) => part[keyword] ?? []);
  const inner = (schema: unknown): fc.Arbitrary<unknown> =>
    isSchema(schema) && depth > 0 ? drawn({ ...place, schema }, scalars, depth - 1) : fc.jsonValue({ maxDepth: 1 });
  const object = () => {
    const fields: Record<string, unknown> = Object.assign({}, ...(find('properties') as object[]));
    const values = Object.entries(fields).map(([name, schema]) => [name, inner(schema)]);
    const requiredKeys = find('required').filter((name) => String(name) in fields);
    const unknown = { 'not in the contract': fc.jsonValue({ maxDepth: 1 }) };
    return fc.record({ ...unknown, ...Object.fromEntries(values) }, { requiredKeys: requiredKeys as never[] });
  };
  const choices = [...find('enum'), ...find('const')];
  if (choices.length > 0) return fc.constantFrom(...choices);
  const alternatives = [...find('anyOf'), ...find('oneOf')];
  if (alternatives.length > 0) return fc.oneof(...alternatives.map(inner));
  const made = find('type').map((type) => {
    if (type === 'object') return object();
    if (type === 'array') return fc.array(inner(find('items')[0]), { maxLength: 5 });
    return scalars[String(type)] ?? fc.jsonValue();
  });
  return made.length > 0 ? fc.oneof(...made) : fc.jsonValue();
};
