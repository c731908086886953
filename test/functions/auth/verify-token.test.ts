import { createPublicKey, hash, type JsonWebKey, verify as verifySignature } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type IssuerKey, type IssuerKeys, usableKeys } from '../../../functions/auth/issuer-keys.ts';
import type { Refusal } from '../../../functions/auth/unverified-token.ts';
import { type TokenRules, verifyToken } from '../../../functions/auth/verify-token.ts';
import { assembleSigned, audience, claims, inSeconds, issuer, makeKey, scope, sign } from '../../kit/access-tokens.ts';
import { forgedTokens } from '../../kit/forged-tokens.ts';
import {
  type MakeToken,
  makeTokenIssuer,
  signedAs,
  type TokenIssuer,
  unsigned,
  withClaims,
  withPayload,
} from '../../kit/token-variants.ts';
import { validTokens } from '../../kit/valid-tokens.ts';

const usable = (...keys: object[]): IssuerKey[] =>
  usableKeys(new TextEncoder().encode(JSON.stringify({ keys })).buffer);

const holding = (...keys: object[]): IssuerKeys => ({
  current: async () => usable(...keys),
  renewed: () => Promise.reject(new Error('looked at again')),
});

let from: TokenIssuer;
let held: IssuerKey[];
let fetches: number;

beforeAll(async () => {
  from = await makeTokenIssuer(issuer, 'https://elsewhere.example/jwks');
  held = usable(...from.jwks.keys);
});

/** The time at which the fake clock stands still, in seconds since 1970, so that no token expires during a test. */
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
    return held;
  },
  renewed: async () => held,
};

const rules: TokenRules = { issuer, audience, requiredScopes: [scope], scopeClaims: ['scope'] };

const verify = (token: string, change: Partial<TokenRules> = {}) => {
  fetches = 0;
  return verifyToken(token, { ...rules, ...change }, keys);
};

describe('verifyToken accepts a token with', () => {
  test.each<[string, MakeToken]>([
    ...validTokens,
    ['an iat and nbf a minute ahead', withClaims({ iat: now + 60, nbf: now + 60 })],
    ['an exp in half a second', withClaims({ exp: now + 0.5 })],
  ])('%s', async (_, make) => {
    expect(await verify(await make(from))).toHaveProperty('claims');
  });

  test('no audience if no audience is required', async () => {
    expect(await verify(await sign(from.es, claims({ aud: undefined })), { audience: null })).toHaveProperty('claims');
  });
});

describe('verifyToken refuses', () => {
  test.each<[Refusal, string, MakeToken]>([
    ...forgedTokens,
    ['not yet valid', 'an nbf 61 seconds ahead', withClaims({ nbf: now + 61 })],
    ['not yet valid', 'an iat 61 seconds ahead', withClaims({ iat: now + 61 })],
  ])('a forged or invalid token, with the reason "%s": %s', async (reason, _, forge) => {
    expect(await verify(await forge(from))).toEqual({ refused: reason });
  });

  test('a token for another API or without an audience, even if the required audience is "none", which verifyToken compares like any other audience', async () => {
    for (const aud of ['urn:payroll', undefined]) {
      expect(await verify(await sign(from.es, claims({ aud })), { audience: 'none' })).toEqual({ refused: 'audience' });
    }
  });

  test.each<[string, MakeToken]>([
    ['issuer', withClaims({ iss: 'https://other.example' })],
    ['algorithm', unsigned({ alg: 'toString' })],
    ['key id', withClaims({}, { kid: undefined })],
    ['expiry', withClaims({ exp: now - 1 })],
    ['expiry, which is now', withClaims({ exp: now })],
  ])("a token because of its %s, without fetching the issuer's keys", async (_, forge) => {
    expect(await verify(await forge(from))).toHaveProperty('refused');
    expect(fetches, 'fetches of keys').toBe(0);
  });

  test("a token that expires while the issuer's keys are fetched", async () => {
    const current = async () => {
      vi.advanceTimersByTime(1_000);
      return held;
    };
    const slow = { current, renewed: async () => held };
    const token = await sign(from.es, claims({ exp: inSeconds(1) }));
    expect(await verifyToken(token, rules, slow)).toEqual({ refused: 'expired' });
  });
});

describe('the required scope', () => {
  const other = 'plants/read';
  const url = 'https://example.com/roles';
  const names = ['scope', 'scp', 'roles', 'permissions', url];
  const verifyClaims = async (claimed: object, scopeClaims: string[]) =>
    verify(await sign(from.es, claims({ scope: undefined, ...claimed })), { scopeClaims });

  const words = [scope, `${other} ${scope}`];
  const lists = [[scope], [other, scope], ['two words', '', scope]];

  test.each(names)(
    'is found in the claim %s, as a word of a string or an element of a list, but only if the settings name that claim',
    async (name) => {
      for (const value of name === 'scope' ? words : [...words, ...lists]) {
        expect(await verifyClaims({ [name]: value }, [name])).toHaveProperty('claims');
        for (const unnamed of names.filter((each) => each !== name)) {
          expect(await verifyClaims({ [name]: value }, [unnamed])).toEqual({ refused: 'scope' });
        }
      }
    },
  );

  test.each<[what: string, claimed: object]>([
    ['the first claim', { scp: scope, roles: [other] }],
    ['the second claim', { scp: other, roles: [scope] }],
    ['the second claim, and the first is missing', { roles: [scope] }],
    ['the second claim, and the first is a number', { scp: 7, roles: [scope] }],
  ])('is found in either of the two claims that the settings name: %s', async (_, claimed) => {
    expect(await verifyClaims(claimed, ['scp', 'roles'])).toHaveProperty('claims');
  });

  test.each([
    { [scope]: true },
    { 0: scope, length: 1 },
    null,
    true,
    7,
    '',
    `${other},${scope}`,
    `x${scope}`,
    `${scope}\n`,
    [],
    [''],
    [other],
    [`${other} ${scope}`],
    [` ${scope}`],
    [`${scope}\n`],
    [[scope]],
    [scope, 7],
    [scope, null],
    [scope, [scope]],
    [{ [scope]: true }],
  ])('is not found in a claim with the value %j', async (value) => {
    expect(await verifyClaims({ scp: value }, ['scp'])).toEqual({ refused: 'scope' });
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', '0', ''])(
    'is not found if the token lacks the claim %j, even if JavaScript objects, lists or strings have a property of that name',
    async (name) => {
      expect(await verifyClaims({}, [name])).toEqual({ refused: 'scope' });
      expect(await verifyClaims({ scp: scope }, [name, 'scp'])).toHaveProperty('claims');
    },
  );

  test('is not found in a property that somebody has added to Object.prototype', async () => {
    onTestFinished(() => {
      Reflect.deleteProperty(Object.prototype, 'scp');
    });
    Object.defineProperty(Object.prototype, 'scp', { value: scope, configurable: true });
    expect(await verifyClaims({}, ['scp'])).toEqual({ refused: 'scope' });
  });

  test("is not found in a token's claim named __proto__, nor in a property of that claim's value", async () => {
    for (const value of [`"${scope}"`, `["${scope}"]`, `{"scope":"${scope}"}`]) {
      const token = await withPayload((payload) => payload.replace(/"scope":"[^"]*"/, `"__proto__":${value}`))(from);
      for (const name of ['__proto__', 'scope']) {
        expect(await verify(token, { scopeClaims: [name] })).toEqual({ refused: 'scope' });
      }
    }
  });

  test('is returned by verifyToken, along with all other scopes in the configured claims, and is not repeated if two of these claims contain it', async () => {
    const claimed = { scp: `${other}  ${scope}`, roles: [scope, 'two words', '', 'admin'] };
    expect(await verifyClaims(claimed, ['scp', 'roles'])).toMatchObject({ scopes: [other, scope, 'admin'] });
  });
});

describe('the keys of the issuer', () => {
  test('are fetched again if a token names an unknown key, which may be new', async () => {
    const fresh = await makeKey('ES256', 'fresh');
    const rotating = { current: async () => held, renewed: async () => usable(fresh.jwk) };
    const token = await sign(fresh);
    expect(await verifyToken(token, rules, rotating)).toHaveProperty('claims');
  });

  test('are not fetched again if a token names a known key, whether the token is accepted or refused', async () => {
    const once = holding(...from.jwks.keys);
    expect(await verifyToken(await sign(from.es), rules, once)).toHaveProperty('claims');
    expect(await verifyToken(await sign(from.es, claims({ scope: 'other' })), rules, once)).toEqual({
      refused: 'scope',
    });
  });

  test('make verifyToken throw, instead of refusing the token, if they cannot be fetched', async () => {
    const none = { current: () => Promise.reject(new Error('down')), renewed: () => Promise.reject(new Error('down')) };
    await expect(verifyToken(await sign(from.es), rules, none)).rejects.toThrow('down');
  });

  test('exclude an RSA key with the exponent 1, for which anybody can forge signatures', async () => {
    const weak = { ...from.rs.jwk, kid: 'weak', e: 'AQ' };
    // With the exponent 1, RSA changes nothing, so the encoded digest (RFC 8017 section 9.2) is its own signature.
    const encodedDigest = (input: string): Buffer => {
      const digest = Buffer.from(`3031300d060960864801650304020105000420${hash('sha256', input)}`, 'hex');
      return Buffer.concat([Buffer.of(0, 1), Buffer.alloc(256 - 3 - digest.length, 0xff), Buffer.of(0), digest]);
    };
    const header = { alg: 'RS256', kid: 'weak', typ: 'at+jwt' };
    const forged = await assembleSigned(header, claims(), (input) => encodedDigest(input).toString('base64url'));
    const [head = '', payload = '', signature = ''] = forged.split('.');
    const publicKey = createPublicKey({ key: weak as JsonWebKey, format: 'jwk' });
    const signed = Buffer.from(`${head}.${payload}`);
    const isVerified = verifySignature('sha256', signed, publicKey, Buffer.from(signature, 'base64url'));
    expect(isVerified, 'node:crypto accepts the forged signature').toBe(true);
    const keys = usable(weak, from.es.jwk);
    const verdict = await verifyToken(forged, rules, { current: async () => keys, renewed: async () => keys });
    expect(verdict).toEqual({ refused: 'unknown key' });
  });

  describe('that share a kid', () => {
    const verdicts = async (token: string, ...keys: { jwk: object }[]) => {
      const inOrder = keys.map(({ jwk }) => ({ ...jwk, kid: 'es' }));
      return [
        await verifyToken(token, rules, holding(...inOrder)),
        await verifyToken(token, rules, holding(...inOrder.reverse())),
      ];
    };
    const letIn = expect.objectContaining({ scopes: [scope] });
    const refused = { refused: 'signature' };

    test.each(['rs', 'bare'] as const)(
      'are distinguished by their key type if one is an ES256 key and the other is an RSA key (%s), whichever comes first in the key set',
      async (name) => {
        for (const key of [from.es, from[name]]) {
          const token = await sign(key, claims(), { kid: 'es' });
          expect(await verdicts(token, from.es, from[name])).toEqual([letIn, letIn]);
        }
      },
    );

    test('are all tried if they have the same key type', async () => {
      for (const key of [from.es, from.bareEs256]) {
        const token = await sign(key, claims(), { kid: 'es' });
        expect(await verdicts(token, from.es, from.bareEs256, from.rs)).toEqual([letIn, letIn]);
      }
    });

    test('are tried until one of them verifies the signature; if the token then fails another check, that check is the reason for the refusal, not the signature', async () => {
      const token = await sign(from.es, claims({ scope: 'other' }));
      const lacksScope = { refused: 'scope' };
      expect(await verdicts(token, from.es, from.bareEs256)).toEqual([lacksScope, lacksScope]);
    });

    test('do not verify a token that none of them has signed, or that names the wrong algorithm', async () => {
      const token = await sign(from.stranger, claims());
      expect(await verdicts(token, from.es, from.bareEs256, from.rs)).toEqual([refused, refused]);
      expect(await verdicts(await sign(from.rs, claims(), { kid: 'es' }), from.es, from.bare)).toEqual([
        refused,
        refused,
      ]);
      const es256 = await signedAs({ alg: 'ES256', kid: 'es' }, 'rs', 'SHA256')(from);
      expect(await verdicts(es256, from.es, from.rs)).toEqual([refused, refused]);
    });

    test('are all tried, except a key for encryption', async () => {
      const forEncryption = { jwk: { ...from.stranger.jwk, use: 'enc' } };
      expect(await verdicts(await sign(from.es), from.es, forEncryption)).toEqual([letIn, letIn]);
      expect(await verdicts(await sign(from.stranger), from.es, forEncryption)).toEqual([refused, refused]);
    });

    test('are tried only for a token that has the same kid', async () => {
      const token = await sign(from.es, claims(), { kid: 'rs' });
      expect(await verifyToken(token, rules, holding(from.es.jwk, from.rs.jwk))).toEqual({ refused: 'algorithm' });
    });
  });
});
