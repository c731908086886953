/** Follows the references in an OpenAPI document, and finds or changes the schemas inside other schemas. */

export type Schema = { [keyword: string]: unknown };

export type Contract = {
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, Schema>; [kind: string]: Record<string, Schema> };
};

export const notSupported = (what: string): Error => new Error(`${what} is not supported.`);

/**
 * Returns what a $ref points to, or the value itself if it has no $ref. @throws Error if the $ref leads nowhere or in a
 * circle
 */
export const resolve = <T extends { $ref?: string }>(contract: Contract, value: T, followed: string[] = []): T => {
  const { $ref } = value;
  if ($ref === undefined) return value;
  const [, kind = '', name = ''] = /^#\/components\/(\w+)\/([\w.-]+)$/.exec($ref) ?? [];
  const target = contract.components[kind]?.[name];
  if (target === undefined) throw new Error(`A reference leads to ${$ref}, which does not exist.`);
  if (followed.includes($ref)) throw new Error(`${$ref} refers to itself.`);
  return resolve(contract, target as T, [...followed, $ref]);
};

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

/** Applies `change` to a schema and to every schema inside it, innermost first. */
export const mapSchema = (schema: Schema, change: (schema: Schema) => Schema): Schema => {
  const inner = (value: unknown): unknown => (isSchema(value) ? mapSchema(value, change) : value);
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (keywords.one.includes(keyword)) return [keyword, inner(value)];
    if (keywords.list.includes(keyword) && Array.isArray(value)) return [keyword, value.map(inner)];
    return [keyword, keywords.byName.includes(keyword) && isSchema(value) ? mapValues(value, inner) : value];
  });
  return change(Object.fromEntries(entries));
};

/** Applies `change` to each schema in a map, and to every schema inside that schema, innermost first. */
export const mapSchemas = (schemas: Record<string, Schema>, change: (schema: Schema) => Schema) =>
  mapValues(schemas, (schema) => mapSchema(schema as Schema, change)) as Record<string, Schema>;
