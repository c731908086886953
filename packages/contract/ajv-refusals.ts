/** Turns what Ajv refuses into refusals that name the place in the contract. */
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { type Contract, Refusal, type Schema } from './document.ts';
import type { Operation } from './operations.ts';
import { type Change, isSchema, mapSchema } from './schemas.ts';

/** Lists the contract's own schemas, of its operations and its components. */
const schemasOf = (contract: Contract, operations: Operation[]): Schema[] => [
  ...operations.flatMap(({ parameters, body, responses }) =>
    [...parameters.map(({ schema }) => schema), body, ...responses.map(({ schema }) => schema)].filter(isSchema),
  ),
  ...Object.values(contract.components.schemas),
];

/** The keys in a JSON pointer (RFC 6901). */
const keysIn = (pointer: string): string[] => {
  const [, ...keys] = pointer.split('/');
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
};

/** Checks that each schema is one of JSON Schema. @throws Refusal for its deepest wrong value */
export const checkValues = (ajv: Ajv2020, contract: Contract, operations: Operation[]): void => {
  for (const schema of schemasOf(contract, operations)) {
    if (ajv.validateSchema(schema)) continue;
    const errors = (ajv.errors ?? []).map((error) => ({ ...error, keys: keysIn(error.instancePath) }));
    const [error] = errors.toSorted((a, b) => b.keys.length - a.keys.length);
    const allowed: unknown[] = error?.params['allowedValues'] ?? [];
    const message = [error?.message, allowed.join(', ')].filter(Boolean).join(': ');
    const keys = error?.keys ?? [];
    throw new Refusal(`${keys.at(-1) ?? 'The schema'} ${message}.`, schema, ...keys);
  }
};

const withoutPlace = (error: unknown): string =>
  (error as Error).message.replace('strict mode: ', '').replace(/ (?:ignored in schema )?at (?:path )?".*/, '');

/**
 * Compiles the schema of an operation's events.
 * @param prepare changes a schema as it was changed for Ajv
 * @throws Refusal for what Ajv's strict mode refuses
 */
export const compileOrRefuse = (
  ajv: Ajv2020,
  contract: Contract,
  operation: Operation,
  [schema, prepare]: [schema: Schema, prepare: Change],
) => {
  try {
    return ajv.compile(schema);
  } catch (error) {
    const problem = withoutPlace(error);
    const why = `Ajv refuses the schema (${problem}): correct or remove that.`;
    const [, pointer] = /"(?:contract)?#(\/components\/[^"]*)"/.exec((error as Error).message) ?? [];
    if (pointer !== undefined) throw new Refusal(why, contract, ...keysIn(decodeURIComponent(pointer)));
    const [, inBody] = /"#\/properties\/body((?:\/[^"]*)?)"/.exec((error as Error).message) ?? [];
    if (inBody !== undefined && operation.body)
      throw new Refusal(why, operation.body, ...keysIn(decodeURIComponent(inBody)));
    // Ajv names no other places: find the innermost schema that it refuses for the same reason, even without references.
    const test: Change = (copy, original) => {
      const { $ref: _, ...own } = prepare(copy, original);
      try {
        ajv.compile(own);
      } catch (again) {
        if (withoutPlace(again) === problem) throw new Refusal(why, original);
      }
      return own;
    };
    for (const each of schemasOf(contract, [operation])) mapSchema(each, test);
    throw new Refusal(why, contract.paths[operation.path] ?? {}, operation.method.toLowerCase());
  }
};
