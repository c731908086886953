/** What `npm start` says is wrong, and what it keeps, asked of its parts. start-errors.e2e.ts sees one of a kind through. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { takeDataFolder } from '../../local/data-folder.ts';
import { readPort } from '../../local/listen.ts';
import { removeStaleSession } from '../../local/session.ts';
import { openStore } from '../../local/store.ts';
import { temporaryFolder } from '../kit/local-service.ts';

let home: string;
beforeEach(async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  home = folder;
});

test.each(['abc', '65536'])('refuses PORT=%s', (port) => {
  vi.stubEnv('PORT', port);
  const sentence = `PORT is "${port}", but it must be a number from 0 (any free port) to 65535.`;
  expect(readPort).toThrow(new Error(sentence));
});

test.each(['', '{}', '[]', 'null', 'my notes', '{"url":"http://x","tokenUrl":"http://x","clientId":"x"}'])(
  'keeps a file session.json that is not its own: %s',
  async (text) => {
    const file = path.join(home, 'session.json');
    await writeFile(file, text);
    const sentence = `${file} is not the local service's. Move it away, or choose another data folder: DATA_DIR=... npm start`;
    expect(() => removeStaleSession(home)).toThrow(new Error(sentence));
    expect(await readFile(file, 'utf8')).toBe(text);
  },
);

test.each<[name: string, files: Record<string, string>, first: string]>([
  // LevelDB would delete the one and rename the other.
  ['lock', { '000007.log': 'mine', LOG: 'mine' }, '000007.log'],
  ['dynamodb', { '000007.log': 'mine', LOG: 'mine' }, '000007.log'],
  ['lock', { CURRENT: 'my notes', 'LOG.old': 'mine', 'MANIFEST-000777': 'mine' }, 'CURRENT'],
  // As of a LevelDB: this service would have made a lock beside it.
  ['dynamodb', { CURRENT: 'MANIFEST-000777\n', 'LOG.old': 'mine', 'MANIFEST-000777': 'mine' }, 'CURRENT'],
])("keeps a folder %s of the user's: %j", async (name, files, first) => {
  const folder = path.join(home, name);
  await mkdir(folder);
  for (const [file, text] of Object.entries(files)) await writeFile(path.join(folder, file), text);
  const sentence =
    `${folder} has files that are not the local service's (${first}). Move that folder away, or choose another data folder: ` +
    'DATA_DIR=... npm start';
  await expect(takeDataFolder(home)).rejects.toThrow(new Error(sentence));
  expect(await readdir(home)).toEqual([name]);
  expect((await readdir(folder)).sort()).toEqual(Object.keys(files).sort());
  for (const [file, text] of Object.entries(files)) expect(await readFile(path.join(folder, file), 'utf8')).toBe(text);
});

test.each(['http://127.0.0.1:9', 'nonsense'])('cannot use a store at %s', async (endpoint) => {
  vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', endpoint);
  await expect(openStore(home)).rejects.toThrow(`The store (${endpoint}) cannot be used`);
});
