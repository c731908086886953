import type { Context } from 'aws-lambda';
import type { StoreCall } from '../store-call.ts';

export type OperationContext = Context & { storeCalls: StoreCall[] };

/** Measures from the first call until all have ended. If one has not, measures until now, without `attempts`. */
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
