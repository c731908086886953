import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/local-service.ts';
import { FailedLines } from '../../cli/failed-lines.ts';

const failedLine = (number: number) => {
  const failure = { error: 40901, message: 'vergeben für immer' };
  return { source: 'plants.ndjson', number, bytes: Buffer.from('Löwenzahn\n'), failure };
};
const texts = (...numbers: number[]) =>
  numbers.map((number) => `# plants.ndjson:${number} (40901): vergeben für immer\nLöwenzahn\n`).join('');

/** Starts an import whose file of failed lines already contains lines of an earlier import. */
const importAgain = async (earlier: string | Buffer = texts(1, 2)) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const file = path.join(folder, 'failed.ndjson');
  if (earlier !== '') await writeFile(file, earlier);
  return { file, folder, failures: await FailedLines.in(file) };
};

test('the file of failed lines keeps the lines of an earlier import above the new lines, until FailedLines.remove is called, which keeps its permissions', async () => {
  const { file, folder, failures } = await importAgain();
  await chmod(file, 0o600);
  await failures.add(failedLine(3));
  await failures.add(failedLine(4));
  expect(await readFile(file, 'utf8')).toBe(texts(1, 2, 3, 4));
  await failures.remove(failures.earlier);
  expect(await readFile(file, 'utf8')).toBe(texts(3, 4));
  expect((await stat(file)).mode & 0o777, 'permissions').toBe(0o600);
  expect(await readdir(folder)).toEqual(['failed.ndjson']);
});

test.each<[what: string, make: (file: string, target: string) => unknown]>([
  ['a link to nothing', (file, target) => symlink(target, file)],
  ['a link to failed lines', (file, target) => symlink(target, file).then(() => writeFile(target, texts(1)))],
  ['a folder', (file) => mkdir(file)],
  ['a pipe', (file) => execFileSync('mkfifo', [file])],
])('no import makes %s, so none adds a line to it, even if it appears during the import', async (_, make) => {
  const { file, folder, failures } = await importAgain('');
  const target = path.join(folder, 'target');
  await make(file, target);
  const before = await readFile(target, 'utf8').catch(() => 'missing');
  await expect(failures.add(failedLine(2))).rejects.toThrow('which no import has made: move that file away.');
  expect(await readFile(target, 'utf8').catch(() => 'missing')).toBe(before);
  expect((await FailedLines.in(file)).isForeign).toBe(true);
});

test.each([texts(1, 2), ''])(
  'FailedLines.remove leaves no file of failed lines if it removes all lines of earlier imports and no line has failed in this one; content before: %j',
  async (earlier) => {
    const { folder, failures } = await importAgain(earlier);
    await failures.remove(failures.earlier);
    expect(await readdir(folder)).toEqual([]);
  },
);

test('an import refuses to begin if the file of failed lines has a line over 1 MiB, and names that file', async () => {
  const { file, failures } = await importAgain(`${texts(1)}${'x'.repeat(1_100_000)}\n`);
  await expect(failures.skipPresent()).rejects.toThrow(`${file}: Line 3 is over 1 MiB`);
});

test('a failed line is not added to the file of failed lines if the file already contains it, but is added if somebody deletes the file during the import', async () => {
  const earlier = Buffer.from('# plants.ndjson:1 (40901): taken\n{"name":"\xe9"}\n', 'latin1');
  const { file, failures } = await importAgain(earlier);
  await failures.skipPresent();
  await failures.add({ ...failedLine(2), bytes: Buffer.from('{"name":"\xe9"}', 'latin1') });
  expect(await readFile(file)).toEqual(earlier);
  await failures.add(failedLine(3));
  expect(await readFile(file)).toEqual(Buffer.concat([earlier, Buffer.from(texts(3))]));
  await rm(file);
  await failures.add({ ...failedLine(2), bytes: Buffer.from('{"name":"\xe9"}', 'latin1') });
  expect(await readFile(file, 'latin1'), 'after the user deleted it').toContain('{"name":"\xe9"}\n');
});

test.each<[present: string, line: string, isAdded: boolean]>([
  ['no JSON\rmore\n', 'no JSON\n', true],
  ['no JSON\r\n', 'no JSON\n', false],
  ['no JSON\n', 'no JSON\r\r\n', true],
])(
  'if the file of failed lines has the line %j, whether the failed line %j is added to it: %j',
  async (present, line, isAdded) => {
    const earlier = `# plants.ndjson:1 (not sent): no\n${present}`;
    const { file, failures } = await importAgain(earlier);
    await failures.skipPresent();
    await failures.add({ ...failedLine(2), bytes: Buffer.from(line) });
    expect((await readFile(file, 'utf8')) !== earlier).toBe(isAdded);
  },
);

test('an import throws an error if the file of failed lines cannot be read', async () => {
  const { file } = await importAgain();
  await expect(FailedLines.in(path.join(file, 'failed.ndjson'))).rejects.toThrow('ENOTDIR');
});

test('an import loses no line that it adds, even if somebody has replaced the file of failed lines since the import began', async () => {
  const { file, failures } = await importAgain();
  await writeFile(file, texts(7, 8, 9));
  await failures.add(failedLine(3));
  await failures.remove(failures.earlier);
  expect(await readFile(file, 'utf8')).toBe(texts(7, 8, 9, 3));
});

test('the file of failed lines has the reason and the request id above each failed line, and the line itself byte for byte', async () => {
  const { file, failures } = await importAgain('');
  const bytes = Buffer.from('{"name":"\xe9"}', 'latin1');
  const failure = { error: 'gateway', message: '<html>\r\n  Bad Gateway', requestId: 'QcNvjVNaC1t4m14=' };
  await failures.add({ source: 'stdin', number: 7, bytes, failure });
  const head = '# stdin:7 (gateway): <html> Bad Gateway [request QcNvjVNaC1t4m14=]\n';
  expect(await readFile(file)).toEqual(Buffer.concat([Buffer.from(head), bytes, Buffer.from('\n')]));
});

test.each<[source: string, message: string, comment: string]>([
  ['x\n{"id":7}\n', 'taken', '# x\\n{"id":7}\\n:2 (40901): taken'],
  ['\u001b[2J\r', 'taken\u001b[2J\r\n now', '# \\u001b[2J\\u000d:2 (40901): taken\\u001b[2J now'],
  ['\u007f'.repeat(240), 'taken', `# ${'\\u007f'.repeat(240)}:2 (40901): taken`],
  ['x', 'y'.repeat(2_000_000), `# x:2 (40901): ${'y'.repeat(1_000)}`],
])(
  'the comment above a failed line is one line without control characters, and shorter than 1 MiB, whatever the name of the imported file (%j) and the message of the server are',
  async (source, message, comment) => {
    const { file, failures } = await importAgain('');
    await failures.add({ ...failedLine(2), source, failure: { error: 40901, message } });
    expect(await readFile(file, 'utf8')).toBe(`${comment}\nLöwenzahn\n`);
    expect((await FailedLines.in(file)).isForeign).toBe(false);
  },
);

test('a failed line is added to the file of failed lines below the last line, even if the user saved the file without a final line break', async () => {
  const { file, failures } = await importAgain(texts(1, 2).trimEnd());
  await failures.add(failedLine(3));
  expect(await readFile(file, 'utf8')).toBe(texts(1, 2, 3));
  await failures.remove(Buffer.byteLength(texts(1)));
  expect(await readFile(file, 'utf8'), 'after the first line is removed').toBe(texts(2, 3));
  expect((await FailedLines.in(file)).isForeign).toBe(false);
});

test.each([
  [false, ''],
  [false, texts(1)],
  [true, '{"id":7,"name":"Moss"}\n'],
  [true, '# my plants\n{"id":7,"name":"Moss"}\n'],
])(
  'isForeign (whether a user, not an import, wrote this .failed.ndjson file) is %j for a file with the content %j',
  async (isForeign, content) => {
    expect((await importAgain(content)).failures.isForeign).toBe(isForeign);
  },
);
