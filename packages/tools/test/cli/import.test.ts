import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createClient, toJson } from '@lambda-service/client';
import { anyText } from '@lambda-service/testing/any-text';
import { testFolder } from '@lambda-service/testing/programs';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Failed, Operations } from '../../cli/connection.ts';
import { chooseOperation, concurrencyFor, FailedLines, listAdding } from '../../cli/import-file.ts';
import { type Create, ImportEnded, type ImportedLine, importLines, retryWhileSilent } from '../../cli/import-lines.ts';
import { Progress, timeLeft } from '../../cli/progress.ts';

const requestId = 'QcNvjVNaC1t4m14=';
const stored = { ok: true as const, status: 200, headers: new Headers(), requestId, body: { name: 'x' } };

/** Objects that JSON can contain, with any integer and any text, but without fractions that a double would round. */
const objects = fc.dictionary(
  fc.string().filter((name) => name !== '__proto__'),
  fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), anyText, fc.boolean()),
);

const idOf = (plant: object): unknown => Reflect.get(plant, 'id');

/** Imports `content`, which arrives in three parts. @returns the plants passed to `create`, and each line's result */
const importText = async (content: string | Buffer, create: Create = async () => stored, from?: number) => {
  const bytes = Buffer.from(content);
  const [first, second] = [Math.floor(bytes.length / 3), Math.floor(bytes.length / 2)];
  const chunks = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
  const created: object[] = [];
  const lines: ImportedLine[] = [];
  const note: Create = (plant) => {
    created.push(plant);
    return create(plant);
  };
  for await (const line of importLines(Readable.from(chunks), note, 16, from)) lines.push(line);
  return { created, lines };
};

test('an import passes every object to the client exactly as the file has it, whatever line endings the file has', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(objects), fc.constantFrom('\n', '\r\n', '\n\n \n'), async (all, end) => {
      const { created, lines } = await importText(all.map((each) => toJson(each) + end).join(''));
      expect(created).toEqual(all);
      expect(lines).toHaveLength(all.length);
    }),
    { numRuns: 50 },
  );
});

test('an import does not end a line at U+2028 or U+2029, which JSON allows in strings, keeps U+FFFD, and ignores a byte order mark', async () => {
  const { created } = await importText('\ufeff{"id":1,"name":"a\u2028b\u2029c\ufffd"}');
  expect(created).toEqual([{ id: 1n, name: 'a\u2028b\u2029c\ufffd' }]);
});

test.each(['', '\n', '\r\n', '# a comment\n', ' '])('an import ignores byte order marks before %j', async (start) => {
  const { lines, created } = await importText(`\ufeff${start}{"id":1}\n\ufeff${start}{"id":2}\n\ufeff`);
  expect(created).toEqual([{ id: 1n }, { id: 2n }]);
  const [first] = lines;
  expect(first).toMatchObject({ number: start.split('\n').length, end: 12 + start.length });
  expect(String(first?.bytes).trimStart()).toBe('{"id":1}\n');
});

test.each<[what: string, content: Buffer]>([
  ['UTF-16', Buffer.from('\ufeff# ü\n{"id":1}\n', 'utf16le')],
  ['UTF-16 without a byte order mark', Buffer.from('{"id":1}\n', 'utf16le')],
  ['big-endian UTF-16', Buffer.from('\ufeff\n{"id":1}\n', 'utf16le').swap16()],
  ['UTF-32', Buffer.from([0, 0, 0xfe, 0xff, 0, 0, 0, 0x7b])],
  ['compressed', gzipSync('{"id":1}\n')],
])('an import refuses a file that is in %s as a whole', async (_, content) => {
  await expect(importText(content)).rejects.toThrow('The input is not text in UTF-8, but perhaps in UTF-16, or');
});

test('an import returns the lines in the order of the file, each with its number and the byte offset of its end', async () => {
  const late: Create = async (plant) => {
    await new Promise((resolve) => setTimeout(resolve, idOf(plant) === 1n ? 50 : 0));
    return stored;
  };
  const { lines } = await importText('{"id":1,"name":"é"}\n\n{"id":2,"name":"b"}', late);
  expect(lines).toMatchObject([
    { number: 1, end: 21 },
    { number: 3, end: 41 },
  ]);
});

describe('the operation of an import', () => {
  const adding = (id: string, fields: string[], requires: string[] = fields, more: object = {}) => {
    const body = Object.fromEntries(fields.map((name) => [name, 'string']));
    const operation = { method: 'POST', path: '/', parameters: [], body, requires, responses: [], errorCodes: [] };
    return { [id]: { file: id, ...operation, ...more } };
  };
  const parameters = [{ name: 'id', in: 'path', type: 'string', required: true }] as const;
  const others = {
    ...adding('replace', ['id', 'name'], [], { method: 'PUT' }),
    ...adding('move', ['id', 'name'], [], { parameters }),
  };
  const several = { ...adding('addPot', ['id', 'size'], ['id']), ...adding('addTree', ['id', 'name']), ...others };

  test.each<[expected: string, operations: Operations, item: object, named?: string]>([
    ['addTree', { ...adding('addTree', ['id']), ...others }, { colour: 'red' }],
    ['addPot', several, { id: 1 }],
    ['addTree', several, { name: 'oak', id: 1 }],
    ['addTree', several, { id: 1 }, 'addTree'],
    ['addAny', adding('addAny', []), { colour: 'red' }],
  ])(
    'is %s, which is named, the only one, or the one whose body the first item fits',
    (expected, operations, item, named) => {
      const [id] = chooseOperation(listAdding(operations, named), item);
      expect(id).toBe(expected);
    },
  );

  test.each<[sentence: string, operations: Operations, named?: string]>([
    ['The contract has no operation that adds an item.', others],
    ['The first item fits no operation (addPot, addTree): correct it, or name one with --operation.', several],
    [
      'The first item fits several operations (addAny, addRose): name one with --operation.',
      { ...adding('addAny', []), ...adding('addRose', ['colour', 'toString']) },
    ],
    ['An import cannot use the operation move, only those that add an item: addPot, addTree.', several, 'move'],
  ])('is refused with the sentence "%s"', (sentence, operations, named) => {
    const choose = () => chooseOperation(listAdding(operations, named), { colour: 'red', toString: '' });
    expect(choose).toThrow(new Error(sentence));
  });
});

test.each([
  [4, {}],
  [16, { url: 'https://host.example' }],
  [16, { stack: 'PlantStore' }],
])('an import sends %s items at the same time to %j', async (expected, target) => {
  const file = Readable.from([Buffer.from('{}\n'.repeat(40))]);
  let [running, most] = [0, 0];
  const create: Create = async () => {
    most = Math.max(most, ++running);
    await nextTurn();
    running -= 1;
    return stored;
  };
  for await (const { outcome } of importLines(file, create, concurrencyFor(target))) expect(outcome).toBe('new');
  expect(most).toBe(expected);
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

test.each([
  ['-9007199254740993', -9007199254740993n],
  ['2.5', 2.5],
  ['2.5e-3', 0.0025],
  ['12.0', 12],
  ['-1.20E+1', -12],
  ['1e3', 1000],
  ['1e20', 1e20],
  ['1e23', 1e23],
  ['9007199254740992.0', 2 ** 53],
  ['0.0e-999', 0],
  ['0.1e-6', 1e-7],
])('an import reads %s without losing a digit, an integer as a bigint, at any depth', async (number, value) => {
  const { created } = await importText(`{"price":${number},"tag":[{"":${number}}]}`);
  expect(created).toEqual([{ price: value, tag: [{ '': value }] }]);
});

const digitsOnly = (number: string): string => `the number ${number} would be rounded: write an integer in digits only`;

test.each([
  ['has no closing brace', '{"id":1', 'the line is not JSON in UTF-8'],
  ['is not in UTF-8', Buffer.from('{"id":1,"name":"\xe9"}', 'latin1'), 'the line is not JSON in UTF-8'],
  ['has 20,000 nested lists', `{"id":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 'Maximum call stack size exceeded'],
  ['is a list', '[{"id":1}]', 'the line is JSON, but not an object'],
  ['has the number 9007199254740991.4', '{"id":9007199254740991.4}', digitsOnly('9007199254740991.4')],
  ['has the number 9007199254740993.0', '{"id":9007199254740993.0}', digitsOnly('9007199254740993.0')],
  ['has the number 12345678901234567890e1', '{"id":12345678901234567890e1}', digitsOnly('12345678901234567890e1')],
  ['has the number 1e400', '{"id":1e400}', digitsOnly('1e400')],
  ['has the number 1e-400', '{"id":1e-400}', digitsOnly('1e-400')],
])('an import does not send a line that %s', async (_, content, message) => {
  const { created, lines } = await importText(content);
  expect(created).toEqual([]);
  expect(lines).toMatchObject([{ number: 1, failure: { error: 'not sent', message } }]);
});

test('an import reports a line whose plant the client refuses to send, and goes on with the next line', async () => {
  const operation = { method: 'POST', path: '/', parameters: [], body: { id: 'int64' }, responses: [], errorCodes: [] };
  const { call } = createClient({ call: operation }, { baseUrl: 'http://127.0.0.1:9', token: 'a.b.c' });
  const create: Create = async (plant) => (idOf(plant) === 1n ? stored : call(plant));
  const { lines } = await importText('{"id":2.5}\n{"id":1}', create);
  const message = expect.stringMatching(/^id is the number 2\.5, which is not an integer/);
  expect(lines).toMatchObject([{ failure: { error: 'not sent', message } }, { number: 2, outcome: 'new' }]);
});

test('an import reads a line of exactly 1 MiB, and rejects a file with a longer line', async () => {
  const { lines } = await importText(`${'x'.repeat(1_048_576)}\n`);
  expect(lines).toMatchObject([{ number: 1, failure: { message: 'the line is not JSON in UTF-8' } }]);
  const longer = '\n'.concat('x'.repeat(1_048_577));
  for (const end of ['', '\n\n']) await expect(importText(longer + end)).rejects.toThrow('Line 2 is over 1 MiB');
});

test.each<[Failed]>([
  [{ ok: false, error: 40901, status: 409, requestId, message: 'taken' }],
  [{ ok: false, error: 'gateway', status: 413, requestId, message: 'Request Too Long' }],
  [{ ok: false, error: 'gateway', status: 503, requestId, message: 'Service Unavailable' }],
])('an import goes on after a failure that concerns only one line: %j', async (result) => {
  const { lines } = await importText('{"id":1}\n{"id":2}', async (plant) => (idOf(plant) === 1n ? result : stored));
  const { error, message } = result;
  const failed = { outcome: 'failed', failure: { error, message, requestId } };
  expect(lines).toMatchObject([failed, { number: 2, outcome: 'new' }]);
});

test.each<[Failed]>([
  [{ ok: false, error: 'no answer', message: 'gone', cause: undefined }],
  [{ ok: false, error: 'token refused', status: 403, requestId, message: 'Forbidden' }],
  [{ ok: false, error: 'gateway', status: 404, requestId, message: 'Not Found' }],
])('an import stops at a failure that all remaining lines would have as well: %j', async (result) => {
  await expect(importText('{"id":1}\n'.repeat(40), async () => result)).rejects.toThrow(ImportEnded);
});

test('an import stops at an error of the client that is not about the item', async () => {
  const create = () => Promise.reject(new TypeError('a bad token'));
  await expect(importText('{"id":1}', create)).rejects.toThrow('a bad token');
});

describe('an import whose service stops answering', () => {
  const silent: Failed = { ok: false, error: 'no answer', message: 'gone', cause: undefined };
  const retryDelay = 0;

  /** Imports 40 lines. The service answers the first call, then is silent for `calls` calls, then answers again. */
  const importWhile = (calls: number, giveUpAfter: number) => {
    const said: string[] = [];
    let call = 0;
    const send: Create = async () => {
      call += 1;
      return call > 1 && call <= 1 + calls ? silent : stored;
    };
    const create = retryWhileSilent(send, (line) => said.push(line), { giveUpAfter, retryDelay });
    return { said, imported: importText('{"id":1}\n'.repeat(40), create) };
  };

  test('waits until the service answers again, says so once, and loses no line', async () => {
    const { said, imported } = importWhile(100, 60_000);
    expect((await imported).lines.map(({ outcome }) => outcome)).toEqual(Array(40).fill('new'));
    expect(said).toEqual(['The service does not answer (gone). Waiting for up to a minute ...']);
  });

  test('counts a plant that is already there as stored, because a lost attempt may have stored it', async () => {
    const replayed = { ...stored, headers: new Headers({ 'idempotent-replayed': 'true' }) };
    const answers: Awaited<ReturnType<Create>>[] = [replayed, silent, replayed, { ...replayed, attempts: 2 }];
    const create = retryWhileSilent(
      async () => answers.shift() ?? stored,
      () => {},
      { retryDelay },
    );
    const { lines } = await importText('{"id":1}', create);
    for (const _ of [2, 3]) lines.push(...(await importText('{"id":1}', create)).lines);
    expect(lines.map(({ outcome }) => outcome)).toEqual(['already there', 'stored', 'stored']);
  });

  test('ends if the service is silent for too long', async () => {
    await expect(importWhile(Number.POSITIVE_INFINITY, -1).imported).rejects.toThrow(ImportEnded);
  });

  test('ends at once if the service has never answered', async () => {
    const create = retryWhileSilent(async () => silent, expect.unreachable, { giveUpAfter: 60_000, retryDelay });
    await expect(importText('{"id":1}', create)).rejects.toThrow(ImportEnded);
  });
});

test.each<[seconds: unknown, text: string]>([
  // cli-progress passes text until it knows the time.
  ['0', ''],
  ['INF', ''],
  [0, '0s left, '],
  [9, '9s left, '],
  [58, '1m left, '],
  [119, '2m left, '],
  [124, '2m5s left, '],
  [3_599, '1h left, '],
  [5_431, '1h31m left, '],
])('the time left, if it is %j seconds, is shown as %j', (seconds, text) => {
  expect(timeLeft(seconds)).toBe(text);
});

describe('without a terminal, the progress of a command', () => {
  afterEach(() => void vi.useRealTimers());

  test('is a line every ten seconds, with the rate of the last seconds, until the command ends', () => {
    vi.useFakeTimers();
    const output = new PassThrough();
    const progress = new Progress({ new: 0, failed: 0 }, 0, output);
    for (const perSecond of [100, 20]) {
      for (let second = 0; second < 20; second += 1) {
        for (let done = 0; done < perSecond; done += 1) progress.add('new', 0);
        vi.advanceTimersByTime(1_000);
      }
    }
    progress.stop();
    vi.advanceTimersByTime(60_000);
    expect(String(output.read()).split('\n')).toEqual([
      '1000 new, 0 failed (100/s)',
      '2000 new, 0 failed (100/s)',
      '2200 new, 0 failed (20/s)',
      '2400 new, 0 failed (20/s)',
      '',
    ]);
  });
});

const failedLine = (number: number) => {
  const failure = { error: 40901, message: 'vergeben für immer' };
  return { source: 'plants.ndjson', number, bytes: Buffer.from('Jürgen\n'), failure };
};
const texts = (...numbers: number[]) =>
  numbers.map((number) => `# plants.ndjson:${number} (40901): vergeben für immer\nJürgen\n`).join('');

/** Starts an import whose file of failed lines already contains lines of an earlier import. */
const importAgain = async (earlier = texts(1, 2)) => {
  const folder = await testFolder();
  const file = path.join(folder, 'failed.ndjson');
  if (earlier !== '') await writeFile(file, earlier);
  return { file, folder, failures: await FailedLines.in(file) };
};

test.each<[what: string, make: (file: string, target: string) => unknown]>([
  ['a link to nothing', (file, target) => symlink(target, file)],
  ['a link to failed lines', (file, target) => symlink(target, file).then(() => writeFile(target, texts(1)))],
  ['a folder', (file) => mkdir(file)],
])('no import makes %s, so none adds a line to it, even if it appears during the import', async (_, make) => {
  const { file, folder, failures } = await importAgain('');
  const target = path.join(folder, 'target');
  await make(file, target);
  const before = await readFile(target, 'utf8').catch(() => 'missing');
  await expect(failures.add(failedLine(2))).rejects.toThrow(/^(?:ELOOP|EISDIR)/);
  expect(await readFile(target, 'utf8').catch(() => 'missing')).toBe(before);
  expect((await FailedLines.in(file)).isForeign).toBe(true);
});

test('an import loses no line that it adds, even if somebody has replaced the file of failed lines since the import began', async () => {
  const { file, failures } = await importAgain();
  await writeFile(file, texts(7, 8, 9));
  await failures.add(failedLine(3));
  await failures.remove(failures.earlier);
  expect(await readFile(file, 'utf8')).toBe(texts(7, 8, 9, 3));
});

test.each<[source: string, message: string, requestId: string | undefined, comment: string]>([
  ['x', '<html>\r\n  Bad Gateway', 'QcNvjVNaC1t4m14=', '# x:2 (40901): <html> Bad Gateway [request QcNvjVNaC1t4m14=]'],
  ['x\n{"id":7}\n', 'taken', undefined, '# x\\n{"id":7}\\n:2 (40901): taken'],
  ['\u001b[2J', 'taken\u001b[2J', undefined, '# \\u001b[2J:2 (40901): taken\\u001b[2J'],
  ['\u007f'.repeat(240), 'taken', undefined, `# ${'\\u007f'.repeat(240)}:2 (40901): taken`],
  ['x', 'y'.repeat(2_000_000), undefined, `# x:2 (40901): ${'y'.repeat(1_000)}`],
])('a failed line is kept below a short, printable comment: %j', async (source, message, requestId, comment) => {
  const { file, failures } = await importAgain('');
  const bytes = Buffer.from('{"name":"\xe9"}', 'latin1');
  await failures.add({ source, number: 2, bytes, failure: { error: 40901, message, requestId } });
  expect(await readFile(file)).toEqual(Buffer.concat([Buffer.from(`${comment}\n`), bytes, Buffer.from('\n')]));
  expect((await FailedLines.in(file)).isForeign).toBe(false);
});
