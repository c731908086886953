import path from 'node:path';
import { expect, test } from 'vitest';
import { breaksOf, readContract, readReleases } from '../../scripts/contract/compatibility.ts';
import { advice } from '../../scripts/diff/verdict.ts';

const project = path.resolve(import.meta.dirname, '../..');

test.each(readReleases(path.join(project, 'schemas/released')))(
  'the contract breaks no client of release $version',
  ({ contract }) => {
    expect(breaksOf(contract, readContract(path.join(project, 'schemas/openapi.yaml'))), advice).toEqual([]);
  },
);
