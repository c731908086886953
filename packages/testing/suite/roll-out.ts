/**
 * Rehearses a roll-out: the new version of each function gets a tenth of the events, and the version of an earlier
 * commit gets the others. The part alarms tests which versions are rolled back.
 */
import { afterAll, beforeEach, expect, test } from 'vitest';
import { bodyOf, createRoute, itemOf, newId } from '../data/index.ts';
import { startFaultyStore } from '../store/index.ts';
import { type FunctionName, longTimeout, misbehaving, startRollOut, trialSize } from '../trial/index.ts';
import { untilAvailable } from '../waiting.ts';
import { compareWithModel } from './model.ts';
import { part } from './part.ts';

export const testRollOut = part('roll-out', async () => {
  const store = await startFaultyStore('items');
  afterAll(store.close);
  const change = { wrapper: misbehaving };
  const stack = await startRollOut(store.endpoint, { authorizer: change, operations: change });
  afterAll(stack.close);

  beforeEach(({ skip }) => skip(stack.missing !== undefined, stack.missing));

  compareWithModel({ store, stack, contents: stack.contents });

  const [content] = stack.contents;

  /** Sends an item under each id, and checks that those are stored that get a 200. @returns the ids that do not */
  const sendEach = async (ids: string[], headers: Record<string, string> = {}): Promise<string[]> => {
    const failed: string[] = [];
    for (const id of ids) {
      const { status } = await untilAvailable(() => stack.sendOnce(bodyOf(id, content), headers));
      if (status === 200) expect(await store.read(id)).toEqual(itemOf(id, content));
      else failed.push(id);
    }
    return failed;
  };

  test('while a new version gets a tenth of the events, and once it gets all, each item is stored, and found by the version that gets it next', async () => {
    stack.shift(0.1);
    const ids = Array.from({ length: trialSize(100, 50) }, newId);
    expect(await sendEach(ids)).toEqual([]);
    stack.shift(1);
    expect(await sendEach(ids)).toEqual([]);
  });

  test.each<[role: 'authorizer' | 'operation', behaviour: string]>([
    ['operation', 'crashes'],
    ['operation', 'has a bug'],
    ['authorizer', 'throws'],
    ['authorizer', 'takes too long'],
  ])('no item is lost if the new version is rolled back because its %s %s', async (role, behaviour) => {
    const which: FunctionName = role === 'authorizer' ? role : createRoute;
    // A function that takes too long runs until its time-out, so set a short time-out to keep the test short.
    stack.setFunctionTimeout(which, behaviour === 'takes too long' ? 50 : longTimeout);
    stack.shift(0.1);
    const ids = Array.from({ length: trialSize(100, 50) }, newId);
    // Only the new version reads this header, and fails.
    const failed = await sendEach(ids, { [`x-${role}`]: behaviour });
    expect(failed, 'requests that failed').not.toEqual([]);
    expect(failed.length).toBeLessThan(ids.length / 2);
    stack.shift(0);
    expect(await sendEach(ids, { [`x-${role}`]: behaviour }), 'sent again').toEqual([]);
  });
});
