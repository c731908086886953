import type { OperationId, Operations } from '../generated/contract.ts';

/**
 * A request to an operation, and the response that it must get: a status and a body, or an error number such as 40901.
 */
export type Check<Id extends OperationId = OperationId> = {
  pathParameters?: Record<string, string>;
  /** The query string, without the question mark. */
  rawQueryString?: string;
  headers?: Record<string, string>;
  body?: unknown;
} & ({ status: number; response: Operations[Id]['response'] } | { error: Operations[Id]['errorCode'] });

/** The plant that the smoke test leaves in the table. If you change it, change its id: the API overwrites no plant. */
const plant = {
  id: 9223372036854775806n,
  name: 'Smoke test',
  tag: 'docs/decisions/smoke-test.md',
} satisfies Operations['createPlant']['body'];

const { id, ...content } = plant;

/** For each operation, the checks of the smoke test in the order in which they run. Each check has a name. */
export const checks: { readonly [Id in OperationId]: Readonly<Record<string, Check<Id>>> } = {
  createPlant: {
    'an everyday plant': { body: plant, status: 200, response: content },
    'a different plant with its id': { body: { ...plant, name: 'Another plant' }, error: 40901 },
    'a plant without a name': { body: { id }, error: 40002 },
    // If the tested version wrongly overwrites plants, this puts `plant` back, so that the tests of later versions can
    // pass.
    'the everyday plant again': { body: plant, status: 200, response: content },
  },
};
