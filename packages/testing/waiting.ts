/** Repeats requests, waits, and a clock, so that tests do not depend on how fast a machine is, or on quotas of AWS. */
import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';

/**
 * Whether a response is a 429, 500 or 503 of the gateway. The service's own responses with these statuses have the
 * field `error`; the gateway's do not.
 */
export const isOverQuota = (status: number, body: unknown): boolean =>
  [429, 500, 503].includes(status) && !(body instanceof Object && 'error' in body);

/** Returns whether the status is 503, whatever the cause, such as a used-up quota or a service that is too slow. */
export const isUnavailable = (status: number): boolean => status === 503;

/** Sends a request until `isRefused` returns false: at most eight times in 13 seconds, with growing pauses. */
export const retryWhile = async <T>(send: () => Promise<T>, isRefused: (response: T) => boolean): Promise<T> => {
  for (let pause = 100; ; pause *= 2) {
    const response = await send();
    if (pause > 6_400 || !isRefused(response)) return response;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
};

/** Sends a request again while its status is 503, because a busy machine can make the service run out of time. */
export const untilAvailable = <T extends { status: unknown }>(send: () => Promise<T>): Promise<T> =>
  retryWhile(send, ({ status }) => status === 503);

/** Waits until `condition` returns true. Only Vitest limits the wait; a shorter limit could fail on a slow machine. */
export const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await sleep(10);
};

/**
 * Replaces the clock of timers and `performance` in the test file that calls this: the clock advances at most 10 ms in
 * each turn of the event loop, however long the turn takes. So a busy machine cannot use up time limits.
 */
export const startEventLoopClock = (): void => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'performance'],
    // Middy imports its timers from node:timers instead of using the globals, so node:timers must be faked, too.
    fakeNodeBuiltins: true,
    shouldAdvanceTime: true,
    advanceTimeDelta: 10,
  });
};
