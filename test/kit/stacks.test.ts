import { expect, test } from 'vitest';
import { missingPairs } from './stacks.ts';

test('each pair of values of two different settings is in at least one stack that the tests synthesize', () => {
  expect(missingPairs()).toEqual([]);
});
