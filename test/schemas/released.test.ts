import path from 'node:path';
import { expect, test } from 'vitest';
import { breaksOf, readContract, readReleases } from '../../packages/contract/compatibility.ts';
import { advice } from '../../tools/release/diff/verdict.ts';

const project = path.resolve(import.meta.dirname, '../..');

test.each(readReleases(path.join(project, 'schemas/released')))(
  'the contract breaks no client of release $version',
  ({ contract }) => {
    expect(breaksOf(contract, readContract(path.join(project, 'schemas/openapi.yaml'))), advice).toEqual([]);
  },
);
