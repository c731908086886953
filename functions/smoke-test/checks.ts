import type { OperationId, Operations } from '../generated/contract.ts';

/** What a request to an operation has, and how the operation must respond: with a body, or with an error number. */
export type Check<Id extends OperationId = OperationId> = {
  pathParameters?: Record<string, string>;
  /** The query string, without the question mark. */
  rawQueryString?: string;
  headers?: Record<string, string>;
  body?: unknown;
} & ({ status: number; response: Operations[Id]['response'] } | { error: Operations[Id]['errorCode'] });

/** The plant that the smoke test leaves in the table. A changed plant needs a new id: no plant is ever overwritten. */
const plant = {
  id: 9223372036854775806n,
  name: 'Smoke test',
  tag: 'docs/decisions/smoke-test.md',
} satisfies Operations['createPlant']['body'];

const { id, ...content } = plant;

/** The checks of each operation by name, in the order in which they run. */
export const checks: { readonly [Id in OperationId]: Readonly<Record<string, Check<Id>>> } = {
  createPlant: {
    'an everyday plant': { body: plant, status: 200, response: content },
    'a different plant with its id': { body: { ...plant, name: 'Another plant' }, error: 40901 },
    'a plant without a name': { body: { id }, error: 40002 },
    // A version that overwrites plants has just stored the different one, so this check stores the everyday one again.
    'the everyday plant again': { body: plant, status: 200, response: content },
  },
};
