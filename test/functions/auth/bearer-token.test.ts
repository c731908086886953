import { expect, test } from 'vitest';
import { bearerToken } from '../../../functions/auth/bearer-token.ts';

const token = 'eyJh-_bGci.eyJz-_dWIi.c2ln-_bmF0';

test.each([`Bearer ${token}`, `bearer ${token}`, `BEARER ${token}`, `Bearer   ${token}`])('reads %j', (header) => {
  expect(bearerToken(header)).toBe(token);
});

test.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  token,
  `Basic ${token}`,
  `Bearer${token}`,
  ` Bearer ${token}`,
  `Bearer ${token} `,
  `Bearer\t${token}`,
  `Bearer ${token}\n`,
  `Bearer ${token},Bearer ${token}`,
  `Bearer ${token}, ${token}`,
  `Bearer ${token}=`,
  `Bearer ${token}.x`,
  'Bearer a.b',
  'Bearer a..b',
  'Bearer a.b.',
  'Bearer a.b+c.d',
  'Bearer a.b/c.d',
  'Bearer ａ.b.c',
  'Bearer a\u200b.b.c',
])('finds no token in %j', (header) => {
  expect(bearerToken(header)).toBeUndefined();
});

test('reads headers up to 8,192 characters', () => {
  const longest = `Bearer a.b.${'c'.repeat(8_192 - 'Bearer a.b.'.length)}`;
  expect(bearerToken(longest)).toBe(longest.slice('Bearer '.length));
  expect(bearerToken(`${longest}c`)).toBeUndefined();
});
