import { createPublicKey } from 'node:crypto';
import type { Jwk, Jwks } from 'aws-jwt-verify/jwk';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { IssuerKeys } from '../../../functions/auth/issuer-keys.ts';
import type { Refusal } from '../../../functions/auth/unverified-token.ts';
import { algorithms } from '../../../functions/auth/unverified-token.ts';
import { verifyToken } from '../../../functions/auth/verify-token.ts';
import { audience, claims, inSeconds, issuer, makeKey, scope, sign } from '../../access-tokens.ts';
import { forgedTokens } from '../../forged-tokens.ts';
import { honestTokens } from '../../honest-tokens.ts';
import { claiming, type MakeToken, makeTokenIssuer, type TokenIssuer, unsigned } from '../../odd-tokens.ts';

vi.mock('node:crypto', { spy: true });

let from: TokenIssuer;
let jwks: Jwks;
let fetches: number;

beforeAll(async () => {
  from = await makeTokenIssuer(issuer, 'https://elsewhere.example/jwks');
  ({ jwks } = from);
});

/** In seconds. No token gets older while it is looked at. */
const now = 1_795_255_200;
beforeEach(() => {
  vi.useFakeTimers({ now: now * 1000, toFake: ['Date'] });
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

const verify = (token: string, rules: { audience: string | null } = { audience }) => {
  fetches = 0;
  return verifyToken(token, { issuer, scope, ...rules }, keys);
};

describe('lets in', () => {
  test.each<[string, MakeToken]>([
    ...honestTokens,
    ['an iat and nbf ahead by a minute', claiming({ iat: now + 60, nbf: now + 60 })],
    ['an exp in half a second', claiming({ exp: now + 0.5 })],
  ])('%s', async (_, make) => {
    expect(await verify(await make(from))).toHaveProperty('claims');
  });

  test('any audience where none is asked for', async () => {
    expect(await verify(await sign(from.es, claims({ aud: undefined })), { audience: null })).toHaveProperty('claims');
  });
});

describe('refuses', () => {
  test.each<[Refusal, string, MakeToken]>([
    ...forgedTokens,
    ['not yet valid', 'an nbf ahead by a second more than a minute', claiming({ nbf: now + 61 })],
    ['not yet valid', 'an iat ahead by a second more than a minute', claiming({ iat: now + 61 })],
  ])('as %s: %s', async (reason, _, forge) => {
    expect(await verify(await forge(from))).toEqual({ refused: reason });
  });

  test.each<[string, MakeToken]>([
    ['issuer', claiming({ iss: 'https://other.example' })],
    ['algorithm', unsigned({ alg: 'toString' })],
    ['key id', claiming({}, { kid: undefined })],
    ['expiry', claiming({ exp: now - 1 })],
    ['expiry now', claiming({ exp: now })],
  ])('a token that cannot be good for its %s without looking for a key', async (_, forge) => {
    expect(await verify(await forge(from))).toHaveProperty('refused');
    expect(fetches).toBe(0);
  });

  test('a token that expires while the keys are looked for', async () => {
    const current = async () => {
      vi.advanceTimersByTime(1_000);
      return jwks;
    };
    const slow = { current, renewed: async () => jwks };
    const token = await sign(from.es, claims({ exp: inSeconds(1) }));
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

  test('are looked at once for a key that is known, whatever the verdict', async () => {
    const once = { current: async () => jwks, renewed: () => Promise.reject(new Error('looked at again')) };
    const rules = { issuer, audience, scope };
    expect(await verifyToken(await sign(from.es), rules, once)).toHaveProperty('claims');
    expect(await verifyToken(await sign(from.es, claims({ scope: 'other' })), rules, once)).toEqual({
      refused: 'scope',
    });
  });

  test('fit an algorithm by their kind and, where there are several, by their curve', () => {
    const fits = (jwk: Partial<Jwk>) =>
      Object.entries(algorithms).flatMap(([alg, takes]) => (takes(jwk as Jwk) ? [alg] : []));
    expect(fits({ kty: 'RSA', crv: 'P-256' })).toEqual(['RS256']);
    expect(fits({ kty: 'EC', crv: 'P-256' })).toEqual(['ES256']);
    expect(fits({ kty: 'EC', crv: 'P-384' })).toEqual([]);
    expect(fits({ kty: 'oct' })).toEqual([]);
  });

  test('that cannot be had are no verdict', async () => {
    const none = { current: () => Promise.reject(new Error('down')), renewed: () => Promise.reject(new Error('down')) };
    await expect(verifyToken(await sign(from.es), { issuer, audience, scope }, none)).rejects.toThrow('down');
  });

  test('that cannot be used let nobody in', async () => {
    const broken = { keys: [{ kid: 'es', kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }] } as Jwks;
    const rules = { issuer, audience, scope };
    const verdict = await verifyToken(await sign(from.es), rules, {
      current: async () => broken,
      renewed: async () => broken,
    });
    expect(verdict).toEqual({ refused: 'unverifiable' });
  });
});

test('a key of a key set is made once; another under its kid is another key', async () => {
  const token = await sign(from.es, claims());
  const stranger = await makeKey('ES256', from.es.kid);
  const first = { keys: [structuredClone(from.es.jwk)] } as Jwks;
  const verdictBy = (keySet: Jwks) =>
    verifyToken(token, { issuer, audience, scope }, { current: async () => keySet, renewed: async () => keySet });
  const made = vi.mocked(createPublicKey);
  made.mockClear();
  for (let each = 0; each < 3; each += 1) expect(await verdictBy(first)).toHaveProperty('claims');
  expect(made).toHaveBeenCalledTimes(1);
  expect(await verdictBy({ keys: [stranger.jwk] } as Jwks)).toEqual({ refused: 'signature' });
});
