import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/kit/local-service.ts';
import { openDatabase, reason, takeDataFolder } from '../dynamodb/data-folder.ts';

const newFolder = async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  return path.join(folder, 'plants');
};

test('takeDataFolder creates a folder that only its user can read, and locks it for one service', async () => {
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

test('takeDataFolder rejects a file', async () => {
  const file = await newFolder();
  await writeFile(file, '');
  await expect(takeDataFolder(file)).rejects.toThrow(`The data folder ${file} cannot be used: `);
});

test.each<[name: string, files: Record<string, string>, first: string]>([
  // LevelDB would delete 000007.log and rename LOG.
  ['lock', { '000007.log': 'mine', LOG: 'mine' }, '000007.log'],
  ['dynamodb', { '000007.log': 'mine', LOG: 'mine' }, '000007.log'],
  ['lock', { CURRENT: 'my notes', 'LOG.old': 'mine', 'MANIFEST-000777': 'mine' }, 'CURRENT'],
  // These look like files of LevelDB, but the local service would have created a lock beside them.
  ['dynamodb', { CURRENT: 'MANIFEST-000777\n', 'LOG.old': 'mine', 'MANIFEST-000777': 'mine' }, 'CURRENT'],
])(
  "takeDataFolder rejects and leaves unchanged a folder %s with the user's own files: %j",
  async (name, files, first) => {
    const folder = await newFolder();
    const theirs = path.join(folder, name);
    await mkdir(theirs, { recursive: true });
    for (const [file, text] of Object.entries(files)) await writeFile(path.join(theirs, file), text);
    const sentence =
      `${theirs} has files that the local service did not make (${first}). Move that folder away, or choose another data folder: ` +
      'DATA_DIR=... npm start';
    await expect(takeDataFolder(folder)).rejects.toThrow(new Error(sentence));
    expect(await readdir(folder)).toEqual([name]);
    expect((await readdir(theirs)).sort()).toEqual(Object.keys(files).sort());
    for (const [file, text] of Object.entries(files))
      expect(await readFile(path.join(theirs, file), 'utf8')).toBe(text);
  },
);

test('takeDataFolder accepts a folder with the plants of an earlier service', async () => {
  const folder = await newFolder();
  await (await takeDataFolder(folder))();
  await (await openDatabase(path.join(folder, 'dynamodb')))();
  await (await takeDataFolder(folder))();
  expect(await readdir(folder)).toEqual(['dynamodb', 'lock']);
});

test('the reason that the local service gives for an error is the message of its innermost cause', () => {
  const cause = new Error('the disk is full');
  expect(reason(new Error('Database is not open', { cause: new Error('failed', { cause }) }))).toBe('the disk is full');
  expect(reason(new TypeError(''))).toBe('TypeError');
  expect(reason('the disk is full')).toBe('the disk is full');
});
