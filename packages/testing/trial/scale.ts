/** Whether trials run in full, with `TRIALS=full`. `npm run test:e2e` runs a small part of each trial. */
const isFull = process.env['TRIALS'] === 'full';

export const trialSize = (full: number, small: number): number => (isFull ? full : small);

/** Milliseconds for what a file starts when it loads: Vitest limits only the time of tests and hooks. */
export const startLimit = 280_000;

/** The random seed of a trial, which the test's name shows. To repeat a run, set TRIAL_SEED to its seed. */
export const seed = Number(process.env['TRIAL_SEED'] ?? (isFull ? Date.now() % 2 ** 31 : 1));

/** Prints a line, such as a result or the progress, but only in a full run. `npm run test:e2e` prints none. */
export const report = (figure: string): void => {
  if (isFull) process.stderr.write(`${figure}\n`);
};

/** Prints the progress of a long trial ten times. @returns a function to call after each of the `total` steps */
export const progress = (what: string, total: number): (() => void) => {
  let done = 0;
  return () => {
    done += 1;
    if (done % Math.ceil(total / 10) === 0) report(`  ${what}: ${done} of ${total}`);
  };
};

/** Calls `work` for each item, for at most `width` items at a time. @returns the results, in the order of the items */
export const mapConcurrently = async <T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> => {
  const results: R[] = [];
  const entries = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of entries) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
};
