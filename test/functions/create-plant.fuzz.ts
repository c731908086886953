/** Sends random requests to createPlant, more with FUZZ_RUNS. test/kit/responses.ts has fixed ones. */
import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type InProcess, startInProcess } from '../kit/in-process.ts';
import { plants, toJson } from '../kit/plants.ts';
import { item } from '../kit/responses.ts';

let service: InProcess;
beforeAll(async () => {
  service = await startInProcess(() => import('../../functions/create-plant.lambda.ts'));
});
afterAll(() => service.close());

const contentType = 'application/json';

/** Writes an integer in a random spelling with the same value, such as 12.0, 1.2e1 or 120e-1 for 12. */
const spellings = fc
  .record({ places: fc.nat(25), zeros: fc.nat(30), e: fc.constantFrom('e', 'E', 'e+', 'E+0') })
  .map(({ places, zeros, e }) => (integer: bigint): string => {
    const sign = integer < 0n ? '-' : '';
    const digits = String(integer)
      .replace('-', '')
      .padStart(places + 1, '0');
    const point = digits.length - places;
    return `${sign}${digits.slice(0, point)}.${digits.slice(point)}${'0'.repeat(zeros + 1)}${e}${places}`;
  });

test('createPlant stores any plant exactly as it was sent, however its id is written, and returns it without the id', async () => {
  const used = new Set<bigint>();
  await fc.assert(
    fc.asyncProperty(plants, spellings, async ({ id, ...plant }, spell) => {
      fc.pre(!used.has(id));
      used.add(id);
      const body = toJson({ id, ...plant }).replace(String(id), spell(id));
      expect(await service.send({ body, contentType })).toMatchObject({ status: 200, body: plant });
      expect(await service.read(String(id))).toEqual(item(String(id), plant.name, plant.tag));
    }),
  );
});

test('createPlant responds to any bytes, with any content type, as the contract says, and never with a 5xx', async () => {
  const types = fc.oneof({ weight: 9, arbitrary: fc.constant(contentType) }, fc.string());
  await fc.assert(
    fc.asyncProperty(plants, fc.uint8Array({ maxLength: 100 }), fc.nat(), types, async (plant, bytes, at, type) => {
      const whole = Buffer.from(toJson(plant));
      const start = at % whole.length;
      const body = Buffer.concat([whole.subarray(0, start), bytes, whole.subarray(start + bytes.length)]);
      const { status } = await service.send({ body, contentType: type });
      expect(status, 'status').toBeLessThan(500);
      if (!isUtf8(body)) expect(status, 'status of invalid UTF-8').not.toBe(200);
    }),
  );
});
