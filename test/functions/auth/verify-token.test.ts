import { createHmac } from 'node:crypto';
import type { Jwks } from 'aws-jwt-verify/jwk';
import { type CryptoKey, exportSPKI, importJWK } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { IssuerKeys } from '../../../functions/auth/issuer-keys.ts';
import { verifyToken } from '../../../functions/auth/verify-token.ts';
import {
  assemble,
  assembleSigned,
  audience,
  claims,
  inSeconds,
  issuer,
  makeKey,
  rawSignature,
  type SigningKey,
  scope,
  sign,
} from '../../access-tokens.ts';

let es: SigningKey;
let rs: SigningKey;
/** A key of the issuer that says neither algorithm nor use. */
let bare: SigningKey;
let bareEs384: SigningKey;
let bareEs256: SigningKey;
let stranger: SigningKey;
let jwks: Jwks;
let fetches: number;

beforeAll(async () => {
  [es, rs, bare, bareEs384, bareEs256, stranger] = await Promise.all([
    makeKey('ES256', 'es'),
    makeKey('RS256', 'rs'),
    makeKey('RS256', 'bare'),
    makeKey('ES384', 'bare-es384'),
    makeKey('ES256', 'bare-es256'),
    makeKey('ES256', 'es'),
  ]);
  for (const key of [bare, bareEs384, bareEs256]) {
    delete key.jwk.alg;
    delete key.jwk.use;
  }
  jwks = { keys: [es, rs, bare, bareEs384, bareEs256].map(({ jwk }) => jwk) } as Jwks;
});

// No token gets older while it is looked at.
beforeEach(() => {
  vi.useFakeTimers({ now: 1_795_255_200_000, toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const keys: IssuerKeys = {
  current: async () => {
    fetches += 1;
    return jwks;
  },
  renewed: async () => jwks,
};

const verify = (token: string, rules: { audience?: string | undefined } = { audience }) => {
  fetches = 0;
  return verifyToken(token, { issuer, scope, ...rules }, keys);
};

describe('lets in', () => {
  test.each<[string, () => Promise<string>]>([
    ['ES256', () => sign(es)],
    ['RS256', () => sign(rs)],
    ['RS256 by a key that names no algorithm', () => sign(bare)],
    ['no typ, as from Cognito', () => sign(es, claims({ token_use: 'access' }), { typ: undefined })],
    ['typ JWT', () => sign(es, claims(), { typ: 'JWT' })],
    ['typ application/at+jwt', () => sign(es, claims(), { typ: 'application/AT+JWT' })],
    ['several audiences, ours among them', () => sign(es, claims({ aud: ['urn:other', audience] }))],
    ['several scopes, ours among them', () => sign(es, claims({ scope: `plants/read ${scope} openid` }))],
    ['no iat', () => sign(es, claims({ iat: undefined }))],
    ['an iat and nbf ahead by a minute', () => sign(es, claims({ iat: inSeconds(60), nbf: inSeconds(60) }))],
    ['a past nbf', () => sign(es, claims({ nbf: inSeconds(-1) }))],
    ['an exp in half a second', () => sign(es, claims({ exp: inSeconds(0) + 0.5 }))],
  ])('%s', async (_, token) => {
    expect(await verify(await token())).toMatchObject({ claims: { sub: 'client-1' } });
  });

  test('any audience where none is asked for', async () => {
    expect(await verify(await sign(es, claims({ aud: undefined })), {})).toHaveProperty('claims');
  });
});

const unsigned = (header: object) => async () => assemble({ kid: 'es', typ: 'at+jwt', ...header }, claims());

const signedAs = (header: object, key: () => SigningKey, digest: string) => () =>
  assembleSigned({ typ: 'at+jwt', ...header }, claims(), rawSignature(key(), digest));

const withPart = (index: number, change: (part: string) => string) => async () =>
  (await sign(es))
    .split('.')
    .map((part, at) => (at === index ? change(part) : part))
    .join('.');

/** The same bytes in other letters: the last character of a part may carry bits that decoding drops. */
const otherLastLetter = (part: string): string => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const other = alphabet[alphabet.indexOf(part.slice(-1)) + 1] ?? '';
  const changed = part.slice(0, -1) + other;
  expect(Buffer.from(changed, 'base64url').equals(Buffer.from(part, 'base64url'))).toBe(true);
  return changed;
};

describe('refuses', () => {
  test.each<[string, string, () => Promise<string>]>([
    ['algorithm', 'alg none', unsigned({ alg: 'none' })],
    ['algorithm', 'alg None', unsigned({ alg: 'None' })],
    ['algorithm', 'no alg', unsigned({})],
    ['algorithm', 'alg __proto__', unsigned({ alg: '__proto__' })],
    ['algorithm', 'alg toString', unsigned({ alg: 'toString' })],
    ['malformed', 'an alg that is no string', unsigned({ alg: 7 })],
    [
      'algorithm',
      'RS512 by a key that names no algorithm',
      signedAs({ alg: 'RS512', kid: 'bare' }, () => bare, 'SHA512'),
    ],
    [
      'algorithm',
      'ES256 in the header over a signature of RS256',
      signedAs({ alg: 'ES256', kid: 'bare' }, () => bare, 'SHA256'),
    ],
    ['algorithm', 'ES256 by a P-384 key', signedAs({ alg: 'ES256', kid: 'bare-es384' }, () => bareEs384, 'SHA256')],
    ['algorithm', 'RS256 by an elliptic key', signedAs({ alg: 'RS256', kid: 'bare-es256' }, () => bareEs256, 'SHA256')],
    [
      'malformed',
      'a header that is not UTF-8',
      async () => {
        const header = Buffer.from('{"alg":"ES256","kid":"es","note":"\xff"}', 'latin1').toString('base64url');
        return `${header}.${(await sign(es)).split('.').slice(1).join('.')}`;
      },
    ],
    [
      'algorithm',
      'HS256 with the public key as its secret',
      async () => {
        const pem = await exportSPKI((await importJWK(rs.jwk, 'RS256', { extractable: true })) as CryptoKey);
        const hmac = (input: string) => createHmac('sha256', pem).update(input).digest('base64url');
        return assembleSigned({ alg: 'HS256', kid: 'rs', typ: 'at+jwt' }, claims(), hmac);
      },
    ],
    ['algorithm', "RS256 in the header over another algorithm's key", () => sign(rs, claims(), { kid: 'es' })],
    ['signature', "another issuer's key under the same kid", () => sign(stranger)],
    ['signature', 'a signature of zeros', withPart(2, (part) => 'A'.repeat(part.length))],
    ['unverifiable', 'a truncated signature', withPart(2, (part) => part.slice(0, -2))],
    [
      'signature',
      'another payload',
      async () => {
        const [header, , signature] = (await sign(es)).split('.');
        return [header, (await sign(es, claims({ sub: 'root' }))).split('.')[1], signature].join('.');
      },
    ],
    ['malformed', 'another spelling of the signature', withPart(2, otherLastLetter)],
    ['malformed', 'padding', withPart(1, (part) => `${part}=`)],
    ['malformed', 'a header that is no JSON', withPart(0, () => 'bm9uc2Vuc2U')],
    ['malformed', 'a payload that is no object', () => sign(es, ['x'])],
    ['malformed', 'a payload that is null', () => sign(es, null)],
    [
      'malformed',
      'a payload that is not UTF-8',
      async () => {
        const text = JSON.stringify(claims({ note: 'é' }));
        return sign(es, Buffer.from(text, 'latin1'));
      },
    ],
    ['type', 'an ID token by its typ', () => sign(es, claims(), { typ: 'id+jwt' })],
    ['type', 'a typ that is no string', () => sign(es, claims(), { typ: 1 as never })],
    ['not an access token', 'a refresh token', () => sign(es, claims({ token_use: 'refresh' }))],
    ['not an access token', 'an ID token of Cognito', () => sign(es, claims({ token_use: 'id' }), { typ: undefined })],
    ['critical extension', 'crit', unsigned({ alg: 'ES256', crit: ['exp'], exp: 1 })],
    ['critical extension', 'b64 false', unsigned({ alg: 'ES256', b64: false })],
    ['unknown key', 'a kid that the issuer has not', () => sign(es, claims(), { kid: '../../es' })],
    ['unknown key', 'no kid', () => sign(es, claims(), { kid: undefined })],
    ['malformed', 'a kid that is a number', unsigned({ alg: 'ES256', kid: 1 })],
    ['issuer', 'another issuer', () => sign(es, claims({ iss: 'https://other.example' }))],
    ['issuer', 'the issuer with a slash more', () => sign(es, claims({ iss: `${issuer}/` }))],
    ['issuer', 'no issuer', () => sign(es, claims({ iss: undefined }))],
    ['audience', 'another audience', () => sign(es, claims({ aud: 'urn:other' }))],
    ['audience', 'the audience in capitals', () => sign(es, claims({ aud: audience.toUpperCase() }))],
    ['audience', 'no audience', () => sign(es, claims({ aud: undefined }))],
    ['audience', 'an empty list of audiences', () => sign(es, claims({ aud: [] }))],
    ['no expiry', 'no exp', () => sign(es, claims({ exp: undefined }))],
    ['malformed', 'an exp that is a string', () => sign(es, claims({ exp: String(inSeconds(60)) }))],
    ['expired', 'a past exp', () => sign(es, claims({ exp: inSeconds(-1) }))],
    ['expired', 'an exp of now', () => sign(es, claims({ exp: inSeconds(0) }))],
    ['not yet valid', 'an nbf ahead by more than a minute', () => sign(es, claims({ nbf: inSeconds(61) }))],
    ['not yet valid', 'an nbf beyond all time', () => sign(es, claims({ nbf: 1e300 }))],
    ['not yet valid', 'an iat ahead by more than a minute', () => sign(es, claims({ iat: inSeconds(61) }))],
    ['scope', 'another scope', () => sign(es, claims({ scope: 'plants/read' }))],
    ['scope', 'a scope that ours begins', () => sign(es, claims({ scope: `${scope}-all` }))],
    ['scope', 'a scope in capitals', () => sign(es, claims({ scope: scope.toUpperCase() }))],
    ['scope', 'no scope', () => sign(es, claims({ scope: undefined }))],
    ['malformed', 'a list of scopes', () => sign(es, claims({ scope: [scope] }))],
  ])('as %s: %s', async (reason, _, token) => {
    expect(await verify(await token())).toEqual({ refused: reason });
  });

  test.each<[string, () => Promise<string>]>([
    ['issuer', () => sign(es, claims({ iss: 'https://other.example' }))],
    ['algorithm', unsigned({ alg: 'toString' })],
    ['key id', () => sign(es, claims(), { kid: undefined })],
    ['expired', () => sign(es, claims({ exp: inSeconds(-1) }))],
  ])('a token that cannot be good for its %s without looking for a key', async (_, token) => {
    expect(await verify(await token())).toHaveProperty('refused');
    expect(fetches).toBe(0);
  });

  test('a token that expires while the keys are looked for', async () => {
    const current = async () => {
      vi.advanceTimersByTime(2_000);
      return jwks;
    };
    const slow = { current, renewed: async () => jwks };
    const token = await sign(es, claims({ exp: inSeconds(1) }));
    expect(await verifyToken(token, { issuer, audience, scope }, slow)).toEqual({ refused: 'expired' });
  });
});

describe('the keys of the issuer', () => {
  test('are looked at once more for a key that is unknown, which may be new', async () => {
    const fresh = await makeKey('ES256', 'fresh');
    const renewed = { keys: [fresh.jwk] } as Jwks;
    const rotating = { current: async () => jwks, renewed: async () => renewed };
    const token = await sign(fresh);
    expect(await verifyToken(token, { issuer, audience, scope }, rotating)).toHaveProperty('claims');
  });

  test('that cannot be had are no verdict', async () => {
    const none = { current: () => Promise.reject(new Error('down')), renewed: () => Promise.reject(new Error('down')) };
    await expect(verifyToken(await sign(es), { issuer, audience, scope }, none)).rejects.toThrow('down');
  });

  test('that cannot be used let nobody in', async () => {
    const broken = { keys: [{ kid: 'es', kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }] } as Jwks;
    const rules = { issuer, audience, scope };
    const verdict = await verifyToken(await sign(es), rules, {
      current: async () => broken,
      renewed: async () => broken,
    });
    expect(verdict).toEqual({ refused: 'unverifiable' });
  });
});
