import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase, reason, takeDataFolder } from '../../local/data-folder.ts';
import { temporaryFolder } from '../kit/local-service.ts';

const newFolder = async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  return path.join(folder, 'plants');
};

test('a data folder is made for its user alone, and taken by one service at a time', async () => {
  const parent = await newFolder();
  const folder = path.join(parent, 'of', 'mine');
  const giveBack = await takeDataFolder(folder);
  for (const made of [parent, path.dirname(folder), folder, path.join(folder, 'lock')])
    expect((await stat(made)).mode & 0o777).toBe(0o700);
  await expect(takeDataFolder(folder)).rejects.toThrow(
    /^The data folder .* cannot be used: .*lock.*\. Another local service may be using it/,
  );
  await giveBack();
  await (await takeDataFolder(folder))();
});

test('a data folder that is a file is said to be of no use', async () => {
  const file = await newFolder();
  await writeFile(file, '');
  await expect(takeDataFolder(file)).rejects.toThrow(`The data folder ${file} cannot be used: `);
});

test.each<[name: string, files: Record<string, string>, first: string]>([
  // LevelDB would delete the one and rename the other.
  ['lock', { '000007.log': 'mine', LOG: 'mine' }, '000007.log'],
  ['dynamodb', { '000007.log': 'mine', LOG: 'mine' }, '000007.log'],
  ['lock', { CURRENT: 'my notes', 'LOG.old': 'mine', 'MANIFEST-000777': 'mine' }, 'CURRENT'],
  // As of a LevelDB: this service would have made a lock beside it.
  ['dynamodb', { CURRENT: 'MANIFEST-000777\n', 'LOG.old': 'mine', 'MANIFEST-000777': 'mine' }, 'CURRENT'],
])("a folder %s of the user's stays as it is, and is said to be in the way: %j", async (name, files, first) => {
  const folder = await newFolder();
  const theirs = path.join(folder, name);
  await mkdir(theirs, { recursive: true });
  for (const [file, text] of Object.entries(files)) await writeFile(path.join(theirs, file), text);
  const sentence =
    `${theirs} has files that are not the local service's (${first}). Move that folder away, or choose another data folder: ` +
    'DATA_DIR=... npm start';
  await expect(takeDataFolder(folder)).rejects.toThrow(new Error(sentence));
  expect(await readdir(folder)).toEqual([name]);
  expect((await readdir(theirs)).sort()).toEqual(Object.keys(files).sort());
  for (const [file, text] of Object.entries(files)) expect(await readFile(path.join(theirs, file), 'utf8')).toBe(text);
});

test('plants that are there already are taken with the folder', async () => {
  const folder = await newFolder();
  await (await takeDataFolder(folder))();
  await (await openDatabase(path.join(folder, 'dynamodb')))();
  await (await takeDataFolder(folder))();
  expect(await readdir(folder)).toEqual(['dynamodb', 'lock']);
});

test('the reason of an error is that of its innermost cause', () => {
  const cause = new Error('the disk is full');
  expect(reason(new Error('Database is not open', { cause: new Error('failed', { cause }) }))).toBe('the disk is full');
  expect(reason(new TypeError(''))).toBe('TypeError');
  expect(reason('the disk is full')).toBe('the disk is full');
});
