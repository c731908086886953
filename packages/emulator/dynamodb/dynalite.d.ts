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
  export type Value = { S?: string; B?: string; L?: Value[]; M?: Item };
  export type Item = Record<string, Value>;
  export type Index = { IndexName: string; Projection: { ProjectionType?: string; NonKeyAttributes?: string[] } };
  type Visit<Found> = (attribute: string, type: string, index: Index) => Found;
  /** A Query (which has KeyConditions, even if the client sent an expression) or a Scan. */
  type Reading = {
    IndexName?: string;
    KeyConditions?: Record<string, { AttributeValueList: Value[] }>;
    QueryFilter?: object;
    AttributesToGet?: string[];
    _filter?: { pathHeads: object };
    _projection?: { paths: (string | number)[][] };
  };
  type ReadAs = [range: unknown, isLocal: boolean | undefined, readsTable: boolean, keyNames: string[]];

  const database: {
    create: (options: import('dynalite').Options) => Store;
    itemSize: (item: unknown, ...options: unknown[]) => number;
    /** Makes an error that dynalite sends as a ValidationException. */
    validationError: (message: string) => Error;
    checkConditional: (data: Conditional, item: unknown) => unknown;
    validateItem: (item: Item, table: object) => unknown;
    updateIndexes: (store: Store, table: object, old: unknown, item: Item | undefined, done: Callback) => void;
    /** Visits the key attributes of a table's indexes. */
    traverseIndexes: <Found>(table: object, visit: Visit<Found | undefined>) => Found | undefined;
    queryTable: (store: Store, table: object, data: Reading, ...how: [...ReadAs, done: Callback]) => void;
  };
  export default database;
}

declare module 'dynalite/validations/index.js' {
  type Data = { ExpressionAttributeValues?: import('dynalite/db/index.js').Item };
  const validations: {
    checkValidations: (data: Data, ...options: unknown[]) => void;
    /** Parses the expressions. Returns why they are refused. */
    validateExpressions: (request: import('./expressions.ts').Request) => string | undefined;
  };
  export default validations;
}

declare module 'dynalite/validations/scan.js' {
  /** The types of the properties that dynalite reads. */
  const scan: { types: Record<string, unknown> };
  export default scan;
}
