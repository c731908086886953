import { parseJson, toJson } from '@lambda-service/client';
import { expect, test } from 'vitest';
import { mayRound, parseExactly, toExactJson } from '../exact-json.ts';

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
])(
  'parseExactly reads the JSON text %s without rounding an integer, and mayRound says if JSON.parse may differ',
  (json, value) => {
    expect(parseExactly(json)).toEqual(value);
    if (!mayRound.test(json)) expect(JSON.parse(json)).toEqual(value);
  },
);

test.each<[what: string, value: unknown]>([
  ['small numbers', [0, -1, 1.5, 1e21]],
  ['integers that a number would round', [2n ** 53n + 1n, -(2n ** 63n)]],
  ['a small bigint', 7n],
  ['text with escapes', '\u2028"\\\ud83c\udf31'],
  ['nested values', { a: [{ b: null, c: true, d: undefined }], __proto: 9007199254740993n }],
])('the runtime and the client, which share no code, write and read %s alike', (_, value) => {
  const json = toExactJson(value);
  expect(toJson(value)).toBe(json);
  expect(parseJson(json)).toEqual(parseExactly(json));
});
