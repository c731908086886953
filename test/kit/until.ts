import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for as long as the test may take: a limit of its own would be one for the machine. */
export const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await sleep(10);
};
