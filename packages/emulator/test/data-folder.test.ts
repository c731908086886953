import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { FolderError, lockFolder, openDatabase, reason } from '../dynamodb/data-folder.ts';
import { openStore } from '../dynamodb/store.ts';
import { temporaryFolder } from './kit/temporary.ts';

const newFolder = async () => path.join(await temporaryFolder(), 'data');

test('lockFolder creates a folder that only the current user can read, and rejects if the folder is already locked', async () => {
  const parent = await newFolder();
  const folder = path.join(parent, 'of', 'mine');
  const unlock = await lockFolder(folder);
  for (const created of [parent, path.dirname(folder), folder, path.join(folder, 'lock')])
    expect((await stat(created)).mode & 0o777).toBe(0o700);
  const sentence = `The data folder ${folder} is in use. Stop the process that uses it, or choose another folder.`;
  await expect(lockFolder(folder)).rejects.toThrow(new FolderError(sentence));
  await unlock();
  await (await lockFolder(folder))();
});

test('lockFolder rejects a data folder that it cannot write, and reports why', async () => {
  const folder = await newFolder();
  await writeFile(folder, '');
  await expect(lockFolder(folder)).rejects.toThrow(
    /cannot be written: ENOTDIR.* Check its permissions and the space on/,
  );
});

test.each<[name: string, files: Record<string, string>, first: string]>([
  // A folder with the user's files 000007.log and LOG must be refused: LevelDB would delete the first and rename the
  // second.
  ['lock', { '000007.log': 'mine', LOG: 'mine' }, '000007.log'],
  // Valid LevelDB files in `dynamodb`, but no folder `lock`. The emulator creates `lock` first, so these files must be
  // the user's own.
  ['dynamodb', { CURRENT: 'MANIFEST-000777\n', 'LOG.old': 'mine', 'MANIFEST-000777': 'mine' }, 'CURRENT'],
])(
  "lockFolder rejects a data folder whose subfolder %s has the user's own files, and leaves them unchanged: %j",
  async (name, files, first) => {
    const folder = await newFolder();
    const theirs = path.join(folder, name);
    await mkdir(theirs, { recursive: true });
    for (const [file, text] of Object.entries(files)) await writeFile(path.join(theirs, file), text);
    const sentence = `${theirs} has files that the emulator did not create (${first}). Move that folder away, or choose another data folder.`;
    await expect(lockFolder(folder)).rejects.toThrow(new FolderError(sentence));
    expect(await readdir(folder)).toEqual([name]);
    expect((await readdir(theirs)).sort()).toEqual(Object.keys(files).sort());
    for (const [file, text] of Object.entries(files))
      expect(await readFile(path.join(theirs, file), 'utf8')).toBe(text);
  },
);

test('lockFolder accepts a folder with the data of a process that has ended', async () => {
  const folder = await newFolder();
  await (await lockFolder(folder))();
  await (await openDatabase(path.join(folder, 'dynamodb')))();
  await (await lockFolder(folder))();
  expect(await readdir(folder)).toEqual(['dynamodb', 'lock']);
});

test("reason() returns the message of an error's innermost cause", () => {
  const cause = new Error('the disk is full');
  expect(reason(new Error('Database is not open', { cause: new Error('failed', { cause }) }))).toBe('the disk is full');
  expect(reason(new TypeError(''))).toBe('TypeError');
  expect(reason('the disk is full')).toBe('the disk is full');
});

test('openStore rejects a data folder that another store uses, and the message does not say to delete the folder', async () => {
  const folder = await newFolder();
  const store = await openStore({ folder });
  const message = `${path.join(folder, 'dynamodb')} is in use. Stop the process that uses it, or choose another folder.`;
  await expect(openStore({ folder })).rejects.toThrow(message);
  await store.close();
});

test('openStore rejects a damaged database, and says to delete it, but not if only its folder cannot be read', async () => {
  const folder = await temporaryFolder();
  const dynamodb = path.join(folder, 'dynamodb');
  await writeFile(dynamodb, '');
  const unreadable = `The data in ${dynamodb} cannot be read: EEXIST: file already exists, mkdir '${dynamodb}'. Check its`;
  await expect(openStore({ folder })).rejects.toThrow(unreadable);
  await rm(dynamodb);
  await mkdir(dynamodb);
  await writeFile(path.join(dynamodb, 'CURRENT'), 'rubbish');
  const damaged =
    'cannot be read: Corruption: CURRENT file does not end with newline. Delete that folder and its data, or';
  await expect(openStore({ folder })).rejects.toThrow(damaged);
});
