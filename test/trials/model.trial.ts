/** Compares the service with a simple model. roll-out.trial.ts does the same during a roll-out. */
import { afterAll } from 'vitest';
import { someContents } from '../kit/example.ts';
import { startFaultyStore } from '../kit/faulty-store.ts';
import { testModel } from '../kit/model.ts';
import { startTrialStack } from '../kit/trial-stack.ts';

const store = await startFaultyStore('plants');
afterAll(store.close);
const stack = await startTrialStack(store.endpoint);
afterAll(stack.close);

testModel({ store, stack, contents: someContents });
