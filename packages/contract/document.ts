/** The types of an OpenAPI document, and its references. Imports nothing, so that `npm start` need not wait for YAML. */

export type Schema = { [keyword: string]: unknown };

/** A contract: an OpenAPI document. What its compiler supports is checked when it reads the operations. */
export type Contract = {
  openapi: string;
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, Schema>; [kind: string]: Record<string, Schema> };
};

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

/** Replaces each reference in a part of a contract with what it refers to, but keeps one that it is following. */
export const inlined = (contract: Contract, value: unknown, followed: string[] = []): unknown => {
  if (Array.isArray(value)) return value.map((each) => inlined(contract, each, followed));
  if (!(value instanceof Object)) return value;
  const { $ref, ...others } = Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key, inlined(contract, field, followed)]),
  );
  // If $ref is not a string, `value` is a map of fields, one of which has the name $ref.
  if (typeof $ref !== 'string' || followed.includes($ref)) return { ...others, ...($ref !== undefined && { $ref }) };
  return { ...Object(inlined(contract, resolve(contract, { $ref }), [...followed, $ref])), ...others };
};
