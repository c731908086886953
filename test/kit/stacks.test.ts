import { expect, test } from 'vitest';
import { missingPairs } from './stacks.ts';

test('any two values of two settings are together in a stack that the tests synthesize', () => {
  expect(missingPairs()).toEqual([]);
});
