/**
 * Tests how the authorizer fetches the issuer's keys: floods of unknown keys, rotation, withdrawal and outages. Each
 * request sets the authorizer's clock, so that no test has to wait until keys expire or the next fetch is allowed.
 */
import type { RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { claims, inSeconds, makeKey, type SigningKey, sign } from '../kit/access-tokens.ts';
import { type PlantsStore, startPlantsStore } from '../kit/plants-store.ts';
import { newId } from '../kit/responses.ts';
import { mapConcurrently, report, trialSize } from '../kit/scale.ts';
import { type Handler, startTrialStack, type TrialStack } from '../kit/trial-stack.ts';

/** Wraps a handler: the header x-trial-clock sets the function's clock, and x-trial-start reloads the function. */
const clocked = (handler: Handler): Handler => {
  const { now } = Date;
  let current = handler;
  return (event: { headers: Record<string, string> }, context) => {
    const time = event.headers['x-trial-clock'];
    Date.now = time === undefined ? now : () => Number(time);
    if (event.headers['x-trial-start'] !== undefined) {
      const bundle = module.children[0]?.id ?? '';
      delete require.cache[bundle];
      current = require(bundle).handler;
    }
    return current(event as never, context);
  };
};

let store: PlantsStore;
let stack: TrialStack;
/**
 * `key` is the issuer's published key, `stranger` is a key of somebody else with the same key id (kid), and `next` is a
 * key that the issuer has not published yet.
 */
let key: SigningKey;
let stranger: SigningKey;
let next: SigningKey;
let validToken: string;
const startStack = (): Promise<TrialStack> => startTrialStack(store.endpoint, { authorizer: { wrapper: clocked } });
/** Signs a token with the issue time `epoch`, at which the function's clock starts in each test. */
const signed = (by: SigningKey, change = {}, of = stack): Promise<string> =>
  sign(by, claims({ iss: of.issuer.issuer, iat: Math.floor(epoch / 1000), exp: inSeconds(4 * 3_600), ...change }));
beforeAll(async () => {
  store = await startPlantsStore('plants');
  stack = await startStack();
  key = stack.issuer.key;
  [stranger, next] = await Promise.all([makeKey('ES256', key.kid), makeKey('RS256', 'next')]);
  validToken = await signed(key);
});
afterAll(async () => {
  await stack.close();
  await store.close();
});

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** The time on the function's clock, in milliseconds after `epoch`. Only the tests advance this clock. */
let clockOffset: number;
const epoch = Date.now();
/** Whether the next request cold-starts the function. */
let isCold: boolean;
beforeEach(() => {
  stack.issuer.publish(key);
  clockOffset = 0;
  isCold = true;
});

/**
 * Sends a plant, with the authorizer's clock set to `clockOffset` milliseconds after `epoch`. @returns the HTTP status
 */
const send = async (token: string): Promise<number> => {
  const headers = {
    authorization: `Bearer ${token}`,
    'x-trial-clock': String(epoch + clockOffset),
    ...(isCold && { 'x-trial-start': '1' }),
  };
  isCold = false;
  return (await stack.send(`{"id":${newId()},"name":"Moss"}`, headers)).status;
};

const sendAt = (milliseconds: number, token = validToken): Promise<number> => {
  clockOffset = milliseconds;
  return send(token);
};

/**
 * Signs a token with `stranger`, a key that is not the issuer's, under a key id (kid) that none of the issuer's keys
 * has.
 */
const unknownKid = (): Promise<string> => signed(stranger).then((token) => withKid(token, newId()));

const withKid = (token: string, kid: string): string => {
  const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid })).toString('base64url');
  return [header, ...token.split('.').slice(1)].join('.');
};

/**
 * Calls `during`, and expects that the issuer meanwhile gets no requests but those for its keys. @returns their number
 */
const fetchesDuring = async (during: () => Promise<void>, issuer = stack.issuer): Promise<number> => {
  const before = issuer.requests.length;
  await during();
  const requests = issuer.requests.slice(before);
  expect(requests.filter((path) => path !== '/jwks')).toEqual([]);
  return requests.length;
};

const hangUp: RequestListener = ({ socket }) => socket.destroy();

describe('tokens with unknown key ids (kids)', () => {
  const flood = trialSize(1_000, 20);

  test.each<[string, RequestListener | undefined]>([
    ['answers', undefined],
    ['answers 500', (_, response) => response.writeHead(500).end()],
    ['hangs up', hangUp],
    ['answers without a key set', (_, response) => response.end('rubbish')],
  ])(
    `cause at most 4 fetches if ${flood} arrive in 10 s while the issuer %s, and valid tokens are still accepted`,
    async (what, failing) => {
      expect(await send(validToken), 'status').toBe(200);
      if (failing !== undefined) stack.issuer.answer(failing);
      const tokens = await Promise.all(Array.from({ length: flood }, unknownKid));
      const fetches = await fetchesDuring(async () => {
        for (const [index, token] of tokens.entries()) {
          // Begin these requests when the cooldown after the first fetch of the keys (10 s) is over, and spread them
          // over the next 10 s.
          clockOffset = 10 * second + Math.ceil((index * 10 * second) / (flood - 1));
          expect(await send(token), 'status for an unknown kid').toBe(403);
          if (index % 10 === 0) expect(await send(validToken), 'status for a valid token').toBe(200);
        }
      });
      report(`${flood} unknown kids while the issuer ${what}: ${fetches} fetches`);
      expect(fetches, 'fetches').toBeGreaterThan(0);
      expect(fetches, 'fetches').toBeLessThanOrEqual(4);
    },
  );

  test(`get a 500 and cause at most 4 fetches if ${flood} arrive in 10 s while the authorizer has no keys yet and the issuer hangs up`, async () => {
    stack.issuer.answer(hangUp);
    const fetches = await fetchesDuring(async () => {
      for (let index = 0; index < flood; index += 1)
        expect(await sendAt(Math.ceil((index * 10 * second) / (flood - 1)), await unknownKid()), 'status').toBe(500);
    });
    expect(fetches, 'fetches').toBeLessThanOrEqual(4);
    stack.issuer.publish(key);
    expect(await sendAt(20 * second), 'status').toBe(200);
  });

  /** How many instances of the authorizer run at the same time. In a full trial, the local service's maximum. */
  const instances = trialSize(8, 2);

  test(`cause at most ${4 * instances} fetches by ${instances} instances of the authorizer, even if ${flood} such tokens arrive`, async () => {
    const other = await startStack();
    onTestFinished(other.close);
    const [good, ...tokens] = await Promise.all([
      signed(other.issuer.key, {}, other),
      ...Array.from({ length: flood }, async () => withKid(await signed(stranger, {}, other), newId())),
    ]);
    const sendOther = async (token: string) =>
      (
        await other.send(`{"id":${newId()},"name":"Moss"}`, {
          authorization: `Bearer ${token}`,
          'x-trial-clock': String(epoch),
        })
      ).status;
    const fetches = await fetchesDuring(async () => {
      expect(new Set(await mapConcurrently(tokens, instances, sendOther))).toEqual(new Set([403]));
      expect(new Set(await mapConcurrently(Array<string>(16).fill(good), instances, sendOther))).toEqual(
        new Set([200]),
      );
    }, other.issuer);
    report(`${flood} unknown kids, ${instances} at a time: ${fetches} fetches`);
    expect(fetches, 'fetches').toBeLessThanOrEqual(4 * instances);
  });
});

describe('the lifetime of keys:', () => {
  test('a new key works within 10 seconds after the issuer publishes it, even if tokens with unknown key ids arrive meanwhile', async () => {
    const rotated = await signed(next);
    expect(await send(validToken), 'status').toBe(200);
    expect(await send(rotated), 'status').toBe(403);
    stack.issuer.publish(key, next);
    for (let waited = second; waited < 10 * second; waited += second)
      expect(await sendAt(waited, await unknownKid()), 'status').toBe(403);
    expect(await sendAt(10 * second, rotated), 'status').toBe(200);
    expect(await send(validToken), 'status').toBe(200);
  });

  test('a new key works at once if the authorizer last fetched the keys more than 10 seconds ago', async () => {
    expect(await send(validToken), 'status').toBe(200);
    stack.issuer.publish(next);
    expect(await sendAt(4 * minute, await signed(next)), 'status').toBe(200);
    expect(await send(validToken), 'status').toBe(403);
  });

  test('a key that the issuer has withdrawn stops working within 5 minutes, however often clients use it', async () => {
    expect(await send(validToken), 'status').toBe(200);
    stack.issuer.publish(next);
    for (let age = 0; age < 5 * minute; age += minute) expect(await sendAt(age), 'status').toBe(200);
    expect(await sendAt(5 * minute - 1), 'status').toBe(200);
    expect(await sendAt(5 * minute), 'status').toBe(403);
    expect(await send(await signed(next)), 'status').toBe(200);
  });

  test('a new key with the key id of an old key replaces the old key within 5 minutes', async () => {
    expect(await send(validToken), 'status').toBe(200);
    stack.issuer.publish(stranger);
    expect(await sendAt(5 * minute), 'status').toBe(403);
    expect(await send(await signed(stranger)), 'status').toBe(200);
  });

  test('a key stops working at most an hour after it was fetched if the issuer is down from the moment of that fetch', async () => {
    expect(await send(validToken), 'status').toBe(200);
    stack.issuer.answer(hangUp);
    expect(await sendAt(hour), 'status').toBe(500);
  });
});

type Failing = <T>(during: () => Promise<T>) => Promise<T>;

const answering =
  (listener: RequestListener): Failing =>
  (during) => {
    stack.issuer.answer(listener);
    return during();
  };

const saying = (body: string | Buffer, status = 200, headers: Record<string, string> = {}): Failing =>
  answering((_, response) => response.writeHead(status, headers).end(body));

/**
 * Makes the issuer respond with 200 and the result of `body`. `body` is a function, because `key`, which most bodies
 * contain, does not exist yet when the list of test cases is made.
 */
const sayingOf = (body: () => string | Buffer, headers: Record<string, string> = {}): Failing =>
  answering((_, response) => response.writeHead(200, headers).end(body()));

const keySet = () => JSON.stringify({ keys: [key.jwk] });

/** Ways in which an issuer fails to return a key set. */
const noKeySet: [what: string, failing: Failing][] = [
  ['refuses connections', (during) => stack.issuer.refuseConnections(during)],
  ['hangs up', answering(hangUp)],
  ['presents an untrusted certificate', (during) => stack.issuer.useUntrustedCertificate(during)],
  ['does not speak HTTP', answering(({ socket }) => socket.end('hello\r\n\r\n'))],
  ['answers 500', saying('{"keys":[]}', 500)],
  ['answers 404', saying('{"keys":[]}', 404)],
  ['answers 204', saying('', 204)],
  ['answers 429', saying('', 429, { 'retry-after': '1' })],
  [
    'redirects',
    answering(({ url }, response) =>
      response.writeHead(url === '/jwks' ? 302 : 200, { location: '/moved' }).end(keySet()),
    ),
  ],
  ['answers with HTML', saying('<!doctype html><title>Sign in</title>', 200, { 'content-type': 'text/html' })],
  ['answers with an empty body', saying('')],
  ['answers with a truncated key set', sayingOf(() => keySet().slice(0, -1))],
  [
    'hangs up in the middle of a key set',
    answering((_, response) =>
      response
        .writeHead(200, { 'content-length': keySet().length })
        .write(keySet().slice(0, -1), () => response.destroy()),
    ),
  ],
  ['answers with a key set that is not UTF-8', saying(Buffer.from('{"keys":[],"note":"\xff"}', 'latin1'))],
  ['answers with a key set after a byte order mark', sayingOf(() => `\ufeff${keySet()}`)],
  ['answers with a compressed key set', sayingOf(() => gzipSync(keySet()), { 'content-encoding': 'gzip' })],
  ['answers with two key sets', sayingOf(() => keySet() + keySet())],
  ...[
    '{}',
    'null',
    '[]',
    '7',
    '"keys"',
    'true',
    '{"keys":null}',
    '{"keys":{}}',
    '{"keys":"x"}',
    '{"Keys":[]}',
    '{"keys":[null]}',
    '{"keys":[[]]}',
    '{"keys":["x"]}',
    '{"keys":[{}]}',
  ].map((text): [string, Failing] => [`answers with ${text}`, saying(text)]),
  ['answers with a key instead of a key set', sayingOf(() => JSON.stringify(key.jwk))],
  ['answers with a list of keys', sayingOf(() => JSON.stringify([key.jwk]))],
  ['answers with a key whose kid is a number', sayingOf(() => JSON.stringify({ keys: [{ ...key.jwk, kid: 7 }] }))],
  ['answers with a key whose x is a list', sayingOf(() => JSON.stringify({ keys: [{ ...key.jwk, x: [key.jwk.x] }] }))],
  ['answers with a key without kty', sayingOf(() => JSON.stringify({ keys: [{ ...key.jwk, kty: undefined }] }))],
];

/** Issuers so slow that every fetch fails after 3 s: aws-jwt-verify tries each fetch twice, for 1.5 s each time. */
const slow: [what: string, failing: Failing][] = [
  ['never answers', answering(() => {})],
  [
    'adds a space every 100 ms to its key set',
    answering((_, response) => {
      response.write(keySet().slice(0, -1));
      const drops = setInterval(() => response.write(' '), 100);
      response.on('close', () => clearInterval(drops));
    }),
  ],
  [
    'never stops sending',
    answering((_, response) => {
      const spaces = Buffer.alloc(65_536, ' ');
      const pour = (): void => {
        while (response.write(spaces));
      };
      response.on('drain', pour);
      pour();
    }),
  ],
];

/** Key sets without any key that can verify the valid token. */
const withoutKeys: [what: string, keys: () => object[]][] = [
  ['nothing', () => []],
  ['a symmetric key', () => [{ kid: key.kid, kty: 'oct', k: 'c2VjcmV0' }]],
  ['an Ed25519 key', () => [{ kid: key.kid, kty: 'OKP', crv: 'Ed25519', x: key.jwk.x }]],
  ['a key of another type', () => [{ kid: key.kid, kty: 'ML-DSA' }]],
  ['a key of another curve', () => [{ ...key.jwk, crv: 'secp256k1' }]],
  ['a key that is not a point on its curve', () => [{ ...key.jwk, y: key.jwk.x }]],
  ['a key without y', () => [{ ...key.jwk, y: undefined }]],
  ['a truncated key', () => [{ ...key.jwk, x: key.jwk.x?.slice(0, 20) }]],
  ['an empty RSA key', () => [{ kid: key.kid, kty: 'RSA', n: '', e: 'AQAB' }]],
  ['a key for encryption', () => [{ ...key.jwk, use: 'enc' }]],
  ['a key for signing only', () => [{ ...key.jwk, key_ops: ['sign'] }]],
  ['a key for another algorithm', () => [{ ...key.jwk, alg: 'ES384' }]],
  ['an RSA key with the exponent 1', () => [{ kid: key.kid, kty: 'RSA', n: next.jwk.n, e: 'AQ' }]],
  ['a key without a kid', () => [{ ...key.jwk, kid: undefined }]],
];

/**
 * Expects a 500 for every unexpired token while the authorizer has no keys. Together, these tokens may cause only one
 * fetch and its retry.
 */
const expectNoVerdict = async (): Promise<void> => {
  const others = await Promise.all([signed(next), unknownKid(), signed(stranger)]);
  const fetches = await fetchesDuring(async () => {
    for (const token of [validToken, validToken, ...others]) expect(await send(token), 'status without keys').toBe(500);
    // An expired token gets a 403 even if the authorizer has no keys, because no key could make the token valid.
    expect(await send(await signed(key, { scope: undefined, exp: 1 })), 'status of an expired token').toBe(403);
  });
  expect(fetches, 'fetches').toBeLessThanOrEqual(2);
};

const expectWell = async (): Promise<void> => {
  stack.issuer.publish(key);
  clockOffset += 10 * second;
  expect(await send(validToken), 'status').toBe(200);
  expect(await send(await signed(stranger)), 'status').toBe(403);
};

const cold = async (_: string, failing: Failing): Promise<void> => {
  await failing(expectNoVerdict);
  await expectWell();
};

/**
 * Expects that, while the issuer fails, fetched keys stay in use for an hour, and only the first of several requests in
 * a row waits for a fetch.
 */
const warm = async (what: string, failing: Failing): Promise<void> => {
  const rotated = await signed(next);
  expect(await send(validToken), 'status').toBe(200);
  await failing(async () => {
    for (const age of [5 * minute, hour - 1]) {
      const fetches = await fetchesDuring(async () => {
        const started = performance.now();
        expect(await sendAt(age), 'status').toBe(200);
        report(`warm, ${what}: waited ${Math.round(performance.now() - started)} ms`);
        const others = await fetchesDuring(async () => {
          expect(await send(validToken), 'status').toBe(200);
          for (const token of [rotated, await unknownKid(), await signed(stranger)])
            expect(await send(token), 'status of a token by an unknown key').toBe(403);
        });
        expect(others, 'fetches that the next four wait for').toBe(0);
      });
      expect(fetches, 'fetches').toBeLessThanOrEqual(2);
    }
    // By now, the fetched keys have expired, and the cooldown of the last fetch is over.
    clockOffset = hour + 10 * second;
    await expectNoVerdict();
  });
  await expectWell();
};

describe('if an issuer', () => {
  test.each(noKeySet)('%s, a valid token gets a 500 after a cold start of the authorizer', cold);
  test.each(noKeySet.slice(0, trialSize(noKeySet.length, 5)))(
    '%s, keys stay in use until an hour after they were fetched',
    warm,
  );

  /** The short trial leaves out slow issuers, because a test with a slow issuer takes many seconds. */
  const triedSlow = slow.slice(0, trialSize(slow.length, 0));
  test.each(triedSlow)('%s, a valid token gets a 500 after a cold start of the authorizer', cold);
  test.each(triedSlow)('%s, keys stay in use until an hour after they were fetched', warm);

  test('answers slowly after a cold start of the authorizer, a request with a valid token waits for the keys and is accepted', async () => {
    stack.issuer.answer((_, response) => void setTimeout(() => response.end(keySet()), 100));
    expect(await send(validToken), 'status').toBe(200);
  });
});

describe('if the key set of the issuer has', () => {
  test.each(withoutKeys)('%s, a valid token gets a 500 after a cold start of the authorizer', (what, keys) =>
    cold(
      what,
      sayingOf(() => JSON.stringify({ keys: keys() })),
    ),
  );

  test.each(withoutKeys)(
    '%s, the authorizer keeps using its earlier keys, but only until 5 minutes after it fetched them',
    async (_, keys) => {
      expect(await send(validToken), 'status').toBe(200);
      await sayingOf(() => JSON.stringify({ keys: keys() }))(async () => {
        expect(await sendAt(5 * minute - 1), 'status').toBe(200);
        clockOffset = 5 * minute;
        await expectNoVerdict();
      });
      await expectWell();
    },
  );

  test.each(withoutKeys)('%s and a usable key, only the usable key verifies tokens', async (_, keys) => {
    stack.issuer.answer((_, response) => {
      const others = keys().map((other) =>
        'kid' in other && other.kid !== undefined ? { ...other, kid: 'other' } : other,
      );
      response.end(JSON.stringify({ keys: [...others, key.jwk] }));
    });
    expect(await send(validToken), 'status').toBe(200);
    for (const kid of ['other', '', 'undefined']) expect(await send(withKid(validToken, kid)), 'status').toBe(403);
  });
});
