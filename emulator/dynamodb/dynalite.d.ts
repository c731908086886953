/**
 * Types for the part of the package dynalite that we use, because the package has no types.
 * https://github.com/architect/dynalite#readme
 */
declare module 'dynalite' {
  import type { Server } from 'node:http';

  export default function dynalite(options: { path?: string; createTableMs?: number }): Server;
}

declare module 'dynalite/db/index.js' {
  type Conditional = { _condition?: unknown; Expected?: unknown; ConditionalOperator?: unknown };
  const database: {
    itemSize: (item: unknown, ...options: unknown[]) => number;
    checkConditional: (data: Conditional, item: unknown) => unknown;
  };
  export default database;
}
