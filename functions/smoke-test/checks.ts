import type { OperationId, Operations } from '../generated/contract.ts';

/** What a request to an operation has, and how the operation must respond: with a body, or with an error number. */
export type Check<Id extends OperationId = OperationId> = {
  pathParameters?: Record<string, string>;
  /** Without the question mark. */
  rawQueryString?: string;
  headers?: Record<string, string>;
  body?: unknown;
} & ({ status: number; response: Operations[Id]['response'] } | { error: Operations[Id]['errorCode'] });

/** The plant that the smoke test leaves in the table. If it changes, its id must, too, because an id keeps its plant. */
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
    // A version that overwrites plants has just stored the different one, which would fail every later smoke test.
    'the everyday plant again': { body: plant, status: 200, response: content },
  },
};
