/** Delete this folder when the data is no longer plants. Tests plants with createPlant in this process. */
import { afterAll, beforeAll } from 'vitest';
import { type InProcess, startInProcess } from '../kit/in-process.ts';
import { testPlants } from './kit/responses.ts';

let service: InProcess;
beforeAll(async () => {
  service = await startInProcess(() => import('../../functions/create-plant.lambda.ts'));
});
afterAll(() => service.close());

testPlants(() => service);
