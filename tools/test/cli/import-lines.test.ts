import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPlantStoreClient, type NewPlant, type Result } from '../../../packages/client/plant-store-client.ts';
import { plants, toJson } from '../../../test/kit/plants-store.ts';
import { type Create, ImportEnded, type ImportedLine, importLines } from '../../cli/import-lines.ts';

const requestId = 'QcNvjVNaC1t4m14=';
const stored: Result<'createPlant'> = { ok: true, status: 200, headers: new Headers(), requestId, body: { name: 'x' } };

/** Imports `content`, which arrives in three parts. @returns the plants passed to `create`, and each line's result */
const importText = async (content: string | Buffer, create: Create = async () => stored, from?: number) => {
  const bytes = Buffer.from(content);
  const [first, second] = [Math.floor(bytes.length / 3), Math.floor(bytes.length / 2)];
  const chunks = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
  const created: NewPlant[] = [];
  const lines: ImportedLine[] = [];
  const note: Create = (plant) => {
    created.push(plant);
    return create(plant);
  };
  for await (const line of importLines(Readable.from(chunks), note, from)) lines.push(line);
  return { created, lines };
};

test('an import passes every plant to the client exactly as the file has it, whatever line endings the file has', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(plants), fc.constantFrom('\n', '\r\n', '\n\n \n'), async (all, end) => {
      const { created } = await importText(all.map((plant) => toJson(plant) + end).join(''));
      expect(created).toEqual(all);
    }),
    { numRuns: 50 },
  );
});

test('an import does not end a line at U+2028 or U+2029, which JSON allows in strings, keeps U+FFFD, and ignores a byte order mark', async () => {
  const { created } = await importText('\ufeff{"id":1,"name":"a\u2028b\u2029c\ufffd"}');
  expect(created).toEqual([{ id: 1n, name: 'a\u2028b\u2029c\ufffd' }]);
});

test('an import reads integers as bigints, and fractions as doubles', async () => {
  const { created } = await importText('{"name":{"id":2.5},"id":-9007199254740993,"tag":[{"age":3}]}\n{"":2.5e-3}');
  expect(created).toEqual([{ name: { id: 2.5 }, id: -9007199254740993n, tag: [{ age: 3n }] }, { '': 0.0025 }]);
});

test('an import returns the lines in the order of the file, each with its number and the byte offset of its end', async () => {
  const late: Create = async ({ id }) => {
    await new Promise((resolve) => setTimeout(resolve, id === 1n ? 50 : 0));
    return stored;
  };
  const { lines } = await importText('{"id":1,"name":"é"}\n\n{"id":2,"name":"b"}', late);
  expect(lines).toMatchObject([
    { number: 1, end: 21 },
    { number: 3, end: 41 },
  ]);
});

test('an import skips comments, which begin with #, and all lines before the given first line', async () => {
  const content = '# {"id":0}\n{"id":1}\n  # {"id":2}\n\n{"id":3,"name":"#"}\n{"id":4}\n';
  const { created } = await importText(content);
  expect(created).toEqual([{ id: 1n }, { id: 3n, name: '#' }, { id: 4n }]);
  const { lines } = await importText(content, undefined, 5);
  expect(lines.map(({ number, end }) => ({ number, end }))).toEqual([
    { number: 5, end: 54 },
    { number: 6, end: 63 },
  ]);
});

const digitsOnly = (number: string): string => `the number ${number} may be rounded: write an integer in digits only`;

test.each([
  ['has no closing brace', '{"id":1', 'the line is not JSON in UTF-8'],
  ['is not in UTF-8', Buffer.from('{"id":1,"name":"\xe9"}', 'latin1'), 'the line is not JSON in UTF-8'],
  ['has 20,000 nested lists', `{"id":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 'Maximum call stack size exceeded'],
  ['is a list', '[{"id":1}]', 'the line is JSON, but not an object'],
  ['has the number 9007199254740991.4', '{"id":9007199254740991.4}', digitsOnly('9007199254740991.4')],
  ['has the number 1e400', '{"id":1e400}', digitsOnly('1e400')],
])('an import does not send a line that %s', async (_, content, message) => {
  const { created, lines } = await importText(content);
  expect(created).toEqual([]);
  expect(lines).toMatchObject([{ number: 1, failure: { error: 'not sent', message } }]);
});

test('an import reports a line whose plant the client refuses to send, and goes on with the next line', async () => {
  const client = createPlantStoreClient({ baseUrl: 'http://127.0.0.1:9', token: 'a.b.c' });
  const create: Create = async (plant) => (plant.name === 'Moss' ? stored : client.createPlant(plant));
  const { lines } = await importText('{"id":2.5,"name":"x"}\n{"id":1,"name":"Moss"}', create);
  const message = expect.stringMatching(/^id is the number 2\.5, which is not an integer/);
  expect(lines).toMatchObject([{ failure: { error: 'not sent', message } }, { number: 2, outcome: 'new' }]);
});

test('an import reads a line of exactly 1 MiB, and rejects a file with a longer line', async () => {
  const { lines } = await importText(`${'x'.repeat(1_048_576)}\n`);
  expect(lines).toMatchObject([{ number: 1, failure: { message: 'the line is not JSON in UTF-8' } }]);
  const longer = '\n'.concat('x'.repeat(1_048_577));
  for (const end of ['', '\n\n']) await expect(importText(longer + end)).rejects.toThrow('Line 2 is over 1 MiB');
});

type Failed = Result<'createPlant'> & { ok: false };

test.each<[Failed]>([
  [{ ok: false, error: 40901, status: 409, requestId, message: 'taken' }],
  [{ ok: false, error: 'gateway', status: 503, requestId, message: 'Service Unavailable' }],
])('an import goes on after a failure that concerns only one line: %j', async (result) => {
  const { lines } = await importText('{"id":1}\n{"id":2}', async ({ id }) => (id === 1n ? result : stored));
  const { error, message } = result;
  const failed = { outcome: 'failed', failure: { error, message, requestId } };
  expect(lines).toMatchObject([failed, { number: 2, outcome: 'new' }]);
});

test.each<[Failed]>([
  [{ ok: false, error: 'no answer', message: 'gone', cause: undefined }],
  [{ ok: false, error: 'gateway', status: 403, requestId, message: 'Forbidden' }],
])('an import stops at a failure that all remaining lines would have as well: %j', async (result) => {
  await expect(importText('{"id":1}\n'.repeat(40), async () => result)).rejects.toThrow(ImportEnded);
});
