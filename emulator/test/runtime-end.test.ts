/** Tests what ends an instance, and what becomes of the event in progress. */
import { describe, expect, test } from 'vitest';
import { functionOf, resultOf } from './kit/one-function.ts';

/**
 * A function whose handler runs `statements` if the event has `fail`, and returns how many events its instance has had.
 */
const countingFunction = (statements: string) =>
  functionOf(
    `let events = 0; exports.handler = async (event) => { events += 1; if (event.fail) { ${statements} } return events }`,
  );

const rejection = {
  level: 'ERROR',
  message: {
    errorType: 'UnhandledPromiseRejection',
    errorMessage: 'RangeError: late',
    reason: { errorType: 'RangeError', errorMessage: 'late' },
  },
};
const exception = { level: 'ERROR', message: { errorType: 'RangeError', errorMessage: 'late' } };

describe('an event fails, its instance ends, and the next event gets a new instance, if the handler', () => {
  test.each([
    ['can never settle', 'await new Promise(() => {})', 'Runtime.NodeJsExit: ', []],
    [
      'can never settle, with only an unreferenced timer left',
      'await new Promise((resolve) => setTimeout(resolve, 1e6).unref())',
      'Runtime.NodeJsExit: ',
      [],
    ],
    ['exits with code 0', 'process.exit(0)', 'Runtime.ExitError: Runtime exited without providing a reason', []],
    ['exits with code 3', 'process.exit(3)', 'Runtime.ExitError: Runtime exited with error: exit status 3', []],
    [
      'leaves a rejected promise unhandled',
      "Promise.reject(new RangeError('late'))",
      'Runtime.UnhandledPromiseRejection: RangeError: late',
      [rejection],
    ],
    [
      'throws in a timer',
      "setTimeout(() => { throw new RangeError('late') }); await new Promise((resolve) => setTimeout(resolve, 1e6))",
      'RangeError: late',
      [exception],
    ],
  ])('%s', async (_, statements, reason, log) => {
    const fn = await countingFunction(statements);
    expect(resultOf(await fn.invoke())).toBe(1);
    expect(await fn.invoke({ fail: true })).toMatchObject({ failure: expect.stringContaining(reason), log });
    expect(resultOf(await fn.invoke())).toBe(1);
  });
});

describe('after the response', () => {
  test.each([
    ['rejection', "Promise.reject(new RangeError('late'))", rejection],
    ['exception', "throw new RangeError('late')", exception],
  ])('an unhandled %s ends the instance, and is logged with the next event', async (_, statement, line) => {
    const fn = await countingFunction(`setTimeout(() => { ${statement} }, 1)`);
    expect(resultOf(await fn.invoke({ fail: true }))).toBe(1);
    // Send events until the log of one contains the error. Ignore events that fail: as on Lambda, an event fails if its
    // instance ends in the middle of it.
    let next = await fn.invoke();
    while (next.log.length === 0) next = await fn.invoke();
    expect(next.log).toMatchObject([line]);
    expect(resultOf(await fn.invoke()), 'number of the event').toBeLessThanOrEqual(2);
  });

  test('the instance stays alive, whether or not the handler left a timer running', async () => {
    const fn = await countingFunction('setInterval(() => {}, 1)');
    expect([await fn.invoke(), await fn.invoke({ fail: true }), await fn.invoke()].map(resultOf)).toEqual([1, 2, 3]);
  });
});
