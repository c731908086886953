import type { Check } from '@lambda-service/runtime/smoke-test';
import { expect, test } from 'vitest';
import { newChecks } from '../../functions/smoke-checks.ts';

const newIds = (): Set<bigint> =>
  new Set(Object.values<Check>(newChecks().createPlant).map(({ body }) => Object(body).id));

test('the smoke test has two ids, which are one if a version rounds them as JSON.parse does', () => {
  const ids = [...newIds()];
  expect(ids).toHaveLength(2);
  expect(new Set(ids.map(Number)).size).toBe(1);
});

test('two runs of the smoke test have no id in common', () => {
  const ids = [...newIds(), ...newIds()];
  expect(new Set(ids).size).toBe(ids.length);
});
