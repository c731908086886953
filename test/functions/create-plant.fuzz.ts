/**
 * Tests createPlant with random requests, 10,000 per test in `npm run fuzz`. test/kit/responses.ts has fixed requests.
 */
import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import fc, { type GeneratorValue } from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type InProcess, startInProcess } from '../kit/in-process.ts';
import { below, spellInteger, spellObject, spellString } from '../kit/json-spellings.ts';
import { type Plant, plants } from '../kit/plants.ts';
import type { Item } from '../kit/plants-store.ts';
import { item, type PlantRequest } from '../kit/responses.ts';

let service: InProcess;
beforeAll(async () => {
  service = await startInProcess(() => import('../../functions/create-plant.lambda.ts'));
});
afterAll(() => service.close());

const contentType = 'application/json';

// fast-check's generators are made only once, because making one costs more than drawing a value from it.
const names = fc.array(fc.string(), { maxLength: 2 });
const anyNames = () => names;

/** Any JSON value, as text, but without the field names __proto__ and constructor, which the parser may refuse. */
const jsons = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.stringify(value))
  .filter((json) => !/"(__proto__|constructor)"/.test(json));
const anyJson = () => jsons;
const anyPlant = () => plants;

/** Generates fields that are not in the contract: for each, the name and the value as JSON text. */
const moreFields = (gen: GeneratorValue): [string, string][] =>
  gen(anyNames)
    .filter((name) => !['id', 'name', 'tag', '__proto__', 'constructor'].includes(name))
    .map((name) => [spellString(gen, name), gen(anyJson)]);

/**
 * Writes a plant as JSON in a random way: its fields in any order, mixed with unknown fields, and perhaps preceded by
 * duplicates that have other values.
 */
const spellPlant = (gen: GeneratorValue, { id, name, tag }: Plant): string => {
  const own: [string, string][] = [
    [spellString(gen, 'id'), spellInteger(gen, id)],
    [spellString(gen, 'name'), spellString(gen, name)],
  ];
  if (tag !== undefined) own.push([spellString(gen, 'tag'), spellString(gen, tag)]);
  // RFC 8259 section 4 does not define which duplicate field counts. The service, like JavaScript, uses the last.
  const overruled = own.filter(() => gen(fc.boolean)).map(([field]): [string, string] => [field, gen(anyJson)]);
  const shuffled = [...own, ...moreFields(gen)]
    .map((field) => ({ field, place: gen(fc.nat) }))
    .sort((one, other) => one.place - other.place);
  return spellObject(gen, [...overruled, ...shuffled.map(({ field }) => field)]);
};

/** Picks one of two content types: with the first, the gateway passes on a body as text; with the second, as base64. */
const asSent = (gen: GeneratorValue, body: string): PlantRequest =>
  gen(fc.boolean)
    ? { body: body.replaceAll('\ufffd', '\\ufffd'), contentType }
    : { body, contentType: 'application/vnd.plant+json' };

test('createPlant stores any valid plant exactly as it was sent, however its JSON is written, and returns the plant without the id', async () => {
  const stored = new Map<bigint, Item>();
  await fc.assert(
    fc.asyncProperty(anyPlant(), fc.gen(), async (plant, gen) => {
      const { id, name, tag } = plant;
      const shown = tag === undefined ? { name } : { name, tag };
      const sent = item(String(id), name, tag);
      // fast-check generates small ids again and again, so another plant may already be stored under this plant's id.
      const known = stored.get(id) ?? sent;
      const { status, body } = await service.send(asSent(gen, spellPlant(gen, plant)));
      if (isDeepStrictEqual(known, sent)) {
        expect({ status, body }).toStrictEqual({ status: 200, body: shown });
        stored.set(id, sent);
      } else {
        expect({ status, body }).toMatchObject({ status: 409, body: { error: 40901 } });
      }
      expect(await service.read(String(id))).toEqual(known);
    }),
  );
});

test('createPlant responds to any bytes, with any content type, as the contract says, and never with a 5xx', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 100 }), fc.gen(), async (bytes, gen) => {
      const body = gen(fc.boolean) ? Buffer.from(bytes) : Buffer.from(spellPlant(gen, gen(anyPlant)));
      // Damage the body: replace some bytes, and perhaps cut off its end.
      for (const byte of bytes.subarray(0, below(gen, 4))) body[below(gen, body.length + 1)] = byte;
      const sent = body.subarray(0, gen(fc.boolean) ? body.length : below(gen, body.length + 1));
      const type = below(gen, 10) > 0 ? contentType : gen(fc.string);
      const { status } = await service.send({ body: sent, contentType: type });
      expect(status, 'status').toBeLessThan(500);
      if (!isUtf8(sent)) expect(status, 'status of invalid UTF-8').not.toBe(200);
    }),
  );
});
