import path from 'node:path';
import { expect, test } from 'vitest';
import { advice, breaksOf, readContract, readReleases } from '../../scripts/contract/compatibility.ts';

const project = path.resolve(import.meta.dirname, '../..');

test.each(readReleases(project))('the contract breaks no client of release $version', ({ contract }) => {
  expect(breaksOf(contract, readContract(path.join(project, 'schemas/openapi.yaml'))), advice).toEqual([]);
});
