/**
 * Rehearses a roll-out: the new version of each function gets a tenth of the events, and the version of an earlier
 * commit gets the others. Each alias shifts for itself. The part alarms tests which versions are rolled back.
 */
import { afterAll, beforeEach, expect, test } from 'vitest';
import { bodyOf, createRoute, itemOf, newId } from '../data/index.ts';
import { startFaultyStore } from '../store/index.ts';
import { makeKey, sign } from '../tokens.ts';
import {
  claims,
  type FunctionName,
  longTimeout,
  mapConcurrently,
  misbehaving,
  startRollOut,
  trialSize,
} from '../trial/index.ts';
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
    await mapConcurrently(ids, 4, async (id) => {
      const { status } = await untilAvailable(() => stack.sendOnce(bodyOf(id, content), headers));
      if (status === 200) expect(await store.read(id)).toEqual(itemOf(id, content));
      else failed.push(id);
    });
    return failed;
  };

  const forged = await sign(await makeKey('ES256', 'trial'), claims({ iss: stack.issuer.issuer }));

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
  ])(
    'no item is lost, and no forged token gets in, if the %s %s and is rolled back, and then the other function, which has shifted',
    async (role, behaviour) => {
      const [which, other]: [FunctionName, FunctionName] =
        role === 'authorizer' ? [role, createRoute] : [createRoute, 'authorizer'];
      // A function that takes too long runs until its time-out, so set a short time-out to keep the test short.
      stack.setFunctionTimeout(which, behaviour === 'takes too long' ? 50 : longTimeout);
      stack.shift(0.1);
      const ids = Array.from({ length: trialSize(100, 50) }, newId);
      // Only the new version reads this header, and fails.
      const failed = await sendEach(ids, { [`x-${role}`]: behaviour });
      expect(failed, 'requests that failed').not.toEqual([]);
      expect(failed.length).toBeLessThan(ids.length / 2);
      stack.shift(0, which);
      expect(await sendEach(ids, { [`x-${role}`]: behaviour }), 'sent again').toEqual([]);
      // CloudFormation takes the other alias back as it came: by CodeDeploy, in steps.
      for (const share of [1, 0.9, 0]) {
        stack.shift(share, other);
        const more = Array.from({ length: trialSize(50, 10) }, newId);
        expect(await sendEach([...ids, ...more], { [`x-${role}`]: behaviour }), `${share} of the other`).toEqual([]);
        const { status } = await stack.sendOnce(bodyOf(newId(), content), { authorization: `Bearer ${forged}` });
        expect(status).toBe(403);
      }
    },
  );
});
