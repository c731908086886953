/** What the platform's tests must know of this service. */
import { readSettings } from '@lambda-service/cdk';
import type { Service } from '@lambda-service/testing/service';
import { operations } from '../functions/generated/contract.ts';
import { key, toItem } from '../functions/plant-table.ts';
import { newChecks } from '../functions/smoke-checks.ts';

export const service: Service = {
  operations,
  create: 'createPlant',
  key,
  toItem,
  load: (file) => import(`../functions/${file}.lambda.ts`),
  newChecks,
  // Loaded only by tests of the stack, because the CDK takes a second to load.
  stack: async () => {
    const { PlantStoreStack } = await import('../infra/plant-store-stack.ts');
    return (app) => new PlantStoreStack(app, readSettings(app.node));
  },
};
