import { describe, expect, test } from 'vitest';
import { operations } from '../../functions/generated/contract.ts';
import { ConfigurationError } from '../../infra/context.ts';
import { listOperations } from '../../infra/operations.ts';

describe('listOperations', () => {
  test('says in one sentence which entry file is missing for an operation', () => {
    const waterAllPlants = { method: 'PUT', path: '/plants', scopes: ['plants/water'], parameters: [] } as const;
    const list = () => listOperations({ ...operations, waterAllPlants });
    expect(list).toThrow(ConfigurationError);
    expect(list).toThrow(
      /^The contract has the operation waterAllPlants, but functions\/water-all-plants\.lambda\.ts does not exist\.$/,
    );
  });
});
