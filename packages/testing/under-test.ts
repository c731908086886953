/** The service under test: the file that the preset names exports it. */
import type { Operation } from '@lambda-service/client';
import { inject } from 'vitest';
import { readService } from './service.ts';

const service = await readService(inject('service'));

const noChecks: NonNullable<typeof service.newChecks> = () => ({});
export const {
  operations,
  key,
  toItem,
  load,
  newChecks = noChecks,
  stack: loadStack,
  leaveOut: leftOut = {},
} = service;

/** Whether the stack for production has these. */
export const hasSmokeTest = leftOut['smoke test'] === undefined;
export const hasOutsideCheck = leftOut['outside check'] === undefined;

/** Loads the entry of an operation. */
export const loadOperation = (id: string) => load(operations[id]?.file ?? '');

/** The operation that adds an item, and its id. */
export const createOperation = {
  ...(operations[service.create] as Operation & { file: string; scopes: readonly string[] }),
  id: service.create,
};

/** The route of that operation, such as POST /orders. */
export const createRoute = `${createOperation.method} ${createOperation.path}` as `${string} /${string}`;

declare module 'vitest' {
  export interface ProvidedContext {
    /** The path of the file that exports `service`. */
    service: string;
  }
}
