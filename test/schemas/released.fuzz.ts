/**
 * Checks with random bodies what released.test.ts concludes from the schemas: each body that a release accepted is
 * still accepted.
 */
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readContract, readReleases } from '../../scripts/contract/compatibility.ts';
import { readOperations } from '../../scripts/contract/operations.ts';
import { compiledBodies } from '../kit/compiled-contract.ts';
import { valuesOf } from '../kit/schema-values.ts';

const project = path.resolve(import.meta.dirname, '../..');
const today = readContract(path.join(project, 'schemas/openapi.yaml'));
const accepts = await compiledBodies(today);
const operations = readOperations(today);

describe.each(readReleases(path.join(project, 'schemas/released')))('since release $version', async ({ contract }) => {
  const accepted = await compiledBodies(contract);
  const released = readOperations(contract).flatMap(({ method, path, body, examples = [] }) => {
    const now = operations.find((each) => each.method === method && each.path === path)?.body;
    return body && now ? [{ route: `${method} ${path}`, body, now, examples }] : [];
  });

  test.each(released)('$route still accepts every body that it accepted then', ({ route, body, now, examples }) => {
    const drawn = valuesOf({ contract, schema: body }, { contract: today, schema: now });
    const bodies = fc.oneof({ arbitrary: drawn, weight: 9 }, { arbitrary: fc.constantFrom(...examples), weight: 1 });
    let count = 0;
    fc.assert(
      fc.property(bodies, (value) => {
        if (!accepted[route]?.(value)) return;
        count += 1;
        expect(accepts[route]?.(value)).toBe(true);
      }),
    );
    expect(count, 'bodies that the release accepted').toBeGreaterThan(0);
  });
});
