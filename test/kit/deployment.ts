/** Makes two versions of the stack, and says what a deployment of one over the other does to the older one. */

import { operations as contract } from '../../functions/generated/contract.ts';
import { bundle, setBundle } from '../../infra/bundling.ts';
import { grants } from '../../infra/grants.ts';
import { listOperations } from '../../infra/operations.ts';
import type { Template } from '../../packages/emulator/template/read-template.ts';
import type { Handler } from './trial-stack.ts';

type Resources = Record<string, Template['Resources'][string] & { DeletionPolicy?: string }>;

/** The operation whose grants and code the tests change: the contract's first. */
export const [changedOperation] = listOperations(contract) as [
  ReturnType<typeof listOperations<keyof typeof grants>>[0],
];

/** Makes a stack while the function of `changedOperation` has these grants and, if given, this code (CommonJS). */
export const withChange = <T>(change: { actions: readonly string[]; code?: string }, make: () => T): T => {
  const { id, entry } = changedOperation;
  const [actions, code] = [grants[id], bundle(entry)];
  Object.assign(grants, { [id]: change.actions });
  if (change.code !== undefined) setBundle(entry, Buffer.from(change.code));
  try {
    return make();
  } finally {
    Object.assign(grants, { [id]: actions });
    setBundle(entry, code);
  }
};

/**
 * The resources in the account once `after` was deployed over `before`. CloudFormation deletes what is no longer in the
 * template, unless its DeletionPolicy retains it.
 */
export const deployedOver = (before: { Resources: Resources }, after: Template): Template => {
  const retained = Object.entries(before.Resources).filter(([, { DeletionPolicy = '' }]) =>
    /^Retain/.test(DeletionPolicy),
  );
  return { Resources: { ...Object.fromEntries(retained), ...after.Resources } };
};

/** A wrapper that makes the smoke test repeat a request at once, so that a version that answers 500 takes no minute. */
export const withoutPauses = (handler: Handler): Handler => {
  Object.assign(process.getBuiltinModule('node:timers/promises'), { setTimeout: async () => {} });
  return handler;
};
