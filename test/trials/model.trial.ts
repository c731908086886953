/** Compares the service with a simple model. roll-out.trial.ts does the same during a roll-out. */
import { afterAll, beforeAll } from 'vitest';
import { someContents } from '../kit/example.ts';
import { type FaultyStore, startFaultyStore } from '../kit/faulty-store.ts';
import { testModel } from '../kit/model.ts';
import { startTrialStack, type TrialStack } from '../kit/trial-stack.ts';

let store: FaultyStore;
let stack: TrialStack;
beforeAll(async () => {
  store = await startFaultyStore('plants');
  stack = await startTrialStack(store.endpoint);
});
afterAll(async () => {
  await stack.close();
  await store.close();
});

testModel(() => ({ store, stack, contents: someContents }));
