/**
 * Says whether schemas/openapi.yaml still has the operations and fields for which the guide, the README's examples and
 * the benchmarks were written. A team may change the contract and keep this folder: checks of these are then skipped.
 */
import { readContract, readOperations } from 'openapi-contract';
import { type Contract, resolve, type Schema } from 'openapi-contract/document';

/** If the template's own contract changes, so must this, and with it the guide. */
const written = 'createPlant(id: int64, name: string, tag?: string)';

type Fields = { allOf?: Schema[]; properties?: Record<string, Schema>; required?: string[] };

const fieldsOf = (contract: Contract, schema: Schema): string[] => {
  const { allOf = [], properties = {}, required = [] } = resolve(contract, schema) as Fields;
  const own = Object.entries(properties).map(
    ([name, { format, type }]) => `${name}${required.includes(name) ? '' : '?'}: ${format ?? type}`,
  );
  return [...allOf.flatMap((part) => fieldsOf(contract, part)), ...own];
};

/** Returns why to skip what is written for the template's contract, or undefined if the contract is still that one. */
export const reasonToSkip = (contract = readContract('schemas/openapi.yaml')): string | undefined => {
  const operations = readOperations(contract).map(
    ({ id, body = {} }) => `${id}(${fieldsOf(contract, body).join(', ')})`,
  );
  if (operations.join(' ') === written) return undefined;
  return `written for the contract ${written}; schemas/openapi.yaml has ${operations.join(' and ')}.`;
};

if (import.meta.main) {
  const reason = reasonToSkip();
  if (reason)
    console.log(`Skipped the guide, a new service, and checks of the README's examples and figures: ${reason}`);
  // An exception ends with 1.
  if (reason) process.exitCode = 3;
}
