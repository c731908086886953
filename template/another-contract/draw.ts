/** Draws the fields of a contract at random: their names, their types, and which of them a body may leave out. */

/** `values` are two values that differ, for the contract's examples, and for the checks of the smoke test. */
export type Field = { name: string; isRequired: boolean; schema: object; values: [unknown, unknown] };

/** How the smoke test makes a random key, in TypeScript, and what to import for it. */
export type KeyCode = { random: string; imported: string };

/** `repeatsKey` tells whether a response has the key, too. `added` is the field that only a response has, if any. */
export type Drawn = {
  key: Field & { code?: KeyCode };
  fields: Field[];
  repeatsKey: boolean;
  added: string | undefined;
};

type Random = () => number;

/** A small random generator (mulberry32): the same seed gives the same contract on every machine. */
export const randomOf = (seed: number): Random => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    const mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    const more = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((more ^ (more >>> 14)) >>> 0) / 2 ** 32;
  };
};

const uuids = { random: 'randomUUID()', imported: 'randomUUID' };

/** Without `code`, the smoke test's keys of plants fit. */
const keys: Pick<Drawn['key'], 'schema' | 'values' | 'code'>[] = [
  { schema: { type: 'integer', format: 'int64' }, values: [7, 9] },
  { schema: { type: 'integer', format: 'int64', minimum: 1 }, values: [1, 9] },
  {
    schema: { type: 'integer', format: 'int32', minimum: 0 },
    values: [7, 0],
    code: { random: 'randomInt(8, 2 ** 31)', imported: 'randomInt' },
  },
  { schema: { type: 'string', minLength: 1, maxLength: 512 }, values: ['a 1', 'ü/2'], code: uuids },
  {
    schema: { type: 'string', minLength: 1, maxLength: 8 },
    values: ['a 1', 'ü/2'],
    code: { random: `randomBytes(4).toString('hex')`, imported: 'randomBytes' },
  },
  {
    schema: { type: 'string', pattern: '^[A-Z]{3}-[0-9]{4}$' },
    values: ['ABC-0001', 'XYZ-9999'],
    code: {
      random: `\`\${String.fromCharCode(...Array.from({ length: 3 }, () => randomInt(65, 91)))}-\${randomInt(1_000, 10_000)}\``,
      imported: 'randomInt',
    },
  },
  {
    schema: { type: 'string', pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', maxLength: 40 },
    values: ['a-1', 'b'],
    code: uuids,
  },
  {
    schema: { type: 'string', format: 'uuid' },
    values: ['7f1c5a52-6d3b-4f0e-9d2a-1c9d1d3c0a01', '00000000-0000-4000-8000-000000000000'],
    code: uuids,
  },
];

/** Objects in a body must be closed: createPlant would store fields that the contract does not define. */
const closed = (properties: Record<string, object>, required: string[]) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});

const line = closed(
  { items: { type: 'string' }, count: { type: 'integer', minimum: 1, maximum: 99 }, price: { type: 'number' } },
  ['items', 'count'],
);
const place = closed({ street: { type: 'string' }, properties: { type: ['string', 'null'] } }, ['street']);

const kinds: Pick<Field, 'schema' | 'values'>[] = [
  { schema: { type: 'string' }, values: ['Löwenzahn 🌱', ''] },
  { schema: { type: 'string', enum: ['open', 'paid', 'sent'] }, values: ['open', 'sent'] },
  { schema: { type: 'string', format: 'date-time' }, values: ['2026-11-24T12:00:00Z', '1999-12-31T23:59:59.5+01:00'] },
  { schema: { type: 'string', minLength: 2, maxLength: 8 }, values: ['AT', 'DE-12345'] },
  { schema: { type: ['string', 'null'] }, values: [null, 'a note'] },
  { schema: { type: 'integer', format: 'int32' }, values: [-1, 2 ** 31 - 1] },
  { schema: { type: 'integer', format: 'int64' }, values: [0, 4_000_000_000] },
  { schema: { type: 'number', minimum: 0, maximum: 100 }, values: [12.5, 0.1] },
  { schema: { type: ['number', 'null'] }, values: [1e20, null] },
  { schema: { type: 'boolean' }, values: [false, true] },
  { schema: { type: 'array', items: { type: 'string' } }, values: [['green', ''], []] },
  {
    schema: { type: 'array', minItems: 1, items: line },
    values: [[{ items: 'A-1', count: 2, price: 0.5 }], [{ items: 'B', count: 1 }]],
  },
  {
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    values: [{ constructor: 'x', S: '' }, {}],
  },
  { schema: place, values: [{ street: 'Ring 1', properties: null }, { street: '' }] },
];

const names =
  'items properties type status note best-before shipTo count price default class required enum format values key name tag total of error message body more content text secret height outcome store item log'.split(
    ' ',
  );

/** Draws a contract with three to seven fields besides the key. At least one of them is required. */
export const draw = (random: Random): Drawn => {
  const pick = <T>(from: T[]): T => from.splice(Math.floor(random() * from.length), 1)[0] as T;
  const [unused, kindsLeft] = [[...names], [...kinds]];
  const key = { name: random() < 0.5 ? 'id' : pick(unused), isRequired: true, ...pick([...keys]) };
  const fields = Array.from({ length: 3 + Math.floor(random() * 5) }, (_, index) => ({
    name: pick(unused),
    isRequired: index === 0 || random() < 0.5,
    ...pick(kindsLeft),
  }));
  return { key, fields, repeatsKey: random() < 0.5, added: random() < 0.5 ? pick(unused) : undefined };
};
