/** The types of an OpenAPI document, and its references. Imports nothing, so that `npm start` need not wait for YAML. */

export type Schema = { [keyword: string]: unknown };

/** A contract: an OpenAPI document. What its compiler supports is checked when it reads the operations. */
export type Contract = {
  openapi: string;
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, Schema>; [kind: string]: Record<string, Schema> };
};

/** The entries of an object of OpenAPI without its extensions, `x-…`. */
export const entriesOf = <T>(object: Record<string, T>): [key: string, value: T][] =>
  Object.entries(object).filter(([key]) => !key.startsWith('x-'));

/** What is wrong at a place of a contract: at `keys` in `at`, a part of the parsed document. Its message says what to do. */
export class Refusal extends Error {
  readonly at: object;
  readonly keys: string[];

  constructor(problem: string, at: object, ...keys: string[]) {
    super(problem);
    this.at = at;
    this.keys = keys;
  }
}

/** Does `work`. @throws Refusal instead of an error about a missing list or object, which OpenAPI requires */
export const refuseMalformed = <T>(what: string, at: object, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Refusal(`${what} is not as OpenAPI 3.1 defines it: a list or an object is missing.`, at);
  }
};

const targetOf = (contract: Contract, $ref: string): Schema | undefined => {
  const [, kind = '', name = ''] = /^#\/components\/(\w+)\/([\w.-]+)$/.exec($ref) ?? [];
  return contract.components[kind]?.[name];
};

/**
 * Returns what a $ref points to, or the value itself if it has no $ref. @throws Refusal if the $ref leads nowhere or in a
 * circle
 */
export const resolve = <T extends { $ref?: string }>(contract: Contract, value: T, followed: string[] = []): T => {
  const { $ref } = value;
  if ($ref === undefined) return value;
  const target = targetOf(contract, $ref);
  if (target === undefined)
    throw new Refusal(
      `A reference leads to ${$ref}, which does not exist: name one of this document's components.`,
      value,
      '$ref',
    );
  if (followed.includes($ref)) throw new Refusal(`${$ref} refers to itself.`, value, '$ref');
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
