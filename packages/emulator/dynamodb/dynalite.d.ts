/**
 * Types for the part of the package dynalite that we use, because the package has no types.
 * https://github.com/architect/dynalite#readme
 */
declare module 'dynalite' {
  import type { Server } from 'node:http';

  export default function dynalite(options: { path?: string; createTableMs?: number }): Server;
}

declare module 'dynalite/db/index.js' {
  export type Callback = (...args: unknown[]) => void;
  export type Method = (...args: unknown[]) => unknown;
  /** Returns a function that unlocks, and then calls `done` with its arguments. */
  export type Release = (done: Callback) => Callback;
  /** Calls `use` as soon as nothing else has locked `key`. */
  export type Lock = (key: string, use: (release: Release) => void) => unknown;
  export type Database = {
    get: Method;
    put: Method;
    del: Method;
    batch: Method;
    lock: Lock;
    createValueStream: (...options: unknown[]) => NodeJS.EventEmitter;
  };
  type Open = (...names: string[]) => Database;
  type Store = { getTable: Method; getItemDb: Open; getIndexDb: Open; getTagDb: Open };
  type Conditional = { _condition?: unknown; Expected?: unknown; ConditionalOperator?: unknown };

  const database: {
    create: (options: unknown) => Store;
    itemSize: (item: unknown, ...options: unknown[]) => number;
    /** Makes an error that dynalite sends as a ValidationException. */
    validationError: (message: string) => Error;
    checkConditional: (data: Conditional, item: unknown) => unknown;
  };
  export default database;
}

declare module 'dynalite/validations/index.js' {
  const validations: { checkValidations: (data: object, ...options: unknown[]) => void };
  export default validations;
}
