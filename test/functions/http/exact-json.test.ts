import { expect, test } from 'vitest';
import { parseExactly } from '../../../packages/runtime/http/exact-json.ts';

test.each<[json: string, value: unknown]>([
  ['4', 4],
  ['-0.0e5', 0n],
  ['0e999999999', 0n],
  ['12.50E+1', 125],
  ['7000e-3', 7],
  ['0.5', 0.5],
  ['9007199254740993', 9007199254740993n],
  ['0.9223372036854775807e19', 9223372036854775807n],
  ['-922337203685477580800e-2', -9223372036854775808n],
  ['[1.0000000000000000001]', [Number.NaN]],
  ['{"a":1E-400}', { a: Number.NaN }],
  ['1e400', Number.POSITIVE_INFINITY],
])('parseExactly reads the JSON text %s without rounding an integer', (json, value) => {
  expect(parseExactly(json)).toEqual(value);
});
