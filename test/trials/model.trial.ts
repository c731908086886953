/** Compares the service with a simple model. roll-out.trial.ts does the same during a roll-out. */
import { someContents } from '@lambda-service/testing/data';
import { testModel } from '@lambda-service/testing/suite';
import { startTrial } from '@lambda-service/testing/trial';

testModel({ ...(await startTrial()), contents: someContents });
