import { expect, test } from 'vitest';
import { attribute, fieldValue, optional } from '../../dynamodb/attributes.ts';

test.each<[value: NonNullable<unknown> | null, stored: object, back?: unknown]>([
  ['', { S: '' }],
  [7, { N: '7' }],
  [9007199254740993n, { N: '9007199254740993' }],
  [-(2n ** 63n), { N: '-9223372036854775808' }],
  [0.1, { N: '0.1' }],
  [1e21, { N: '1e+21' }],
  [1e20, { N: '100000000000000000000' }, 10n ** 20n],
  [false, { BOOL: false }],
  [null, { NULL: true }],
  [[], { L: [] }],
  [['a', null, 2n ** 60n], { L: [{ S: 'a' }, { NULL: true }, { N: '1152921504606846976' }] }],
  [{}, { M: {} }],
  [{ constructor: { name: 'String' } }, { M: { constructor: { M: { name: { S: 'String' } } } } }],
  [{ S: 'a', N: '7' }, { M: { S: { S: 'a' }, N: { S: '7' } } }],
  [{ items: [{ count: 1 }] }, { M: { items: { L: [{ M: { count: { N: '1' } } }] } } }],
])('the field %o is stored as %o, and becomes the same value again', (value, stored, back = value) => {
  expect(attribute(value)).toEqual(stored);
  expect(fieldValue(attribute(value))).toEqual(back);
});

test('a field that is left out has no attribute', () => {
  expect(optional(undefined)).toBeUndefined();
  expect(fieldValue(undefined)).toBeUndefined();
});
