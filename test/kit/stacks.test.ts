import { expect, test } from 'vitest';
import { missingPairs } from './stacks.ts';

test('for any two settings, each pair of their values occurs in at least one stack that the tests synthesize', () => {
  expect(missingPairs()).toEqual([]);
});
