/** How much of a trial is run: all of it by `npm run trials`, a small portion by `npm test`. */
const isFull = process.env['TRIALS'] === 'full';

export const portion = (full: number, small: number): number => (isFull ? full : small);

/** What chance in a trial starts from: TRIAL_SEED repeats a run. It stands in the names of the tests that use it. */
export const seed = Number(process.env['TRIAL_SEED'] ?? (isFull ? Date.now() % 2 ** 31 : 1));

/** Tells a figure, where all of a trial is run. */
export const report = (figure: string): void => {
  if (isFull) process.stderr.write(`${figure}\n`);
};

/** @returns what to call for each of `total` steps: shows, ten times in all, how far a long trial is */
export const progress = (what: string, total: number): (() => void) => {
  let done = 0;
  return () => {
    done += 1;
    if (done % Math.ceil(total / 10) === 0) report(`  ${what}: ${done} of ${total}`);
  };
};

/** Calls `work` for each item, `width` at a time. @returns what it gave, in the order of the items */
export const eachOf = async <T, R>(items: readonly T[], width: number, work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  const entries = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of entries) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
};
