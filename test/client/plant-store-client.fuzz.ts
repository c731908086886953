import { createServer } from 'node:http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPlantStoreClient, type NewPlant } from '../../client/plant-store-client.ts';
import { maxId, minId, texts } from '../plants.ts';
import { startServer } from '../servers.ts';

/** Answers with the digits of the id, taken from the text and not from a double, as name, and all else as tag. */
const echo = createServer(async (request, response) => {
  const text = Buffer.concat(await request.toArray()).toString();
  const ids: string[] = [];
  const { id: _, ...others } = JSON.parse(
    text,
    (key: string, value: unknown, { source = '' }: { source?: string } = {}) => {
      if (key === 'id') ids.push(source);
      return value;
    },
  );
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ name: ids.join(), tag: JSON.stringify(others) }));
});

test('every int64, as a bigint or a number that holds it, and every text arrive exact', async () => {
  const { createPlant } = createPlantStoreClient({
    baseUrl: `http://127.0.0.1:${await startServer(echo)}`,
    token: 'a.b.c',
  });
  const ids = fc.oneof(fc.bigInt({ min: minId, max: maxId }), fc.maxSafeInteger());
  const plants = fc.record({ id: ids, name: texts, tag: texts }, { requiredKeys: ['id', 'name'] });
  await fc.assert(
    fc.asyncProperty(plants, async (plant: NewPlant) => {
      const { id, ...others } = plant;
      const result = await createPlant(plant);
      // `+ 0n`, since JSON has -0 and the integers have not.
      expect(result).toEqual({ ok: true, plant: { name: `${BigInt(id) + 0n}`, tag: JSON.stringify(others) } });
    }),
    { examples: [[{ id: minId, name: '' }], [{ id: maxId, name: '' }], [{ id: 2n ** 53n + 1n, name: '"id":7' }]] },
  );
});
