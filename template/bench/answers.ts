/** Checks each handler with three requests before the benchmark, because timing wrong responses proves nothing. */
import { isDeepStrictEqual } from 'node:util';

/**
 * A handler's response to a request. `storedId` is the id that the handler sent to the store, as a string of digits.
 */
export type Answer = { status: number; body: string; storedId: string | undefined };

export const plant = '{"id":1234567,"name":"Swiss cheese plant","tag":"climber"}';
const largeId = '9007199254740993';

/**
 * Sends three plants to a handler. Returns what the handler did with an id over 2^53 (`largeId`) and with a plant that
 * has no name (`noName`).
 * @throws Error if the handler does not store and return a valid plant
 */
export const check = async (name: string, ask: (body: string) => Promise<Answer>) => {
  const valid = await ask(plant);
  const expected = { name: 'Swiss cheese plant', tag: 'climber' };
  if (valid.status !== 200 || valid.storedId !== '1234567' || !isDeepStrictEqual(JSON.parse(valid.body), expected))
    throw new Error(`${name} answered a valid plant with ${JSON.stringify(valid)}`);
  const { status, storedId } = await ask(`{"id":${largeId},"name":"Swiss cheese plant"}`);
  const stored = storedId === largeId ? 'exact' : `stored as ${storedId}`;
  const nameless = await ask('{"id":1234567,"tag":"climber"}');
  return {
    largeId: status === 200 ? stored : `refused (${status})`,
    noName: nameless.status === 200 ? 'accepted' : `refused (${nameless.status})`,
  };
};
