/** Tests the settings that `npm start` reads, its address, and the session file by which other commands find it. */

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { testFolder } from '@lambda-service/testing/programs';
import { listen } from 'http-api-emulator/servers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readSession, removeStaleSession, writeSession } from '../../start/session.ts';
import { dataFolder, readPort, takenByNpm } from '../../start/settings.ts';

test.each([
  [undefined, 3000],
  ['65535', 65_535],
])('PORT=%s sets the port to %i', (value, port) => {
  vi.stubEnv('PORT', value);
  expect(readPort()).toBe(port);
});

test.each(['65536', '-1', '0x50'])('PORT=%s is rejected as an invalid port', (value) => {
  vi.stubEnv('PORT', value);
  expect(readPort).toThrow(`PORT is ${JSON.stringify(value)}, but it must be a number from 0`);
});

test.each([
  ['watch', 'true', '--watch'],
  ['loglevel', 'verbose', '--verbose'],
  ['debug', 'true', '--debug'],
  ['debug', '9230', '--debug=9230'],
])('npm start takes its option back if npm has taken it: npm_config_%s=%s', (name, value, option) => {
  vi.stubEnv(`npm_config_${name}`, value);
  expect(takenByNpm()).toContain(option);
});

test.each([
  ['', path.resolve('.local-service')],
  ['/srv/plants', '/srv/plants'],
])('DATA_DIR=%s sets the data folder to %s', (value, folder) => {
  vi.stubEnv('DATA_DIR', value);
  expect(dataFolder()).toBe(folder);
});

test('a local server accepts connections only from this machine', async () => {
  const server = createServer();
  onTestFinished(() => void server.close());
  const port = await listen(server, 0);
  expect(server.address() as AddressInfo).toMatchObject({ address: '127.0.0.1', port });
});

const session = {
  url: 'http://127.0.0.1:3000',
  tokenUrl: 'https://127.0.0.1:4000/token',
  clientId: 'local-client',
  clientSecret: 'shh',
  scope: 'plants/create',
  certificate: 'PEM',
};

const newFolder = async () => {
  const folder = await testFolder();
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
