import { randomBytes } from 'node:crypto';
import type { OperationId, Operations } from '../generated/contract.ts';

/** A request, and its expected response: a status and a body, or an error number such as 40901. */
export type Check<Id extends OperationId = OperationId> = {
  pathParameters?: Record<string, string>;
  rawQueryString?: string;
  headers?: Record<string, string>;
  body?: unknown;
} & ({ status: number; response: Operations[Id]['response'] } | { error: Operations[Id]['errorCode'] });

/** The id of the plant that stays in the table, unless a client's plant has it: docs/decisions/stack.md */
const usualId = 9223372036854775806n;

/** Returns a random id from 2^62 to 2^63. A version that rounds ids would change almost all of them. */
const randomId = (): bigint => 2n ** 62n + BigInt.asUintN(62, randomBytes(8).readBigUInt64BE());

/** For each operation, its checks by name, in the order in which they run. */
export type Checks = { readonly [Id in OperationId]: Readonly<Record<string, Check<Id>>> };

export const checksFor = (isTaken: boolean): Checks => {
  const id = isTaken ? randomId() : usualId;
  const content = {
    name: 'Smoke test',
    tag: 'Deployments add this plant.',
  } satisfies Operations['createPlant']['response'];
  const plant = { id, ...content };
  return {
    createPlant: {
      'an everyday plant': { body: plant, status: 200, response: content },
      'a different plant with its id': { body: { ...plant, name: 'Another plant' }, error: 40901 },
      'a plant without a name': { body: { id }, error: 40002 },
      // If the tested version overwrites plants, this puts `plant` back, so that later versions can pass.
      'the everyday plant again': { body: plant, status: 200, response: content },
    },
  };
};
