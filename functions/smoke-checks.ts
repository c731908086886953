/** What is special about plants: which requests test a new version, and what they may add to the table. */
import { randomInt } from 'node:crypto';
import type { Checks } from '@lambda-service/runtime/smoke-test';
import type { NewPlant, Operations } from './generated/contract.ts';
import { toItem } from './plant-table.ts';

/** Returns a random id above 2^62. JSON.parse, which rounds to multiples of 1,024 there, would make it the id before. */
const randomId = (): bigint => 2n ** 62n + 1_024n * BigInt(randomInt(2 ** 48 - 1)) + 1n;

type Content = Omit<NewPlant, 'id'>;

const adding = (plant: NewPlant) => ({ body: plant, creates: toItem(plant) });

/** Returns checks with ids that no other run has, so that two runs can test the same versions at the same time. */
export const newChecks = (): Checks<Operations> => {
  const id = randomId();
  const otherId = id - 1n;
  const content = { name: 'Deployments add this plant and delete it.', tag: 'smoke test' } satisfies Content;
  const other = { name: 'Another plant' } satisfies Content;
  const plant = { id, ...content };
  const otherPlant = { id: otherId, ...other };
  return {
    createPlant: {
      'an everyday plant': { ...adding(plant), status: 200, response: content },
      'a different plant with its id': { ...adding({ ...otherPlant, id }), error: 40901 },
      // A version that rounds ids takes this id for the first one.
      'a different plant with the id before': { ...adding(otherPlant), status: 200, response: other },
      'a plant without a name': { body: { id }, error: 40002 },
      // If the tested version overwrites plants, this puts `plant` back, so that it can be deleted.
      'the everyday plant again': { ...adding(plant), status: 200, response: content },
    },
  };
};
