import { describe, test } from 'vitest';
import type { PartName } from '../service.ts';
import { leftOut } from '../under-test.ts';

/**
 * Makes a part of the suite, which a service can leave out by its name: then the run prints the reason.
 * @param define defines the part's tests
 */
export const part =
  <Arguments extends unknown[]>(name: PartName, define: (...args: Arguments) => unknown) =>
  (...args: Arguments): void => {
    const reason = leftOut[name];
    if (reason === undefined) return void describe(name, async () => void (await define(...args)));
    console.warn(`The service leaves out the part "${name}" of the suite: ${reason}`);
    test.skip(`${name}: ${reason}`);
  };
