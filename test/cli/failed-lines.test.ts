import { chmod, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FailedLines } from '../../cli/failed-lines.ts';
import { temporaryFolder } from '../kit/local-service.ts';

const failedLine = (line: number) => ({ line, error: 40901, message: 'taken', text: 'Löwenzahn' });
const texts = (...lines: number[]) => lines.map((line) => `${JSON.stringify(failedLine(line))}\n`).join('');

/** Starts an import whose file has the failed lines of an earlier one. */
const importAgain = async (earlier = texts(1, 2)) => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const file = path.join(folder, 'failed.ndjson');
  if (earlier !== '') await writeFile(file, earlier);
  return { file, folder, failures: await FailedLines.in(file) };
};

test('the file of failed lines keeps those of an earlier import, before the new ones, until this import is complete', async () => {
  const { file, folder, failures } = await importAgain();
  expect(await readFile(file, 'utf8')).toBe(texts(1, 2));
  await failures.add(failedLine(3));
  await failures.add(failedLine(4));
  expect(await readFile(file, 'utf8')).toBe(texts(1, 2, 3, 4));
  await failures.complete();
  expect(await readFile(file, 'utf8')).toBe(texts(3, 4));
  expect(await readdir(folder)).toEqual(['failed.ndjson']);
});

test('the file of failed lines stays a symbolic link if it is one, and its target keeps its mode', async () => {
  const { file, folder, failures } = await importAgain();
  const target = path.join(folder, 'target');
  await rename(file, target);
  await chmod(target, 0o600);
  await symlink('target', file);
  await failures.add(failedLine(3));
  await failures.complete();
  expect(await readFile(target, 'utf8')).toBe(texts(3));
  expect(await readlink(file)).toBe('target');
  expect((await stat(target)).mode & 0o777, 'mode').toBe(0o600);
});

test.each([texts(1, 2), ''])(
  'the file of failed lines is removed after an import without failures if its content was %j',
  async (earlier) => {
    const { folder, failures } = await importAgain(earlier);
    await failures.complete();
    expect(await readdir(folder)).toEqual([]);
  },
);

test('an import throws if the file of earlier failed lines cannot be read', async () => {
  const { file } = await importAgain();
  await expect(FailedLines.in(path.join(file, 'failed.ndjson'))).rejects.toThrow('ENOTDIR');
});

test.each<[what: string, change: (file: string) => Promise<void>]>([
  ['removed', (file) => rm(file)],
  ['emptied', (file) => writeFile(file, '')],
  ['replaced', (file) => writeFile(file, texts(7, 8, 9))],
])('the file of failed lines gets every new line even if somebody has %s it in the meantime', async (_, change) => {
  const { file, failures } = await importAgain();
  await change(file);
  await failures.add(failedLine(3));
  await failures.complete();
  expect(await readFile(file, 'utf8')).toContain(texts(3));
});
