import { expect, test } from 'vitest';
import { bearerToken, maxHeaderLength } from '../../auth/bearer-token.ts';
import type { Refusal } from '../../auth/unverified-token.ts';

const token = 'eyJh-_bGci.eyJz-_dWIi.c2ln-_bmF0';
const longest = 'Bearer a.b.'.padEnd(maxHeaderLength, 'c');

test('a bearer token is read from the Authorization header, whatever the case of the scheme', () => {
  for (const header of [`Bearer ${token}`, `bearer ${token}`, `BEARER   ${token}`, longest])
    expect(bearerToken(header)).toEqual({ token: header.replace(/^bearer +/i, '') });
});

test.each<[Refusal, headers: (string | undefined)[]]>([
  [
    'no bearer token',
    [
      undefined,
      'Bearer ',
      token,
      `Basic ${'x'.repeat(maxHeaderLength)}`,
      `BearerX ${token}`,
      `Bearer\t${token}`,
      `Bearer ${token},Bearer ${token}`,
      `Bearer "${token}"`,
      'Bearer ａ.b.c',
    ],
  ],
  ['too long', [`${longest}c`, `Bearer ${'x'.repeat(65_536)}`, `Bearer ${token},`.padEnd(maxHeaderLength + 1, 'c')]],
  [
    'not a signed JWT',
    ['x', `${token}=`, `${token}.x`, 'a.b', 'a..b', 'a.b/c.d', 'a.b.c.d.e.f', '.b.c.d.e'].map(
      (other) => `Bearer ${other}`,
    ),
  ],
  ['encrypted token', ['Bearer a.b.c.d.e', 'Bearer eyJhbGciOiJkaXIifQ..aXY.Y2lwaGVydGV4dA.dGFn']],
])('an Authorization header is refused with the reason "%s"', (refused, headers) => {
  for (const header of headers) expect(bearerToken(header), String(header).slice(0, 80)).toEqual({ refused });
});
