/**
 * Tests createPlant with random requests, 10,000 per test in `npm run fuzz`. test/kit/responses.ts has fixed requests.
 */
import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import fc, { type GeneratorValue } from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { proxyEvent } from '../kit/gateway-events.ts';
import { type InProcess, startInProcess } from '../kit/in-process.ts';
import { below, pick, spellInteger, spellObject, spellString } from '../kit/json-spellings.ts';
import { maxId, minId, type Plant, plants, texts } from '../kit/plants.ts';
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
const jsons = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.stringify(value))
  .filter((json) => !/"(__proto__|constructor)"/.test(json));

const anyText = () => texts;

const anyPlant = () => plants;

const anyNames = () => names;

/** Any JSON value, as text, but without the field names __proto__ and constructor, which the parser may refuse. */
const anyJson = () => jsons;

const plantFields = ['id', 'name', 'tag'];

/** Generates fields that are not in the contract: for each, the name and the value as JSON text. */
const moreFields = (gen: GeneratorValue): [string, string][] =>
  gen(anyNames)
    .filter((name) => ![...plantFields, '__proto__', 'constructor'].includes(name))
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

/** Generates a JSON value of any type except `type`. */
const anyJsonBut = (gen: GeneratorValue, type: 'number' | 'string'): string => {
  const json = gen(anyJson);
  return typeof JSON.parse(json) === type ? `[${json}]` : json;
};

/** Generates the JSON text of a number that is not an int64: too large, too small, or not an integer. */
const spellNoInt64 = (gen: GeneratorValue): string => {
  const digit = gen(fc.integer, { min: 1, max: 9 });
  const zeros = '0'.repeat(below(gen, 31));
  return pick(gen, [
    spellInteger(gen, gen(fc.bigInt, { min: maxId + 1n, max: 10n ** 30n })),
    spellInteger(gen, gen(fc.bigInt, { min: -(10n ** 30n), max: minId - 1n })),
    `${gen(fc.bigInt, { min: minId, max: maxId })}.${zeros}${digit}`,
    `${gen(fc.bigInt, { min: minId, max: maxId })}.${zeros}${digit}e${below(gen, zeros.length + 1)}`,
    `-${digit}E-${gen(fc.integer, { min: 1, max: 1000 })}`,
    `${digit}e${gen(fc.integer, { min: 19, max: 2 ** 31 })}`,
  ]);
};

/** Generates the JSON text of a NewPlant with one field missing or wrong. */
const spellNearlyPlant = (gen: GeneratorValue): string => {
  const { id, name } = gen(anyPlant);
  const good: Record<string, string> = { id: spellInteger(gen, id), name: spellString(gen, name) };
  const [spoilt, value] = pick<[string, string | undefined]>(gen, [
    ['id', undefined],
    ['id', spellNoInt64(gen)],
    ['id', anyJsonBut(gen, 'number')],
    ['name', undefined],
    ['name', anyJsonBut(gen, 'string')],
    ['name', `${spellString(gen, gen(anyText)).slice(0, -1)}\\ud83c"`],
    ['tag', anyJsonBut(gen, 'string')],
    ['tag', `"\\uDF31${spellString(gen, gen(anyText)).slice(1)}`],
  ]);
  const fields = Object.entries({ ...good, [spoilt]: value }).flatMap(([field, json]): [string, string][] =>
    json === undefined ? [] : [[spellString(gen, field), json]],
  );
  return spellObject(gen, [...fields, ...moreFields(gen)]);
};

test('createPlant responds with the error 40002, and does not call the store, if the JSON is not a valid plant', async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (gen) => {
      const body = below(gen, 3) > 0 ? spellNearlyPlant(gen) : gen(anyJson);
      const calls = service.faults.calls();
      const response = await service.send(asSent(gen, body));
      expect(response).toMatchObject({ status: 400, body: { error: 40002 } });
      expect(service.faults.calls() - calls, 'calls to the store').toBe(0);
    }),
  );
});

/**
 * Generates JSON texts with the placeholder N for each number. Objects may nest, repeat keys, or have keys like
 * __proto__.
 */
const spellWatchedKeys = (gen: GeneratorValue, depth: number): string => {
  const inner = () => spellWatchedKeys(gen, depth - 1);
  const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
  const field = (): [string, string] => {
    const key = pick(gen, ['id', 'name', 'tag', '__proto__', 'constructor', 'prototype', 'x']);
    return [spellString(gen, key), inner()];
  };
  return pick<() => string>(gen, [
    () => 'N',
    () => pick(gen, ['"Moss"', 'null', 'true', '"__proto__"']),
    () => (depth > 0 ? `[${times(below(gen, 3), inner)}]` : 'N'),
    () => (depth > 0 ? spellObject(gen, times(below(gen, 4), field)) : '{}'),
    () => {
      const levels = pick(gen, [100, 1_990, 1_999, 2_000, 2_001, 2_318, 2_319, 10_000]) - below(gen, 5);
      return depth === 3 ? `${'['.repeat(levels)}N${']'.repeat(levels)}` : 'N';
    },
  ])();
};

test('createPlant gives the same response if the numbers in a body are written differently, such as 1.0 instead of 1', async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (gen) => {
      const watched = (): [string, string] => [
        spellString(gen, pick(gen, ['__proto__', 'constructor', 'x', 'id', 'name'])),
        spellWatchedKeys(gen, 3),
      ];
      const plant: [string, string][] = [
        ['"id"', 'N'],
        ['"name"', '"Moss"'],
      ];
      const fields = gen(fc.boolean) ? [...plant, watched()] : [watched(), ...plant];
      const body = spellObject(gen, fields);
      const responseTo = async (number: string) => {
        const { status, body: response } = await service.send(asSent(gen, body.replaceAll('N', number)));
        return { status, response };
      };
      expect(await responseTo('1.0')).toEqual(await responseTo('1'));
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

// This test does not send the bodies that take longest to parse (a number with a fraction, then only numbers of one
// digit), because a slow machine might not parse them in time.
test('createPlant responds to any large body as the contract says, and never with a 5xx', async () => {
  const { numRuns = 0 } = fc.readConfigureGlobal();
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (gen) => {
      const [start, fragment, end] = pick(gen, [
        ['', '[', ''],
        ['', '{"a":', ''],
        ['', '"', ''],
        ['"', '\\u0000', '"'],
        ['{"id":1,"name":"', 'é', '"}'],
        ['{"id":1.0,"name":"x","more":[0', ',1e-7', ']}'],
        ['{"id":1.0,"name":"x","more":[0', ',[]', ']}'],
        ['{"id":1', '0', ',"name":"x"}'],
        ['{"id":1.', '0', ',"name":"x"}'],
        ['{"name":"x","id":1', ',"id":2', '}'],
      ]);
      const size = pick(gen, [1_000, 100_000, 409_600, 1_048_576]) + below(gen, 100) - 50;
      const body = start + fragment.repeat(size / Buffer.byteLength(fragment)) + end;
      const { status } = await service.send(asSent(gen, body));
      expect(status, 'status').toBeLessThan(500);
    }),
    // Fewer runs, because a large body takes hundreds of times as long as a small one.
    { numRuns: Math.ceil(numRuns / 20) },
  );
});

test('createPlant responds in time to any event, however malformed the event is', async () => {
  const whole = proxyEvent('{"id":1,"name":"Moss"}');
  const values = fc.oneof(fc.jsonValue(), fc.constant(undefined));
  const anyValue = () => values;
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (gen) => {
      const changed = (event: object): object => {
        const fields = Object.keys(event);
        return { ...event, [fields[below(gen, fields.length)] ?? '']: gen(anyValue) };
      };
      const event = pick<unknown>(gen, [
        gen(anyValue),
        changed(whole),
        { ...whole, headers: changed(whole.headers) },
        changed(changed(whole)),
      ]);
      // `invoke` checks the response, the time limit and the log line. A 500 is allowed, because no gateway would send
      // some of these events.
      const { status } = await service.invoke(event);
      expect(status, 'status').not.toBe(503);
    }),
  );
});
