/** Compares the service with a simple model. roll-out.trial.ts does the same during a roll-out. */
import { someContents } from '../kit/example.ts';
import { testModel } from '../kit/model.ts';
import { startTrial } from '../kit/trial-stack.ts';

testModel({ ...(await startTrial()), contents: someContents });
