import { type Jwks, SimpleJwksCache } from 'aws-jwt-verify/jwk';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type IssuerKeys, issuerKeys } from '../../../functions/auth/issuer-keys.ts';

const jwks = (kid: string): Jwks => ({ keys: [{ kid, kty: 'EC' }] });

const seconds = (count: number): void => {
  vi.advanceTimersByTime(count * 1000);
};

/** What the issuer answers: keys, or nothing at all. */
let published: Jwks | undefined;
/** Seconds that the issuer takes to answer. */
let delay: number;
let fetches: string[];
let keys: IssuerKeys;

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  published = jwks('a');
  delay = 0;
  fetches = [];
  vi.spyOn(SimpleJwksCache.prototype, 'getJwks').mockImplementation(async (uri) => {
    fetches.push(uri);
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay * 1000));
    if (published === undefined) throw new Error('the issuer is down');
    return published;
  });
  keys = issuerKeys('https://issuer.example/jwks');
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the keys of an issuer that answers', () => {
  test('are fetched at the first need, and then held', async () => {
    expect(fetches).toEqual([]);
    expect(await keys.current()).toBe(published);
    expect(await keys.current()).toBe(published);
    expect(fetches).toEqual(['https://issuer.example/jwks']);
  });

  test('are fetched once for requests that need them at the same time', async () => {
    await Promise.all([keys.current(), keys.current(), keys.renewed()]);
    expect(fetches).toHaveLength(1);
  });

  test('are fetched anew after 5 minutes, so that a key that was taken back stops working', async () => {
    await keys.current();
    published = jwks('b');
    seconds(299);
    expect(await keys.current()).toEqual(jwks('a'));
    seconds(1);
    expect(await keys.current()).toEqual(jwks('b'));
  });

  test('are fetched at most every 10 seconds, however often an unknown key asks', async () => {
    const held = await keys.current();
    for (let count = 0; count < 1_000; count += 1) expect(await keys.renewed()).toBe(held);
    expect(fetches).toHaveLength(1);
    published = jwks('b');
    seconds(9);
    expect(await keys.renewed()).toBe(held);
    seconds(1);
    expect(await keys.renewed()).toEqual(jwks('b'));
    expect(fetches).toHaveLength(2);
  });
});

describe('the keys of an issuer that is down', () => {
  test('are an error where there are none yet, without a flood of fetches', async () => {
    published = undefined;
    for (let count = 0; count < 100; count += 1) await expect(keys.current()).rejects.toThrow('cannot be fetched');
    expect(fetches).toHaveLength(1);
    published = jwks('a');
    seconds(10);
    expect(await keys.current()).toEqual(jwks('a'));
  });

  test('are waited for by one request in 10 seconds, not by each, while the issuer hangs', async () => {
    await keys.current();
    published = undefined;
    delay = 3;
    seconds(300);
    const waiting = [keys.current(), keys.current()];
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await Promise.all(waiting)).toEqual([jwks('a'), jwks('a')]);
    expect(fetches).toHaveLength(2);
    // No clock moves from here: these do not wait.
    for (const ask of [keys.current, keys.renewed]) expect(await ask()).toEqual(jwks('a'));
    seconds(9);
    expect(await keys.current()).toEqual(jwks('a'));
    expect(fetches).toHaveLength(2);
  });

  test('leave the reason in the log and in the error', async () => {
    published = undefined;
    await expect(keys.current()).rejects.toThrow('the issuer is down');
    expect(console.warn).toHaveBeenCalledWith({ outcome: 'keys not fetched', cause: 'the issuer is down' });
  });

  test('serve on for an hour, then let nobody in', async () => {
    const held = await keys.current();
    published = undefined;
    seconds(3_599);
    expect(await keys.current()).toBe(held);
    seconds(1);
    await expect(keys.current()).rejects.toThrow('cannot be fetched');
  });
});
