import type { Context } from 'aws-lambda';

/** A call to the store. Its times are of performance.now(); `endedAt` and `attempts` are missing until it has ended. */
type StoreCall = { startedAt: number; endedAt?: number; attempts?: number | undefined };

/** The context of a request. functions/plants/ adds each call to the store that it makes for the request. */
export type OperationContext = Context & { storeCalls: StoreCall[] };

/**
 * Says, for a line of the log, how long a request waited for the store: from the start of its first call until all have
 * ended, or until now. `attempts` are those of all calls, undefined if one has not ended.
 * @returns undefined if the request did not call the store
 */
export const storeTime = (calls: readonly StoreCall[] = []) => {
  const [first] = calls;
  if (first === undefined) return undefined;
  const now = performance.now();
  const endedAt = Math.max(...calls.map((call) => call.endedAt ?? now));
  const attempts = calls.reduce((sum, call) => sum + (call.attempts ?? Number.NaN), 0);
  return {
    milliseconds: Math.round(endedAt - first.startedAt),
    attempts: Number.isNaN(attempts) ? undefined : attempts,
  };
};
