import { expect, test } from 'vitest';
import { TokenBucket } from '../gateway/throttle.ts';
import { openRoute, send, start } from './kit/gateway.ts';

/** Makes a bucket, and takes tokens at the given times (in milliseconds). @returns whether each take succeeded */
const takesAt = (throttle: { rate: number; burst: number }, ...times: number[]): boolean[] => {
  let now = 0;
  const bucket = new TokenBucket(throttle, () => now);
  return times.map((time) => {
    now = time;
    return bucket.take();
  });
};

test('a token bucket allows a burst of requests at once, and after that only its rate of requests per second', () => {
  expect(takesAt({ rate: 2, burst: 3 }, 0, 0, 0, 0)).toEqual([true, true, true, false]);
  expect(takesAt({ rate: 2, burst: 1 }, 0, 499, 500, 500, 1_000)).toEqual([true, false, true, false, true]);
});

test('a token bucket never has more tokens than its burst size', () => {
  expect(takesAt({ rate: 100, burst: 2 }, 9e6, 9e6, 9e6)).toEqual([true, true, false]);
  expect(takesAt({ rate: 100, burst: 0 }, 9e6)).toEqual([false]);
});

test("the gateway responds 429 to requests beyond their route's limits, without calling the function", async () => {
  let now = 0;
  const throttled = { ...openRoute('GET /orders'), throttle: { rate: 1, burst: 1 } };
  const routes = [throttled, { ...throttled, routeKey: 'GET /items' }, openRoute('GET /free')];
  const { port, called } = await start({}, { routes }, { throttleClock: () => now });
  const statusOf = async (path: string) => (await send(port, `GET ${path}`)).status;
  expect(await statusOf('/orders')).toBe(200);
  expect(await send(port, 'GET /orders')).toMatchObject({ status: 429, body: '{"message":"Too Many Requests"}' });
  expect(called).toHaveLength(1);
  expect([await statusOf('/items'), await statusOf('/free'), await statusOf('/free')]).toEqual([200, 200, 200]);
  now = 1_000;
  expect(await statusOf('/orders')).toBe(200);

  const unlimited = await start({}, { routes });
  for (const _ of [1, 2]) expect(await send(unlimited.port, 'GET /orders')).toMatchObject({ status: 200 });
});
