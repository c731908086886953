/** Plants of a file, one JSON text a line (NDJSON), on their way to the service. */
import { createReadStream } from 'node:fs';
import { pMapIterable } from 'p-map';
import type { CreatePlantResult, NewPlant } from '../client/plant-store-client.ts';

/** What became of a line. `number` counts from 1, `end` is where the line ends in the file, in bytes. */
export type ImportedLine = { number: number; end: number; text: string; failure?: Failure };

/** `error` is the number of the service's error, `gateway`, or `not sent` where the line cannot hold a plant. */
export type Failure = { error: number | string; message: string };

type Line = { number: number; end: number; bytes: Buffer };

export type Create = (plant: NewPlant) => Promise<CreatePlantResult>;

/** Requests under way at a time: well under what a deployment takes in a second. */
const concurrency = 16;

/** Lines that may be done before one that takes long, for the lines to come in their order. */
const backpressure = 256;

/** The largest body that the service takes. */
const maxLineBytes = 1024 * 1024;

const [newline, space] = [0x0a, 0x20];

/** Answers of the gateway that are about one request; any other would meet every line. */
const passing = new Set([413, 429, 500, 502, 503, 504]);

/** Ends an import: the cause is none that another line would not meet. */
export class ImportEnded extends Error {
  override readonly name = 'ImportEnded';
  readonly result: CreatePlantResult & { ok: false };

  constructor(result: CreatePlantResult & { ok: false }) {
    super(result.message);
    this.result = result;
  }
}

/**
 * Creates the plants of a file, some at a time, and yields its lines in their order, blank ones left out.
 * @throws ImportEnded where no answer comes, or one that says that no line will fare better
 * @throws Error of the file system, and whatever `create` throws
 */
export const importLines = (file: string, create: Create): AsyncIterable<ImportedLine> =>
  pMapIterable(
    readLines(file),
    async ({ number, end, bytes }) => {
      const text = bytes.toString().trim();
      const plant = readPlant(bytes);
      if (typeof plant === 'string') return { number, end, text, failure: { error: 'not sent', message: plant } };
      const result = await create(plant);
      if (result.ok) return { number, end, text };
      const { error, message } = result;
      if (error === 'no answer' || (error === 'gateway' && !passing.has(result.status))) throw new ImportEnded(result);
      return { number, end, text, failure: { error, message } };
    },
    { concurrency, backpressure },
  );

/** Not node:readline: it ends a line at U+2028 too, which JSON text may hold, and makes U+FFFD of what is no UTF-8. */
async function* readLines(file: string): AsyncGenerator<Line> {
  let rest = Buffer.alloc(0);
  let number = 0;
  let end = 0;
  const linesOf = (bytes: Buffer): Line[] => {
    number += 1;
    end += bytes.length;
    if (bytes.length > maxLineBytes + 1) throw tooLong(number);
    return bytes.some((byte) => byte > space) ? [{ number, end, bytes }] : [];
  };
  for await (const chunk of createReadStream(file)) {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    let start = 0;
    for (let next = bytes.indexOf(newline); next !== -1; next = bytes.indexOf(newline, start)) {
      yield* linesOf(bytes.subarray(start, next + 1));
      start = next + 1;
    }
    rest = bytes.subarray(start);
    if (rest.length > maxLineBytes) throw tooLong(number + 1);
  }
  yield* linesOf(rest);
}

const tooLong = (number: number): Error =>
  new Error(`Line ${number} is over 1 MiB, more than a plant may have: break it, or take it out.`);

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * What the client needs of a line; all else is for the service to judge.
 * @returns why not, where there is none
 */
const readPlant = (bytes: Buffer): NewPlant | string => {
  let value: unknown;
  try {
    value = parseExact(utf8.decode(bytes));
  } catch {
    return 'the line is not JSON in UTF-8';
  }
  if (!(value instanceof Object) || Array.isArray(value)) return 'the line is JSON, but no object';
  if ('id' in value && typeof value.id === 'number') return 'id must be an integer in digits alone';
  return value as NewPlant;
};

/** As JSON.parse, but the `id` of the plant itself is a bigint if it is written in digits: a double would round it. */
const parseExact = (text: string): unknown => {
  const ids = new Map<unknown, string>();
  const plant: unknown = JSON.parse(
    text,
    function (this: unknown, key, value: unknown, { source = '' }: { source?: string } = {}) {
      if (key === 'id' && typeof value === 'number') ids.set(this, source);
      return value;
    },
  );
  const digits = ids.get(plant) ?? '';
  return plant instanceof Object && /^-?\d+$/.test(digits) ? { ...plant, id: BigInt(digits) } : plant;
};
