/** Asks each handler three requests before it is measured, because the time of a wrong response proves nothing. */
import { isDeepStrictEqual } from 'node:util';

/** What a handler did with a request: its response, and the id that the store got, exactly as it was sent. */
export type Answer = { status: number; body: string; storedId: string | undefined };

export const plant = '{"id":1234567,"name":"Swiss cheese plant","tag":"climber"}';
const largeId = '9007199254740993';

/**
 * Asks a handler. `largeId` says what it did with an id over 2^53, `noName` with a plant without a name.
 * @throws Error if it does not store a valid plant and return it
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
