import { describe, test } from 'vitest';
import type { PartName } from '../service.ts';
import { leftOut } from '../under-test.ts';

/**
 * Makes a part of the suite, which a service can leave out by its name: then the run prints the reason.
 * @param define defines the part's tests
 */
export const part = (name: PartName, define: () => unknown) => (): void => {
  const reason = leftOut[name];
  if (reason === undefined) return void describe(name, async () => void (await define()));
  console.warn(`The service leaves out the part "${name}" of the suite: ${reason}`);
  test.skip(`${name}: ${reason}`);
};
