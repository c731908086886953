import type { Context } from 'aws-lambda';

/** A call to the store, in times of performance.now(). `endedAt` and `attempts` are missing until the call ends. */
type StoreCall = { startedAt: number; endedAt?: number; attempts?: number | undefined };

/** The context of a request. functions/plants/ adds each call to the store that it makes for the request. */
export type OperationContext = Context & { storeCalls: StoreCall[] };

/**
 * Returns, for a log line, how long a request waited for the store: from the start of its first call until all calls
 * have ended, or until now. `attempts` are those of all calls, undefined if a call has not ended.
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
