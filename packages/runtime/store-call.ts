/** A call to the store, with times from performance.now(). `endedAt` and `attempts` are missing until the call ends. */
export type StoreCall = { startedAt: number; endedAt?: number; attempts?: number | undefined };
