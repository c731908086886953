import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until `condition` returns true. Only Vitest limits the wait, because a shorter limit could fail on a slow
 * machine.
 */
export const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await sleep(10);
};
