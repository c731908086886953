/**
 * Tests how the authorizer fetches the issuer's keys: floods of unknown keys, rotation, withdrawal and outages. Each
 * request sets the authorizer's clock, so that no test has to wait until keys expire or the next fetch is allowed.
 */
import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { claims, inSeconds, makeKey, type SigningKey, sign } from '../kit/access-tokens.ts';
import { type PlantsStore, startPlantsStore } from '../kit/plants-store.ts';
import { newId } from '../kit/responses.ts';
import { report, trialSize } from '../kit/scale.ts';
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
/** `stranger` is a key of somebody else with the kid of `key`; the issuer has not published the key `next` yet. */
let key: SigningKey;
let stranger: SigningKey;
let next: SigningKey;
let validToken: string;
/** Signs a token with the issue time `epoch`, at which the function's clock starts in each test. */
const signed = (by: SigningKey, change = {}): Promise<string> =>
  sign(by, claims({ iss: stack.issuer.issuer, iat: Math.floor(epoch / 1000), exp: inSeconds(4 * 3_600), ...change }));
beforeAll(async () => {
  store = await startPlantsStore('plants');
  stack = await startTrialStack(store.endpoint, { authorizer: { wrapper: clocked } });
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

/** Signs a token with a key that is not the issuer's, under a new key id (kid). */
const unknownKid = (): Promise<string> => signed({ ...stranger, kid: newId() });

/**
 * Calls `during`, and expects that the issuer meanwhile gets no requests but those for its keys. @returns their number
 */
const fetchesDuring = async (during: () => Promise<void>): Promise<number> => {
  const before = stack.issuer.requests.length;
  await during();
  const requests = stack.issuer.requests.slice(before);
  expect(requests.filter((path) => path !== '/jwks')).toEqual([]);
  return requests.length;
};

const hangUp: RequestListener = ({ socket }) => socket.destroy();

const flood = trialSize(1_000, 20);

test(`${flood} tokens with unknown key ids that arrive in 10 s cause at most 4 fetches, even if the issuer hangs up, and valid tokens are still accepted`, async () => {
  expect(await send(validToken), 'status').toBe(200);
  stack.issuer.answer(hangUp);
  const fetches = await fetchesDuring(async () => {
    for (let index = 0; index < flood; index += 1) {
      // The cooldown after the first fetch of the keys is over after 10 s.
      clockOffset = 10 * second + Math.ceil((index * 10 * second) / (flood - 1));
      expect(await send(await unknownKid()), 'status for an unknown kid').toBe(403);
      if (index % 10 === 0) expect(await send(validToken), 'status for a valid token').toBe(200);
    }
  });
  report(`${flood} unknown kids: ${fetches} fetches`);
  expect(fetches, 'fetches').toBeGreaterThan(0);
  expect(fetches, 'fetches').toBeLessThanOrEqual(4);
});

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

type Failing = <T>(during: () => Promise<T>) => Promise<T>;

const answering =
  (listener: RequestListener): Failing =>
  (during) => {
    stack.issuer.answer(listener);
    return during();
  };

const keySet = () => JSON.stringify({ keys: [key.jwk] });

/** Ways in which an issuer fails to return a key set. issuer-keys.test.ts has the key sets that are not valid. */
const noKeySet: [what: string, failing: Failing][] = [
  ['refuses connections', (during) => stack.issuer.refuseConnections(during)],
  ['hangs up', answering(hangUp)],
  ['presents an untrusted certificate', (during) => stack.issuer.useUntrustedCertificate(during)],
  ['answers 500', answering((_, response) => response.writeHead(500).end(keySet()))],
  [
    'redirects',
    answering(({ url }, response) =>
      response.writeHead(url === '/jwks' ? 302 : 200, { location: '/moved' }).end(keySet()),
    ),
  ],
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
const warm = async (_: string, failing: Failing): Promise<void> => {
  const rotated = await signed(next);
  expect(await send(validToken), 'status').toBe(200);
  await failing(async () => {
    for (const age of [5 * minute, hour - 1]) {
      const fetches = await fetchesDuring(async () => {
        expect(await sendAt(age), 'status').toBe(200);
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
});
