import { expect, test } from 'vitest';
import { TokenBucket } from '../gateway/throttle.ts';
import { openRoute, send, start } from './kit/gateway.ts';

/** A clock that stands still until a test changes `time`. */
const stoppedClock = () => {
  const time = { milliseconds: 0 };
  return { time, clock: () => time.milliseconds };
};

const takes = (bucket: TokenBucket, times: number): boolean[] => Array.from({ length: times }, () => bucket.take());

test('a token bucket allows a burst of requests at once, and after that only its rate of requests per second', () => {
  const { time, clock } = stoppedClock();
  const bucket = new TokenBucket({ rate: 2, burst: 3 }, clock);
  expect(takes(bucket, 4)).toEqual([true, true, true, false]);
  time.milliseconds = 499;
  expect(bucket.take()).toBe(false);
  time.milliseconds = 500;
  expect(takes(bucket, 2)).toEqual([true, false]);
  time.milliseconds = 1_500;
  expect(takes(bucket, 3)).toEqual([true, true, false]);
});

test('a token bucket never has more tokens than its burst size', () => {
  const { time, clock } = stoppedClock();
  const bucket = new TokenBucket({ rate: 100, burst: 2 }, clock);
  time.milliseconds = 3_600_000;
  expect(takes(bucket, 3)).toEqual([true, true, false]);
});

test.each([
  { rate: 0, burst: 0 },
  { rate: 100, burst: 0 },
])('a token bucket with %j allows no requests', (throttle) => {
  const { time, clock } = stoppedClock();
  const bucket = new TokenBucket(throttle, clock);
  time.milliseconds = 3_600_000;
  expect(bucket.take()).toBe(false);
});

const throttled = { ...openRoute('GET /orders'), throttle: { rate: 1, burst: 1 } };
const routes = [throttled, { ...throttled, routeKey: 'GET /items' }, openRoute('GET /free')];

test("the gateway responds 429 to requests beyond their route's limits, without calling the function", async () => {
  const { time, clock } = stoppedClock();
  const { port, events } = await start({}, { routes }, { throttleClock: clock });
  expect(await send(port, 'GET /orders')).toMatchObject({ status: 200 });
  expect(await send(port, 'GET /orders')).toMatchObject({ status: 429, body: '{"message":"Too Many Requests"}' });
  expect(events).toHaveLength(1);
  expect(await send(port, 'GET /items')).toMatchObject({ status: 200 });
  expect(await send(port, 'GET /free')).toMatchObject({ status: 200 });
  expect(await send(port, 'GET /free')).toMatchObject({ status: 200 });
  time.milliseconds = 1_000;
  expect(await send(port, 'GET /orders')).toMatchObject({ status: 200 });
});

test('a gateway that is made without a clock throttles no requests', async () => {
  const { port } = await start({}, { routes });
  for (const _ of [1, 2, 3]) expect(await send(port, 'GET /orders')).toMatchObject({ status: 200 });
});
