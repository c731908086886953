/** Tests the session file, through which other commands find the running local service. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/local-service.ts';
import { readSession, removeStaleSession, writeSession } from '../../start/session.ts';

const session = {
  url: 'http://127.0.0.1:3000',
  tokenUrl: 'https://127.0.0.1:4000/token',
  clientId: 'local-client',
  clientSecret: 'shh',
  scope: 'plants/create',
  certificate: 'PEM',
};

const newFolder = async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  return { folder, file: path.join(folder, 'session.json') };
};

test('only the user who runs the local service can read the session file, which is removed when the service ends', async () => {
  const { folder, file } = await newFolder();
  const end = writeSession(folder, session);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readSession(folder)).toEqual(session);
  end();
  expect(readdirSync(folder)).toEqual([]);
  expect(() => readSession(folder)).toThrow(`No local service is running with its data in ${folder}.`);
});

test("the local service neither overwrites nor removes a user's file at the path of the session file", async () => {
  const { folder, file } = await newFolder();
  const end = writeSession(folder, session);
  writeFileSync(file, 'mine');
  expect(() => writeSession(folder, session)).toThrow('EEXIST');
  end();
  expect(() => removeStaleSession(folder)).toThrow(`${file} was not made by the local service.`);
  expect(readFileSync(file, 'utf8')).toBe('mine');
});

test.each(['', 'null', JSON.stringify({ ...session, certificate: undefined })])(
  'a file at the path of the session file is not changed if its content is not a session: %j',
  async (text) => {
    const { folder, file } = await newFolder();
    writeFileSync(file, text);
    expect(() => readSession(folder)).toThrow('No local service is running');
    expect(() => removeStaleSession(folder)).toThrow('Move it away, or choose another data folder: DATA_DIR=...');
    expect(readFileSync(file, 'utf8')).toBe(text);
  },
);

test('removeStaleSession removes the session file that a killed service left behind', async () => {
  const { folder } = await newFolder();
  removeStaleSession(folder);
  writeSession(folder, session);
  removeStaleSession(folder);
  expect(readdirSync(folder)).toEqual([]);
});
