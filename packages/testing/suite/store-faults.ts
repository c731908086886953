/** Tests how the operation that adds an item responds, and what is stored, while the store fails. */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bodyOf, contents, createRoute, itemOf, newId, type Sample, someSamples, withText } from '../data/index.ts';
import type { Fault } from '../store/index.ts';
import * as faults from '../store/index.ts';
import {
  type Handler,
  mapConcurrently,
  progress,
  report,
  seed,
  startTrial,
  startTrialStack,
  trialSize,
} from '../trial/index.ts';
import { retryWhile } from '../waiting.ts';
import { part } from './part.ts';
import { lastingFaults } from './responses.ts';

export const testStoreFaults = part('store faults', async () => {
  /**
   * Makes the function fail if an event takes until 2.5 s before the time-out. Measures the time by the ticks of a timer
   * in the thread of the function, so that a pause of that thread on a busy machine does not count.
   */
  const inTime =
    (handler: Handler): Handler =>
    (event, context) => {
      const late = Promise.withResolvers<never>();
      let left = (context.getRemainingTimeInMillis() - 2_500) / 10;
      const clock = setInterval(() => {
        left -= 1;
        if (left <= 0) late.reject(new Error('no answer 2.5 s before the time-out'));
      }, 10);
      return Promise.race([handler(event, context), late.promise]).finally(() => clearInterval(clock));
    };

  const { store, stack } = await startTrial({ operations: { wrapper: inTime } });

  const post = async ({ id, content }: Sample): Promise<number> => (await stack.sendOnce(bodyOf(id, content))).status;

  /**
   * The number of concurrent requests. The local service has the same number of instances of a function, so no request
   * waits in a queue.
   */
  const width = 8;

  /** What the store may do with a call. The seed, the item's id and the call's number choose one of these faults. */
  const chances: readonly Fault[] = [
    ...Array<Fault>(8).fill(faults.pass),
    faults.delayed(300, faults.pass),
    // The SDK abandons a call after 700 ms and makes another, so either call may find that the other has stored the
    // item.
    faults.delayed(1_000, faults.pass),
    faults.delayResponse(300),
    faults.delayResponse(1_000),
    faults.hang,
    faults.drip,
    faults.hangUp,
    faults.loseResponse,
    faults.loseResponse,
    faults.truncateResponse,
    faults.corruptResponse,
    faults.dynamoDbError(500, 'InternalServerError'),
    faults.dynamoDbError(503, 'ServiceUnavailable'),
    faults.dynamoDbError(400, 'ThrottlingException'),
  ];

  const failAtRandom =
    (id: string): Fault =>
    (call) => {
      const chance = createHash('sha256').update(`${seed} ${id} ${call.number}`).digest().readUInt32BE();
      return chances[chance % chances.length]?.(call);
    };

  const creates = trialSize(1_000, 60);

  test(`${createRoute} stores every acknowledged item as sent, even if the store fails at random (${creates} requests, seed ${seed})`, async () => {
    const samples = someSamples(creates, seed);
    for (const { id } of samples) store.fail(id, failAtRandom(id));
    const [before, size] = [store.calls(), await store.size()];
    const tick = progress('creates', creates);
    const answers = await mapConcurrently(samples, width, async (sample) => {
      const status = await post(sample);
      tick();
      return { sample, status };
    });
    const count = (wanted: number): number => answers.filter(({ status }) => status === wanted).length;
    const failed = answers.filter(({ status }) => status !== 200);
    report(
      `${creates} creates: ${count(200)} × 200, ${count(503)} × 503, ${count(409)} × 409, ${store.calls() - before} calls`,
    );
    // A failed create must get a 503. A 500 would mean that it took too long (see `inTime`), and a 409 that a
    // retry mistook the item of an earlier attempt for a different one.
    expect(failed.map(({ status }) => status)).toEqual(failed.map(() => 503));
    expect(failed.length, 'creates that failed').toBeGreaterThan(0);

    const items = samples.map(({ id, content }) => itemOf(id, content));
    const readAll = () => Promise.all(samples.map(({ id }) => store.read(id)));
    const stored = await readAll();
    const isAsSent = items.map((item, index) => isDeepStrictEqual({ ...stored[index] }, item));
    expect(answers.filter(({ status }, index) => status === 200 && !isAsSent[index])).toEqual([]);
    expect(samples.filter((_, index) => stored[index] !== undefined && !isAsSent[index])).toEqual([]);
    const unknown = failed.filter(({ sample }) => isAsSent[samples.indexOf(sample)]).length;
    report(`  of those that failed, stored all the same: ${unknown}`);

    let tries = 0;
    await mapConcurrently(failed, width, async ({ sample }) => {
      for (let status = 503; status !== 200; tries += 1) {
        status = await post(sample);
        expect([200, 503], 'possible statuses').toContain(status);
      }
    });
    report(`  sent again until answered: ${tries} tries`);
    expect(await readAll()).toEqual(items);
    expect(await store.size(), 'items in the store').toBe(size + creates);
    expect(stack.log.filter(({ error }) => error !== undefined)).toEqual([]);
  });

  describe('if, throughout a request, the store', () => {
    /**
     * Sends an item. @returns the error number in the response (or the status if there is none), and the number of
     * calls to the store
     */
    const outcome = async (what: string, fault: Fault, to = stack): Promise<[code: unknown, calls: number]> => {
      const id = newId();
      store.fail(id, fault);
      const started = performance.now();
      const { status, body } = await to.sendOnce(bodyOf(id));
      const { error } = body as { error?: number };
      const [code, calls] = [error ?? status, store.calls(id)];
      report(`${what}: ${code}, ${calls} calls, ${Math.round(performance.now() - started)} ms`);
      return [code, calls];
    };

    /**
     * Sends an item to a newly started function with these environment variables, and returns what `outcome` returns.
     */
    const outcomeIn = async (environment: Record<string, string>, what: string) => {
      const other = await startTrialStack(store.endpoint, { operations: { wrapper: inTime, environment } });
      onTestFinished(other.close);
      return outcome(what, faults.pass, other);
    };

    test('fails, the response is a 503 well before the time-out, after at most three calls', async () => {
      await mapConcurrently(lastingFaults, width, async ([what, fault]) => {
        const [code, calls] = await outcome(what, fault);
        expect([what, code]).toEqual([what, 50301]);
        expect(calls).toBeLessThanOrEqual(3);
      });
    });

    test('refuses connections, the response is a 503', async () => {
      const refused = await store.refuseConnections(() => outcome('refuses connections', faults.pass));
      expect(refused).toEqual([50301, 0]);
    });

    test('cannot be found because its host name is unknown, the response is a 503', async () => {
      const environment = { AWS_ENDPOINT_URL_DYNAMODB: 'http://store.invalid' };
      expect(await outcomeIn(environment, 'unknown name')).toEqual([50301, 0]);
    });

    test.each<[what: string, request: () => Promise<[code: unknown, calls: number]>]>([
      [
        'reports expired credentials',
        () => outcome('expired credentials', faults.dynamoDbError(400, 'ExpiredTokenException')),
      ],
      ['does not have the table', () => outcomeIn({ TABLE_NAME: 'lost' }, 'missing table')],
    ])('%s, the response is a 500', async (_, request) => {
      const [code] = await retryWhile(request, ([code]) => code === 50301);
      expect(code).toBe(50001);
    });
  });

  describe('when requests with the same id arrive at the same time, the service', () => {
    const racers = trialSize(1_000, 50);

    /**
     * Sends all bodies at once. After a 503, sends a body again, because a small machine may not handle so many at
     * once.
     */
    const sendAll = async (bodies: string[]): Promise<number[]> => {
      let repeats = 0;
      const sendUntilAnswered = async (body: string): Promise<number> => {
        const { status } = await stack.sendOnce(body);
        if (status !== 503) return status;
        repeats += 1;
        return sendUntilAnswered(body);
      };
      const statuses = await Promise.all(bodies.map(sendUntilAnswered));
      report(`${bodies.length} at once: ${repeats} got a 503 and were sent again`);
      return statuses;
    };

    test(`stores one of ${racers} items, and acknowledges only requests with the content of that item`, async () => {
      const id = newId();
      // An item without text that a test may choose has only the contents of the contract's examples.
      const racing = Array.from({ length: racers }, (_, index) =>
        withText(`racer ${index}`, contents[index % contents.length]),
      );
      const statuses = await sendAll(racing.map((content) => bodyOf(id, content)));
      const winner = racing[statuses.indexOf(200)];
      expect(statuses).toEqual(racing.map((content) => (isDeepStrictEqual(content, winner) ? 200 : 409)));
      expect(await store.read(id)).toEqual(itemOf(id, winner));
    });

    test(`acknowledges all ${racers} requests if their items are identical`, async () => {
      const id = newId();
      expect(await sendAll(Array(racers).fill(bodyOf(id)))).toEqual(Array(racers).fill(200));
      expect(await store.read(id)).toEqual(itemOf(id));
    });
  });
});
