import { vi } from 'vitest';

/**
 * Makes timers and `performance` in this test file count turns of the event loop, 10 ms each, however long they take.
 * A busy machine then cannot use up the time limits of the code under test.
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
