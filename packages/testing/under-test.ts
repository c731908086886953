/** The service under test: the file that the preset names exports it. */
import { inject } from 'vitest';
import { partNames, type Service } from './service.ts';

const { service }: { service: Service } = await import(inject('service'));

export const { operations, key, toItem, load, newChecks, stack: loadStack, leaveOut: leftOut = {} } = service;

const unknown = Object.keys(leftOut).filter((name) => !(partNames as readonly string[]).includes(name));
if (unknown.length > 0)
  throw new Error(`${inject('service')} leaves out ${unknown.join(', ')}, but the parts are ${partNames.join(', ')}.`);

const create = operations[service.create];
if (create === undefined)
  throw new Error(
    `${inject('service')} says that ${service.create} adds an item, but the contract has no such operation.`,
  );

/** The operation that adds an item, and its id. */
export const createOperation = { ...create, id: service.create };

/** The route of that operation, such as POST /orders. */
export const createRoute = `${create.method} ${create.path}` as `${string} /${string}`;

declare module 'vitest' {
  export interface ProvidedContext {
    /** The path of the file that exports `service`. */
    service: string;
  }
}
