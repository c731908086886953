import { vi } from 'vitest';

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
