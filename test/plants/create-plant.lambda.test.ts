/** Delete this folder when the data is no longer plants. Tests plants with createPlant in this process. */
import { startInProcess } from '@lambda-service/testing/in-process';
import { testPlants } from './kit/responses.ts';

testPlants(await startInProcess(() => import('../../functions/create-plant.lambda.ts')));
