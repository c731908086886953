import { CompactEncrypt, generateSecret } from 'jose';
import { expect, test } from 'vitest';
import { bearerToken } from '../../../functions/auth/bearer-token.ts';
import type { Refusal } from '../../../functions/auth/unverified-token.ts';

const token = 'eyJh-_bGci.eyJz-_dWIi.c2ln-_bmF0';

test.each([`Bearer ${token}`, `bearer ${token}`, `BEARER ${token}`, `Bearer   ${token}`])(
  'a bearer token is read from the Authorization header %j',
  (header) => {
    expect(bearerToken(header)).toEqual({ token });
  },
);

test.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Bearer    ',
  token,
  `Basic ${token}`,
  'Basic dXNlcjpwYXNz',
  `Basic ${'x'.repeat(8_192)}`,
  `DPoP ${token}`,
  `BearerX ${token}`,
  `Bearer${token}`,
  ` Bearer ${token}`,
  `Bearer ${token} `,
  `Bearer\t${token}`,
  `Bearer ${token}\n`,
  `Bearer ${token},Bearer ${token}`,
  `Bearer ${token}, ${token}`,
  `Bearer "${token}"`,
  `Bearer token=${token}`,
  'Bearer =',
  'Bearer ａ.b.c',
  'Bearer a\u200b.b.c',
])('no bearer token is found in the Authorization header %j', (header) => {
  expect(bearerToken(header)).toEqual({ refused: 'no bearer token' });
});

test.each([
  '2YotnFZFEjr1zCsicMWpAA',
  '2f6a1f2e-7d57-4ec1-9a80-5d4bd5b7d3a1',
  'ya29.a0AfH6SMBx',
  'Zm9v/YmFy+Zm9v~==',
  'x',
  `${token}=`,
  `${token}.x`,
  `${token}.`,
  `.${token}`,
  'a.b',
  'a..b',
  'a.b.',
  'a.b+c.d',
  'a.b/c.d',
  'a.b.c.d',
  'a.b.c.d.e.f',
  '.b.c.d.e',
  '....',
])('the bearer token %j is refused, because it is not a signed JWT', (other) => {
  expect(bearerToken(`Bearer ${other}`)).toEqual({ refused: 'not a signed JWT' });
});

test.each(['dir', 'A256KW', 'A256GCMKW'])('a JWE with the alg %s is refused as an encrypted token', async (alg) => {
  const jwe = await new CompactEncrypt(Buffer.from('{}'))
    .setProtectedHeader({ alg, enc: 'A256GCM' })
    .encrypt(await generateSecret(alg === 'dir' ? 'A256GCM' : alg));
  expect(jwe.split('.')).toHaveLength(5);
  expect(bearerToken(`Bearer ${jwe}`)).toEqual({ refused: 'encrypted token' });
});

test.each<[what: string, prefix: string, refused: Refusal]>([
  ['a signed JWT', 'Bearer a.b.', 'too long'],
  ['an opaque token', 'Bearer ', 'too long'],
  ['two tokens', `Bearer ${token},`, 'too long'],
  ['another scheme', 'Basic ', 'no bearer token'],
])('an Authorization header of more than 8,192 characters is refused: %s', (_, prefix, refused) => {
  const header = (length: number) => prefix.padEnd(length, 'c');
  expect(bearerToken(header(8_192))).not.toEqual({ refused: 'too long' });
  for (const length of [8_193, 65_536]) expect(bearerToken(header(length))).toEqual({ refused });
});

test('a signed JWT is read from an Authorization header of exactly 8,192 characters', () => {
  const longest = `a.b.${'c'.repeat(8_192 - 'Bearer a.b.'.length)}`;
  expect(bearerToken(`Bearer ${longest}`)).toEqual({ token: longest });
});
