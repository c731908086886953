import { vi } from 'vitest';

/**
 * Replaces the clock of timers and `performance` in this test file: it advances at most 10 ms in each turn of the event
 * loop, however long the turn takes. A busy machine then cannot use up the time limits of the code under test.
 */
export const startEventLoopClock = (): void => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'performance'],
    // Middy imports its timers from node:timers instead of using the globals, so that module must be faked, too.
    fakeNodeBuiltins: true,
    shouldAdvanceTime: true,
    advanceTimeDelta: 10,
  });
};
