import { createServer } from 'node:http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPlantStoreClient, type NewPlant } from '../../client/plant-store-client.ts';
import { maxId, minId, texts } from '../kit/plants.ts';
import { startServer } from '../kit/servers.ts';

/** The bodies of all requests to the server `echo`, which sends each plant back without its id. */
const received: string[] = [];
const echo = createServer(async (request, response) => {
  const text = Buffer.concat(await request.toArray()).toString();
  received.push(text);
  const { id: _, ...plant } = JSON.parse(text);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(plant));
});

/** Returns the digits of each `id` as they are in the JSON text, because a parsed number might be rounded. */
const idDigits = (text: string): string[] => {
  const digits: string[] = [];
  JSON.parse(text, (key: string, value: unknown, { source = '' }: { source?: string } = {}) => {
    if (key === 'id') digits.push(source);
    return value;
  });
  return digits;
};

test('the client sends every string unchanged, and every digit of an int64 given as a bigint or as a safe integer', async () => {
  const { createPlant } = createPlantStoreClient({
    baseUrl: `http://127.0.0.1:${await startServer(echo)}`,
    token: 'a.b.c',
  });
  const ids = fc.oneof(fc.bigInt({ min: minId, max: maxId }), fc.maxSafeInteger());
  const plants = fc.record({ id: ids, name: texts, tag: texts }, { requiredKeys: ['id', 'name'] });
  await fc.assert(
    fc.asyncProperty(plants, async (newPlant: NewPlant) => {
      const { id, ...plant } = newPlant;
      expect(await createPlant(newPlant)).toEqual({ ok: true, status: 200, headers: expect.any(Headers), body: plant });
      const text = received.at(-1) ?? '';
      expect(idDigits(text)).toEqual([`${BigInt(id)}`]);
      expect(JSON.parse(text)).toEqual({ id: Number(BigInt(id)), ...plant });
    }),
    { examples: [[{ id: minId, name: '' }], [{ id: maxId, name: '' }], [{ id: 2n ** 53n + 1n, name: '"id":7' }]] },
  );
});
