import { vi } from 'vitest';

/**
 * From now on the timers and `performance` of this test file count turns of the event loop: 10 ms pass at each, however
 * long it took. So a machine that holds the process up does not use up the time limits of the code under test.
 */
export const startEventLoopClock = (): void => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'performance'],
    shouldAdvanceTime: true,
    advanceTimeDelta: 10,
  });
};
