import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `holds` returns true. Only Vitest limits the wait; a shorter limit could fail on a slow machine. */
export const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await sleep(10);
};
