import { expect, test } from 'vitest';
import { validate } from '../../functions/generated/create-plant.js';

test.each([
  [0, true],
  [Number.MAX_SAFE_INTEGER, true],
  [2n ** 63n - 1n, true],
  [-(2n ** 63n), true],
  [2n ** 63n, false],
  [-(2n ** 63n) - 1n, false],
  // From 2^53 on, JavaScript may round an integer, so that the number differs from the integer in the request.
  [Number.MAX_SAFE_INTEGER + 1, false],
  [1e18, false],
  [0.5, false],
  [Number.NaN, false],
  ['1', false],
  [null, false],
])(
  'the generated validator accepts an id only if it is a 64-bit integer that JavaScript cannot have rounded: %s',
  (id, valid) => {
    expect(validate({ body: { id, name: 'Moss' } }), `${id} is accepted`).toBe(valid);
  },
);
