import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/local-service.ts';
import { FailedLines } from '../../cli/import-plants.ts';

const failedLine = (number: number) => {
  const failure = { error: 40901, message: 'vergeben für immer' };
  return { source: 'plants.ndjson', number, bytes: Buffer.from('Löwenzahn\n'), failure };
};
const texts = (...numbers: number[]) =>
  numbers.map((number) => `# plants.ndjson:${number} (40901): vergeben für immer\nLöwenzahn\n`).join('');

/** Starts an import whose file of failed lines already contains lines of an earlier import. */
const importAgain = async (earlier = texts(1, 2)) => {
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
])('no import makes %s, so none adds a line to it, even if it appears during the import', async (_, make) => {
  const { file, folder, failures } = await importAgain('');
  const target = path.join(folder, 'target');
  await make(file, target);
  const before = await readFile(target, 'utf8').catch(() => 'missing');
  await expect(failures.add(failedLine(2))).rejects.toThrow(/^(?:ELOOP|EISDIR)/);
  expect(await readFile(target, 'utf8').catch(() => 'missing')).toBe(before);
  expect((await FailedLines.in(file)).isForeign).toBe(true);
});

test('no file remains if every line of an earlier import is removed and none has failed', async () => {
  const { folder, failures } = await importAgain();
  await failures.remove(failures.earlier);
  expect(await readdir(folder)).toEqual([]);
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
])(
  'above a failed line, which is kept byte for byte, stands a short line without control characters: %j',
  async (source, message, requestId, comment) => {
    const { file, failures } = await importAgain('');
    const bytes = Buffer.from('{"name":"\xe9"}', 'latin1');
    await failures.add({ source, number: 2, bytes, failure: { error: 40901, message, requestId } });
    expect(await readFile(file)).toEqual(Buffer.concat([Buffer.from(`${comment}\n`), bytes, Buffer.from('\n')]));
    expect((await FailedLines.in(file)).isForeign).toBe(false);
  },
);

test('a failed line is added to the file of failed lines below the last line, even if the user saved the file without a final line break', async () => {
  const { file, failures } = await importAgain(texts(1, 2).trimEnd());
  await failures.add(failedLine(3));
  expect(await readFile(file, 'utf8')).toBe(texts(1, 2, 3));
  await failures.remove(Buffer.byteLength(texts(1)));
  expect(await readFile(file, 'utf8'), 'after the first line is removed').toBe(texts(2, 3));
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
