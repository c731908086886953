import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:net';
import { listen } from '@lambda-service/testing/servers';
import { SimpleFetcher } from 'aws-jwt-verify/https';
import type { Jwks } from 'aws-jwt-verify/jwk';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type IssuerKeys, issuerKeys } from '../../auth/issuer-keys.ts';

/** A valid public key: the base point of the curve P-256. */
const point = {
  kty: 'EC',
  crv: 'P-256',
  x: 'axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY',
  y: 'T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
};

const rsaKey = (modulusLength: number) =>
  generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });
const rsa = rsaKey(2_048);
const otherCurve = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' });

const jwks = (kid: string): Jwks => ({ keys: [{ kid, ...point }] });

const kidsOf = (held: readonly { kid: string }[]): string[] => held.map(({ kid }) => kid);

const seconds = (count: number): void => {
  vi.advanceTimersByTime(count * 1000);
};

/** The issuer's JSON response: a key set, or something else. While this is undefined, the issuer is down. */
let published: unknown;
/** How many seconds the simulated issuer takes to respond. */
let delay: number;
let fetches: string[];
let keys: IssuerKeys;

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  published = jwks('a');
  delay = 0;
  fetches = [];
  vi.spyOn(SimpleFetcher.prototype, 'fetch').mockImplementation(async (uri) => {
    fetches.push(uri);
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay * 1000));
    if (published === undefined) throw new Error('the issuer is down');
    return (published instanceof Uint8Array ? published : new TextEncoder().encode(JSON.stringify(published)))
      .buffer as ArrayBuffer;
  });
  keys = issuerKeys('https://issuer.example/jwks');
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the keys of an issuer that can be reached', () => {
  test('are fetched when first needed, only once for several requests, and then kept', async () => {
    expect(fetches).toEqual([]);
    const [held] = await Promise.all([keys.current(), keys.current(), keys.renewed()]);
    expect(kidsOf(held)).toEqual(['a']);
    expect(await keys.current()).toBe(held);
    expect(fetches).toEqual(['https://issuer.example/jwks']);
  });

  test('are fetched again after 5 minutes, so that a withdrawn key stops working', async () => {
    await keys.current();
    published = jwks('b');
    seconds(299);
    expect(kidsOf(await keys.current())).toEqual(['a']);
    seconds(1);
    expect(kidsOf(await keys.current())).toEqual(['b']);
  });

  test('are fetched at most once every 10 seconds, however many tokens name an unknown key', async () => {
    const held = await keys.current();
    published = jwks('b');
    seconds(9);
    expect(await keys.renewed()).toBe(held);
    expect(fetches, 'fetches').toHaveLength(1);
    seconds(1);
    expect(kidsOf(await keys.renewed())).toEqual(['b']);
  });

  test.each<[what: string, other: unknown]>([
    ['a secret key', { kty: 'oct', k: 'c2VjcmV0' }],
    ['a key of another kind', { kty: 'OKP', crv: 'Ed25519', x: point.x }],
    ['a key on another curve', otherCurve],
    ['a key for encryption', { ...point, use: 'enc' }],
    ['a key that is not a point on its curve', { ...point, y: point.x }],
    ['a key without a kid', { ...point, kid: undefined }],
    ...[['sign'], ['verify', 7], 'verify'].map((operations): [string, object] => [
      `a key with key_ops ${JSON.stringify(operations)}`,
      { ...point, key_ops: operations },
    ]),
    ['a key on P-256 for RS256', { ...point, alg: 'RS256' }],
    ['an RSA key for PS256', { ...rsa, alg: 'PS256' }],
    ['an RSA key with the exponent 1', { ...rsa, e: 'AQ' }],
    ['an RSA key with the exponent 65,536', { ...rsa, e: 'AQAA' }],
    ['an RSA key with 2,047 bits', rsaKey(2_047)],
  ])('do not include %s, which must not verify a token', async (_, other) => {
    published = { keys: [null, { kid: 'b', ...Object(other) }, ...jwks('a').keys] };
    expect(kidsOf(await keys.current())).toEqual(['a']);
  });

  test.each<[what: string, jwk: object]>([
    ['names its use', { ...point, alg: 'ES256', use: 'sig', key_ops: ['verify'] }],
    ['may also sign', { ...point, key_ops: ['sign', 'verify'] }],
    ['is an RSA key and names its use', { ...rsa, alg: 'RS256', use: 'sig', key_ops: ['verify'] }],
    ['is an RSA key with the exponent 65,539', { ...rsa, e: 'AQAD' }],
  ])('include a key that %s', async (_, jwk) => {
    published = { keys: [{ kid: 'a', ...jwk }] };
    expect(kidsOf(await keys.current())).toEqual(['a']);
  });

  test('are dropped if the issuer returns an empty key set, and fetched again after 10 seconds', async () => {
    await keys.current();
    published = { keys: [] };
    seconds(300);
    for (const _ of [1, 2]) await expect(keys.current()).rejects.toThrow('has no key');
    expect(fetches, 'fetches').toHaveLength(2);
    published = jwks('b');
    seconds(10);
    expect(kidsOf(await keys.current())).toEqual(['b']);
  });
});

describe('the keys of an issuer that fails', () => {
  test('cannot be read before a fetch succeeds, and a fetch starts at most once every 10 seconds', async () => {
    published = undefined;
    for (const _ of [1, 2]) await expect(keys.current()).rejects.toThrow('cannot be fetched');
    expect(fetches, 'fetches').toHaveLength(1);
    published = jwks('a');
    seconds(10);
    expect(kidsOf(await keys.current())).toEqual(['a']);
  });

  test('cannot be read if the issuer does not respond to two attempts of 1.5 seconds each', async () => {
    vi.mocked(SimpleFetcher.prototype.fetch).mockRestore();
    const silent = createServer();
    onTestFinished(() => void silent.close());
    const failure = vi.fn();
    issuerKeys(`https://127.0.0.1:${await listen(silent, 0)}/jwks`)
      .current()
      .catch(failure);
    await vi.advanceTimersByTimeAsync(2_999);
    expect(failure).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(String(failure.mock.lastCall)).toContain('Response time-out');
  });

  test('are fetched at most once every 10 seconds; between two fetches, no request waits for the issuer', async () => {
    await keys.current();
    published = undefined;
    delay = 3;
    seconds(300);
    const waiting = [keys.current(), keys.current()];
    await vi.advanceTimersByTimeAsync(3_000);
    expect((await Promise.all(waiting)).map(kidsOf)).toEqual([['a'], ['a']]);
    expect(fetches, 'fetches').toHaveLength(2);
    seconds(9);
    // The fake clock does not advance, so `current` and `renewed` return only if they do not wait for the issuer.
    for (const ask of [keys.current, keys.renewed]) expect(kidsOf(await ask())).toEqual(['a']);
    expect(fetches, 'fetches').toHaveLength(2);
  });

  test.each<unknown>(['secret', null, { keys: 'secret' }, { keys: ['secret', {}] }])(
    'cannot be read if the response is not a key set, and the log does not quote the response: %j',
    async (response) => {
      published = response;
      await expect(keys.current()).rejects.toThrow('the response is not a key set');
      expect(console.warn).toHaveBeenCalledWith({
        outcome: 'keys not fetched',
        cause: 'the response is not a key set',
      });
    },
  );

  const bytes = (text: string, encoding?: BufferEncoding) => Uint8Array.from(Buffer.from(text, encoding));
  test.each<[what: string, response: unknown]>([
    ['has only malformed keys', { keys: [{ ...point, kid: 7 }] }],
    ['begins with a byte order mark', bytes(`\ufeff${JSON.stringify(jwks('b'))}`)],
    ['is not UTF-8', bytes(JSON.stringify(jwks('é')), 'latin1')],
  ])('stay in use if the new response %s', async (_, response) => {
    const held = await keys.current();
    published = response;
    seconds(300);
    expect(await keys.current()).toBe(held);
  });

  test('are used if the clock steps back during their fetch', async () => {
    delay = 1;
    const current = keys.current();
    vi.setSystemTime(Date.now() - 5_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(kidsOf(await current)).toEqual(['a']);
  });

  test('are fetched at once after the clock steps back, and are not used if that fails', async () => {
    const stepBack = (): void => void vi.setSystemTime(Date.now() - 3_600_000);
    published = undefined;
    await expect(keys.current()).rejects.toThrow('the issuer is down');
    stepBack();
    published = jwks('a');
    expect(kidsOf(await keys.current())).toEqual(['a']);
    stepBack();
    published = jwks('b');
    expect(kidsOf(await keys.current())).toEqual(['b']);
    stepBack();
    published = undefined;
    await expect(keys.current()).rejects.toThrow('the issuer is down');
  });

  test('stay in use for an hour after they were fetched, but no longer', async () => {
    const held = await keys.current();
    published = undefined;
    seconds(3_599);
    expect(await keys.current()).toBe(held);
    seconds(1);
    await expect(keys.current()).rejects.toThrow('cannot be fetched');
  });
});
