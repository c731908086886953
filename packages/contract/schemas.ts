/**
 * Finds or changes the schemas inside other schemas, and refuses those from which the contract's compiler would generate
 * wrong validators or wrong types.
 */
import { type Contract, Refusal, refuseMalformed, resolve, type Schema } from './document.ts';

export const notSupported = (what: string, at: object, ...keys: string[]): Refusal =>
  new Refusal(`${what} is not supported.`, at, ...keys);

/**
 * The keywords whose value is a schema, a list of schemas or a map of schemas. The values of all other keywords, such
 * as `enum`, are plain data.
 */
const keywords = {
  one: [
    ...['items', 'contains', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems', 'propertyNames'],
    ...['not', 'if', 'then', 'else', 'contentSchema'],
  ],
  list: ['allOf', 'anyOf', 'oneOf', 'prefixItems'],
  byName: ['properties', 'patternProperties', 'dependentSchemas', '$defs'],
};

export const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the schemas in a keyword's value, each with its name or its index in the list. */
export const schemasOf = (keyword: string, value: unknown): [name: string, schema: Schema][] => {
  if (keywords.one.includes(keyword)) return isSchema(value) ? [['', value]] : [];
  const isGroup = [...keywords.list, ...keywords.byName].includes(keyword) && value instanceof Object;
  return isGroup ? Object.entries(value).filter((entry): entry is [string, Schema] => isSchema(entry[1])) : [];
};

const mapValues = (values: Schema, change: (value: unknown) => unknown): Schema =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));

/** Changes a schema, whose inner schemas are changed already. `original` is that part of the contract itself. */
export type Change = (schema: Schema, original: Schema) => Schema;

/** Applies `change` to a schema and to every schema inside it, innermost first. */
export const mapSchema = (schema: Schema, change: Change): Schema => {
  const inner = (value: unknown): unknown => (isSchema(value) ? mapSchema(value, change) : value);
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (keywords.one.includes(keyword)) return [keyword, inner(value)];
    if (keywords.list.includes(keyword) && Array.isArray(value)) return [keyword, value.map(inner)];
    return [keyword, keywords.byName.includes(keyword) && isSchema(value) ? mapValues(value, inner) : value];
  });
  return change(Object.fromEntries(entries), schema);
};

/** Applies `change` to each schema in a map, and to every schema inside that schema, innermost first. */
export const mapSchemas = (schemas: Record<string, Schema>, change: Change) =>
  mapValues(schemas, (schema) => mapSchema(schema as Schema, change)) as Record<string, Schema>;

const annotations = [
  ...['title', 'description', 'default', 'deprecated', 'example', 'examples', '$comment'],
  ...['externalDocs', 'xml', 'discriminator'],
];

/** Whether a keyword only describes a value. A `discriminator` does: the schemas beside it say what is valid. */
export const isAnnotation = (keyword: string): boolean => annotations.includes(keyword) || keyword.startsWith('x-');

export const withoutAnnotations = (schema: Schema): Schema =>
  Object.fromEntries(Object.entries(schema).filter(([keyword]) => !isAnnotation(keyword)));

/** The keywords that a schema may have besides annotations and those whose values are schemas. */
const otherKeywords = [
  ...['$ref', 'type', 'enum', 'const', 'format', 'readOnly', 'writeOnly'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'pattern', 'contentEncoding', 'contentMediaType'],
  ...['minItems', 'maxItems', 'uniqueItems', 'minContains', 'maxContains'],
  ...['minProperties', 'maxProperties', 'required', 'dependentRequired'],
];
const knownKeywords = [...otherKeywords, ...Object.values(keywords).flat()];

const formats: Record<string, unknown[]> = {
  integer: [undefined, 'int32', 'int64'],
  number: [undefined, 'float', 'double'],
};

/**
 * Checks that a map of schemas, and every schema inside them, use only what is supported. @throws Refusal that names what
 * is not
 */
export const checkSchemas = (contract: Contract, schemas: Record<string, Schema>): void => {
  const wrong = Object.keys(schemas).find((name) => !isSchema(schemas[name]));
  if (wrong !== undefined) throw new Refusal(`The schema ${wrong} must be an object.`, schemas, wrong);
  mapSchemas(schemas, (_, each) => {
    refuseMalformed('The schema', each, () => checkSchema(contract, each));
    return each;
  });
};

const checkSchema = (contract: Contract, each: Schema): void => {
  const { $ref, ...others } = each;
  // Any other keyword beside a $ref would be missing from the generated types.
  const sibling = Object.keys(others).find((keyword) => !isAnnotation(keyword));
  if ($ref !== undefined && sibling !== undefined)
    throw notSupported(`${sibling} beside a $ref to ${$ref}`, each, sibling);
  const unknown = Object.keys(each).find((keyword) => !knownKeywords.includes(keyword) && !isAnnotation(keyword));
  if (unknown !== undefined) throw notSupported(unknown, each, unknown);
  const { properties = {}, required, dependentRequired = {}, prefixItems, items, minItems, maxItems } = each;
  // Its type in TypeScript is a tuple of that length.
  if (Array.isArray(prefixItems) && (items !== false || minItems !== prefixItems.length))
    throw notSupported(`prefixItems without items: false and minItems: ${prefixItems.length}`, each, 'prefixItems');
  // Only json-schema-to-typescript would refuse this, without a message.
  if (Number(maxItems) < Number(minItems)) throw new Refusal('maxItems must be >= minItems.', each, 'maxItems');
  const names = [Object.keys(properties as object), required, Object.values(dependentRequired as object)].flat(2);
  const inherited = names.map(String).find(isInherited);
  if (inherited !== undefined) throw notSupported(`A field with the name ${inherited}`, each);
  refuseCircle(contract, each);
  const type = ['integer', 'number'].find((name) => [each['type']].flat().includes(name));
  if (type !== undefined) checkNumber(each, type);
  else refuseRounded(each, ['enum', 'const', 'default']);
};

/**
 * Whether every JavaScript object inherits a property of this name, such as `constructor`: an object without its own
 * would then seem to have it.
 */
export const isInherited = (name: string): boolean => name in Object.prototype;

const checkNumber = (schema: Schema, type: string): void => {
  const { format } = schema;
  if (!formats[type]?.includes(format)) throw notSupported(`The format ${format} of type ${type}`, schema, 'format');
  const isInt64 = format === 'int64';
  // Refuse `enum` and `const` for an int64: its value may be a number or a bigint, and a number is never strictly equal
  // to a bigint.
  const fixed = ['enum', 'const'].find((keyword) => keyword in schema);
  if (isInt64 && fixed !== undefined) throw notSupported(`${fixed} of an int64`, schema, fixed);
  const limits = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
  const wrong = limits.find((limit) => limit in schema && !Number.isFinite(schema[limit]));
  if (wrong !== undefined) throw notSupported(`${wrong}: ${schema[wrong]}`, schema, wrong);
  // Refuse limits beyond ±(2^53 - 1): the YAML parser makes them doubles, so 9223372036854775806 would become 2^63.
  if (type === 'integer') refuseRounded(schema, [...limits, 'enum', 'const', 'default']);
};

const refuseRounded = (schema: Schema, keywords: string[]): void => {
  const rounded = keywords.find((keyword) => hasRounded(schema[keyword]));
  if (rounded !== undefined) throw notSupported(`${rounded} with an integer beyond 2^53 - 1`, schema, rounded);
};

/** Whether a value from the YAML file contains an integer that the YAML parser may have rounded. */
const hasRounded = (value: unknown): boolean =>
  numbersIn(value).some((number) => Number.isInteger(number) && !Number.isSafeInteger(number));

const numbersIn = (value: unknown): number[] => {
  if (typeof value === 'number') return [value];
  return value instanceof Object ? Object.values(value).flatMap(numbersIn) : [];
};

/**
 * Refuses a schema that refers to itself by references, `allOf`, `anyOf`, `oneOf` or lists, even by way of other
 * schemas. Only the fields of an object may refer to the object's schema.
 */
const refuseCircle = (contract: Contract, schema: Schema, followed: unknown[] = []): void => {
  const { $ref, items, prefixItems, allOf, anyOf, oneOf } = schema;
  if ($ref !== undefined && followed.includes($ref)) throw new Refusal(`${$ref} refers to itself.`, schema, '$ref');
  const refs = $ref === undefined ? followed : [...followed, $ref];
  const inside = $ref === undefined ? [items, prefixItems, allOf, anyOf, oneOf].flat() : [resolve(contract, schema)];
  for (const inner of inside.filter(isSchema)) refuseCircle(contract, inner, refs);
};

/**
 * Where a value is in an event. `*` in `path` stands for any name or index. With `isChoice`, the value need not match
 * the schema, which is inside `anyOf`, `not`, `if`, `contains` or the like.
 */
type Place = { path: string[]; isChoice: boolean };

type NumberPlace = Place & { isInt64: boolean; schema: Schema };

/**
 * Refuses a request body in which a value may be a `number` and also an int64, and any `number` inside anyOf or the like:
 * the validator turns a `number` into a double, which would round an int64. Also refuses a default, which nothing fills in.
 */
export const checkBody = (contract: Contract, schema: Schema): void => {
  const numbers = numbersOf(contract, schema, { path: [], isChoice: false }, []);
  const doubles = numbers.filter(({ isInt64 }) => !isInt64);
  const choice = doubles.find(({ isChoice }) => isChoice);
  if (choice) throw notSupported('The type number inside anyOf, oneOf, not, if, contains or the like', choice.schema);
  const isSame = (a: string[], b: string[]): boolean =>
    a.length === b.length && a.every((name, index) => name === '*' || b[index] === '*' || name === b[index]);
  const clash = doubles.find(({ path }) => numbers.some((other) => other.isInt64 && isSame(other.path, path)));
  if (clash)
    throw notSupported(`The value ${clash.path.join('/')} with both type number and format int64`, clash.schema);
};

const numbersOf = (contract: Contract, schema: Schema, place: Place, followed: unknown[]): NumberPlace[] => {
  const { $ref, type, format, default: standard, ...others } = schema;
  if (standard !== undefined)
    throw notSupported(`The default of ${place.path.join('/') || 'a request body'}`, schema, 'default');
  if ($ref !== undefined && followed.includes($ref)) return [];
  const refs = $ref === undefined ? followed : [...followed, $ref];
  const inside = $ref === undefined ? schemasIn(others, place) : [{ inner: resolve(contract, schema), place }];
  const isInt64 = format === 'int64';
  return [
    ...(isInt64 || [type].flat().includes('number') ? [{ ...place, isInt64, schema }] : []),
    ...inside.flatMap((each) => numbersOf(contract, each.inner, each.place, refs)),
  ];
};

/** Lists the schemas inside a schema. The `place` of each says which values of the event it describes. */
const schemasIn = (schema: Schema, { path, isChoice }: Place): { inner: Schema; place: Place }[] =>
  Object.entries(schema).flatMap(([keyword, value]) =>
    schemasOf(keyword, value).map(([name, inner]) => {
      if (keyword === 'allOf') return { inner, place: { path, isChoice } };
      if (inPlace.includes(keyword)) return { inner, place: { path, isChoice: true } };
      const step = ['properties', 'prefixItems'].includes(keyword) ? name : '*';
      return { inner, place: { path: [...path, step], isChoice: isChoice || keyword === 'contains' } };
    }),
  );

const inPlace = ['anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas'];
