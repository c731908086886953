/** Tests the settings that `npm start` reads from its environment, and the address at which it listens. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listen } from '../../start/listen.ts';
import { dataFolder, readPort } from '../../start/settings.ts';

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
  ['', path.resolve('.plant-store')],
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
