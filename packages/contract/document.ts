/** The types of an OpenAPI document, and its references. Imports nothing, so that `npm start` need not wait for YAML. */

export type Schema = { [keyword: string]: unknown };

/** A contract: an OpenAPI document. What its compiler supports is checked when it reads the operations. */
export type Contract = {
  openapi: string;
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, Schema>; [kind: string]: Record<string, Schema> };
};

const targetOf = (contract: Contract, $ref: string): Schema | undefined => {
  const [, kind = '', name = ''] = /^#\/components\/(\w+)\/([\w.-]+)$/.exec($ref) ?? [];
  return contract.components[kind]?.[name];
};

/**
 * Returns what a $ref points to, or the value itself if it has no $ref. @throws Error if the $ref leads nowhere or in a
 * circle
 */
export const resolve = <T extends { $ref?: string }>(contract: Contract, value: T, followed: string[] = []): T => {
  const { $ref } = value;
  if ($ref === undefined) return value;
  const target = targetOf(contract, $ref);
  if (target === undefined) throw new Error(`A reference leads to ${$ref}, which does not exist.`);
  if (followed.includes($ref)) throw new Error(`${$ref} refers to itself.`);
  return resolve(contract, target as T, [...followed, $ref]);
};

/**
 * Replaces each reference in a part of a contract with what it refers to; what stands beside the reference wins. Keeps a
 * $ref that it is following, and one that leads nowhere: an example may have a field of that name.
 */
export const inlined = (contract: Contract, value: unknown, followed: string[] = []): unknown => {
  if (Array.isArray(value)) return value.map((each) => inlined(contract, each, followed));
  if (!(value instanceof Object)) return value;
  const { $ref, ...others } = Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key, inlined(contract, field, followed)]),
  );
  const target = typeof $ref !== 'string' || followed.includes($ref) ? undefined : targetOf(contract, $ref);
  if (target === undefined) return { ...others, ...($ref !== undefined && { $ref }) };
  return { ...Object(inlined(contract, target, [...followed, String($ref)])), ...others };
};
