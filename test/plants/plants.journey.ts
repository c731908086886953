/**
 * Delete this folder when the data is no longer plants. Tests plants over HTTP, here or against a deployment.
 */
import { reachService } from '@lambda-service/testing/programs';
import { testPlants } from './kit/responses.ts';

testPlants(await reachService());
