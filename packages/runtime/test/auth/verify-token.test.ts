/**
 * Tests what our code decides about a token. issuers.test.ts has the tokens of well-known issuers;
 * packages/testing/suite/tokens.ts sends forged tokens to the deployed authorizer.
 */

import { assemble, audience, claims, issuer, makeKey, scope, sign } from '@lambda-service/testing/tokens';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type IssuerKey, type IssuerKeys, usableKeys } from '../../auth/issuer-keys.ts';
import type { Refusal } from '../../auth/unverified-token.ts';
import { type TokenRules, verifyToken } from '../../auth/verify-token.ts';

const usable = (...keys: object[]): IssuerKey[] =>
  usableKeys(new TextEncoder().encode(JSON.stringify({ keys })).buffer);

const holding = (...keys: object[]): IssuerKeys => ({
  current: async () => usable(...keys),
  renewed: () => Promise.reject(new Error('fetched again')),
});

const [es, rs] = [await makeKey('ES256', 'es'), await makeKey('RS256', 'rs')];
/** Another key for ES256, with the same kid as `es`. */
const other = await makeKey('ES256', 'es');
const held = holding(es.jwk, rs.jwk);

/** The time at which the fake clock stands still, in seconds since 1970, so that no token expires during a test. */
const now = 1_795_255_200;
beforeEach(() => {
  vi.useFakeTimers({ now: now * 1000, toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const rules: TokenRules = { issuer, audience, clientIds: null, requiredScopes: [scope], scopeClaims: ['scope'] };

const verify = (token: string, change: Partial<TokenRules> = {}) => verifyToken(token, { ...rules, ...change }, held);

const accepted = expect.objectContaining({ claims: expect.any(Object) });

type Change = Record<string, unknown>;

test.each<[what: string, change: Change, header?: Change]>([
  ['the typ at+jwt', {}],
  ['the typ application/at+jwt', {}, { typ: 'application/AT+JWT' }],
  ['an iat and nbf a minute ahead', { iat: now + 60, nbf: now + 60 }],
  ['no iat', { iat: undefined }],
  ['times with fractions', { iat: now - 0.5, nbf: now - 0.5, exp: now + 0.5 }],
  ['a jti that is a number, as other claims that decide nothing may be', { jti: 7 }],
])('verifyToken accepts a token with %s', async (_, change, header) => {
  expect(await verify(await sign(es, claims(change), header))).toEqual(accepted);
});

describe('verifyToken refuses, before it looks up a key,', () => {
  const none: IssuerKeys = { current: () => Promise.reject(new Error('fetched')), renewed: () => Promise.reject() };
  const verdictOn = (token: string) => verifyToken(token, rules, none);

  test.each<[Refusal, header: Change, change: Change]>([
    ['type', { typ: 'id+jwt' }, {}],
    ['type', { typ: ['at+jwt'] }, {}],
    ['critical extension', { crit: [] }, {}],
    ['critical extension', { b64: true }, {}],
    ['algorithm', { alg: 'none' }, {}],
    ['algorithm', { alg: 'toString' }, {}],
    ['unknown key', { kid: undefined }, {}],
    ['issuer', {}, { iss: `${issuer}/` }],
    ['no expiry', {}, { exp: undefined }],
    ['expired', {}, { exp: now }],
    ['not yet valid', {}, { nbf: now + 61 }],
    ['not yet valid', {}, { iat: now + 61 }],
    ['not an access token', {}, { token_use: 'id' }],
    ['not an access token', {}, { token_use: null }],
    ['malformed', {}, { sub: 7 }],
  ])('a token, with the reason "%s": %j %j', async (refused, header, change) => {
    const token = assemble({ alg: 'ES256', kid: 'es', typ: 'at+jwt', ...header }, claims(change));
    expect(await verdictOn(token)).toEqual({ refused });
  });

  const latin1 = (text: string) => Buffer.from(text, 'latin1').toString('base64url');
  test.each<[what: string, index: number, change: (part: string) => string]>([
    ['padding', 0, (part) => `${part}=`],
    ['unused bits', 2, () => 'AB'],
    ['a fourth part', 2, (part) => `${part}.${part}`],
    ['a header that is not UTF-8', 0, () => latin1('{"alg":"ES256","kid":"\xff"}')],
    ['a payload that is not UTF-8', 1, () => latin1('{"sub":"\xff"}')],
    ['a payload that is not JSON', 1, () => latin1('x')],
  ])('a malformed token: %s', async (_, index, change) => {
    const parts = assemble({ alg: 'ES256', kid: 'es' }, claims()).split('.');
    expect(await verdictOn(parts.with(index, change(parts[index] ?? '')).join('.'))).toEqual({ refused: 'malformed' });
  });
});

test.each(['urn:other', undefined, 'none'])('verifyToken refuses a token for the audience %j', async (aud) => {
  expect(await verify(await sign(es, claims({ aud })))).toEqual({ refused: 'audience' });
});

test("verifyToken refuses a token that expires while the issuer's keys are fetched", async () => {
  const keys = usable(es.jwk);
  const current = async () => {
    vi.advanceTimersByTime(1_000);
    return keys;
  };
  const token = await sign(es, claims({ exp: now + 1 }));
  expect(await verifyToken(token, rules, { ...held, current })).toEqual({ refused: 'expired' });
});

describe('a list of clients', () => {
  const [own, other] = ['client-1', 'client-2'];
  const noClient = { client_id: undefined };

  test.each<[verdict: 'accepted' | 'client', change: Change]>([
    ['accepted', {}],
    ['accepted', { client_id: 'client-3' }],
    ['accepted', { ...noClient, azp: own }],
    ['accepted', { azp: own, cid: 'client-3' }],
    ['client', { client_id: other }],
    ['client', noClient],
    ['client', { ...noClient, sub: own }],
    ['client', { azp: other }],
    ['client', { client_id: other, azp: own }],
    ['client', { azp: null }],
    ['client', { client_id: [own] }],
    ['client', { client_id: '' }],
    ['client', { client_id: `${own},client-3` }],
    ['client', { client_id: own.toUpperCase() }],
  ])('has the verdict "%s" on a token with %j', async (verdict, change) => {
    for (const aud of [undefined, audience]) {
      const token = await sign(es, claims({ aud, ...change }));
      const expected = verdict === 'accepted' ? accepted : { refused: verdict };
      const required = { audience: aud ?? null, clientIds: [own, 'client-3'] };
      expect(await verify(token, required)).toEqual(expected);
    }
  });
});

describe('the required scope', () => {
  const read = 'items/read';
  const verifyClaims = async (claimed: object, scopeClaims: string[]) =>
    verify(await sign(es, claims({ scope: undefined, ...claimed })), { scopeClaims });

  test.each<[claimed: object, scopeClaims: string[]]>([
    [{ scope: `${read} ${scope}` }, ['scope']],
    [{ scope: null, scp: scope }, ['scp']],
    [{ scope: [read], scp: scope }, ['scp']],
    [{ scope: { read: true }, scp: scope }, ['scope', 'scp']],
    [{ scp: 7, roles: [scope] }, ['scp', 'roles']],
  ])('is found in %j if the settings name the claims %j', async (claimed, scopeClaims) => {
    expect(await verifyClaims(claimed, scopeClaims)).toEqual(accepted);
    expect(await verifyClaims(claimed, ['permissions'])).toEqual({ refused: 'scope' });
  });

  test.each([
    undefined,
    null,
    { [scope]: true },
    `${read},${scope}`,
    `${scope}\n`,
    [`${read} ${scope}`],
    [[scope]],
    [scope, 7],
  ])('is not found in a claim with the value %j', async (value) => {
    for (const name of ['scope', 'scp'])
      expect(await verifyClaims({ [name]: value }, [name])).toEqual({ refused: 'scope' });
  });

  test('is returned once, with all other scopes in the configured claims', async () => {
    const claimed = { scp: `${read}  ${scope}`, roles: [scope, 'two words', '', 'admin'] };
    expect(await verifyClaims(claimed, ['scp', 'roles'])).toMatchObject({ scopes: [read, scope, 'admin'] });
  });
});

describe('the keys of the issuer', () => {
  test('are fetched again if a token names an unknown key, which may be new', async () => {
    const rotating = { ...held, renewed: async () => usable(other.jwk, { ...other.jwk, kid: 'new' }) };
    expect(await verifyToken(await sign({ ...other, kid: 'new' }), rules, rotating)).toEqual(accepted);
    expect(await verifyToken(await sign({ ...other, kid: 'x' }), rules, rotating)).toEqual({ refused: 'unknown key' });
  });

  test('make verifyToken throw, instead of refusing the token, if they cannot be fetched', async () => {
    const current = () => Promise.reject(new Error('down'));
    await expect(verifyToken(await sign(es), rules, { current, renewed: current })).rejects.toThrow('down');
  });
});

describe('keys that share a kid', () => {
  /** Returns the verdicts on a token if the keys are in this order, and in the opposite order. */
  const verdicts = (token: string, ...keys: object[]) =>
    Promise.all([keys, keys.toReversed()].map((inOrder) => verifyToken(token, rules, holding(...inOrder))));

  test.each<[what: string, token: () => Promise<string>, verdict: object]>([
    ['the first', () => sign(es), accepted],
    ['the second of the same type', () => sign(other), accepted],
    ['the one of another type', () => sign({ ...rs, kid: 'es' }), accepted],
    ['none', async () => sign(await makeKey('ES256', 'es')), { refused: 'signature' }],
    ['one of them, but without the scope', () => sign(es, claims({ scope: 'x' })), { refused: 'scope' }],
  ])('are all tried for a token that is signed by %s', async (_, token, verdict) => {
    expect(await verdicts(await token(), es.jwk, other.jwk, { ...rs.jwk, kid: 'es' })).toEqual([verdict, verdict]);
  });

  test('do not verify a token that declares the algorithm of neither', async () => {
    expect(await verdicts(await sign({ ...rs, kid: 'es' }), es.jwk, rs.jwk)).toEqual([
      { refused: 'algorithm' },
      { refused: 'algorithm' },
    ]);
  });
});
