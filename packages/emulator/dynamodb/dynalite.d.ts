/**
 * Types for the part of the package dynalite that we use, because the package has no types.
 * https://github.com/architect/dynalite#readme
 */
declare module 'dynalite' {
  import type { Server } from 'node:http';

  /** dynalite hands the options on to its database, which dynalite-faults.ts replaces: `onFault` is ours. */
  export type Options = { path?: string; createTableMs: number; onFault?: (error: unknown) => void };
  export default function dynalite(options: Options): Server;
}

declare module 'dynalite/db/index.js' {
  export type Callback = (...args: unknown[]) => void;
  export type Method = (...args: unknown[]) => unknown;
  /** Returns a function that unlocks, and then calls `done` with its arguments. */
  export type Release = (done: Callback) => Callback;
  /** Calls `use` as soon as nothing else has locked `key`. */
  export type Lock = (key: string, use: (release: Release) => void) => unknown;
  /** An operation of the database, if it gets no callback. */
  export type Run = (...args: unknown[]) => Promise<unknown>;
  export type Open = (range: unknown) => { next: () => Promise<unknown> };
  export type Stream = (range: unknown) => NodeJS.EventEmitter;
  /** The LevelDB database with all tables, indexes and tags. */
  type Level = Record<'open' | 'get' | 'put' | 'del' | 'batch', Run> &
    Record<'keys' | 'values', Open> &
    Record<'createKeyStream' | 'createValueStream', Stream>;
  type Store = {
    db: Level;
    getItemDb: (table: string) => { lock: Lock };
    lifecycleManager: { getState: () => 'open' | 'closing' | 'closed' };
  };
  type Conditional = { _condition?: unknown; Expected?: unknown; ConditionalOperator?: unknown };

  const database: {
    create: (options: import('dynalite').Options) => Store;
    itemSize: (item: unknown, ...options: unknown[]) => number;
    checkConditional: (data: Conditional, item: unknown) => unknown;
  };
  export default database;
}
