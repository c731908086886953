/** Refuses schemas that the validators or the types would misread. */
import { type Contract, isSchema, mapSchema, resolve, type Schema } from './schemas.ts';

const notSupported = (what: string): Error => new Error(`${what} in schemas/openapi.yaml is not supported.`);

/** Keywords beside a $ref that only describe. Others would be missing in the types. */
const besideRef = ['title', 'description', 'example', 'examples', 'deprecated', 'default'];

const formats: Record<string, unknown[]> = {
  integer: [undefined, 'int32', 'int64'],
  number: [undefined, 'float', 'double'],
};

/** Checks a schema and every schema inside it. @throws Error that names what is not supported */
export const checkSchema = (contract: Contract, schema: Schema): void => {
  mapSchema(schema, (each) => {
    const { $ref, ...others } = each;
    const sibling = Object.keys(others).find((keyword) => !besideRef.includes(keyword));
    if ($ref !== undefined && sibling !== undefined) throw notSupported(`${sibling} beside a $ref to ${$ref}`);
    if ('nullable' in each) throw notSupported('nullable');
    refuseCircle(contract, each);
    const type = ['integer', 'number'].find((name) => [each['type']].flat().includes(name));
    if (type !== undefined) checkNumber(each, type);
    else refuseRounded(each, ['enum', 'const', 'default']);
    return each;
  });
};

const checkNumber = (schema: Schema, type: string): void => {
  const { format } = schema;
  if (!formats[type]?.includes(format)) throw notSupported(`The format ${format} of type ${type}`);
  const isInt64 = format === 'int64';
  // A client may send an int64 as a number or a bigint, which are never equal.
  const fixed = ['enum', 'const'].find((keyword) => keyword in schema);
  if (isInt64 && fixed !== undefined) throw notSupported(`${fixed} of an int64`);
  const limits = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
  const wrong = limits.find((limit) => limit in schema && !Number.isFinite(schema[limit]));
  if (wrong !== undefined) throw notSupported(`${wrong}: ${schema[wrong]}`);
  // YAML's numbers are doubles. Those of int64's own limits are known to mean them.
  const exact = limits.filter((limit) => !isInt64 || Math.abs(Number(schema[limit])) !== 2 ** 63);
  if (type === 'integer') refuseRounded(schema, [...exact, 'enum', 'const', 'default']);
};

const refuseRounded = (schema: Schema, keywords: string[]): void => {
  const rounded = keywords.find((keyword) =>
    numbersIn(schema[keyword]).some((value) => Number.isInteger(value) && !Number.isSafeInteger(value)),
  );
  if (rounded !== undefined) throw notSupported(`${rounded} with an integer beyond 2^53 - 1`);
};

const numbersIn = (value: unknown): number[] => {
  if (typeof value === 'number') return [value];
  return value instanceof Object ? Object.values(value).flatMap(numbersIn) : [];
};

/** Refuses a schema that is itself, or a list of itself. An object may have fields of its own type. */
const refuseCircle = (contract: Contract, schema: Schema, followed: unknown[] = []): void => {
  const { $ref, items, allOf, anyOf, oneOf } = schema;
  if ($ref !== undefined && followed.includes($ref))
    throw new Error(`${$ref} in schemas/openapi.yaml refers to itself.`);
  const refs = $ref === undefined ? followed : [...followed, $ref];
  const inside = $ref === undefined ? [items, allOf, anyOf, oneOf].flat() : [resolve(contract, schema)];
  for (const inner of inside.filter(isSchema)) refuseCircle(contract, inner, refs);
};
