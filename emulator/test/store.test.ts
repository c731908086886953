import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { account } from '../account.ts';
import { openStore } from '../dynamodb/store.ts';
import { startServer } from './kit/servers.ts';
import { key, startSlowStore } from './kit/slow-store.ts';
import { temporaryFolder } from './kit/temporary-folder.ts';
import { until } from './kit/until.ts';

afterEach(() => {
  vi.useRealTimers();
});

const spec = { name: 'Fn', folder: '', handler: '', environment: {}, timeout: 0, memoryMegabytes: 0, role: [] };

describe('a store that the user runs', () => {
  test.each<[what: string, status: 'CREATING' | undefined, created: number]>([
    ['the start creates', undefined, 1],
    ['somebody else is creating', 'CREATING', 0],
  ])('is not ready before the table that %s is active', async (_, status, created) => {
    const slow = await startSlowStore(status);
    const store = await openStore(slow);
    const ready = vi.fn();
    const creating = store.createTables([{ TableName: 'Orders', ...key }]).then(ready);
    await until(() => slow.described > 4);
    expect(ready).not.toHaveBeenCalled();
    slow.status = 'ACTIVE';
    await creating;
    expect(slow.created, 'tables created').toBe(created);
    await store.close();
  });

  test('makes the start fail if the key of its table differs, and leaves the table unchanged', async () => {
    const slow = await startSlowStore('CREATING');
    slow.status = 'ACTIVE';
    const store = await openStore(slow);
    const byName = { ...key, AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' as const }] };
    await expect(store.createTables([{ TableName: 'Orders', ...byName }])).rejects.toThrow(
      `The store (${slow.endpoint}) cannot be used: its table Orders has a different key from the stack's`,
    );
    expect(slow.created, 'tables created').toBe(0);
  });

  const credentials = { AWS_ACCESS_KEY_ID: 'mine', AWS_SECRET_ACCESS_KEY: 'shh', AWS_SESSION_TOKEN: 'session' };
  const anybody = { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' };

  test.each<[what: string, environment: Record<string, string | undefined>, expected: object]>([
    ['of the environment', credentials, credentials],
    ['local and local, if the environment has none', {}, anybody],
    ['local and local, if the secret is missing', { AWS_ACCESS_KEY_ID: 'mine' }, anybody],
  ])('is used by the functions, with the credentials %s', async (_, environment, expected) => {
    const { endpoint } = await startSlowStore();
    for (const name of Object.keys(credentials)) vi.stubEnv(name, environment[name]);
    const store = await openStore({ endpoint });
    expect(store.environmentOf(spec)).toEqual({
      AWS_ENDPOINT_URL_DYNAMODB: endpoint,
      AWS_REGION: account.region,
      ...expected,
    });
  });

  test.each(['http://127.0.0.1:9', 'nonsense'])(
    'makes the start fail with one sentence if it is not at %s',
    async (endpoint) => {
      await expect(openStore({ endpoint })).rejects.toThrow(`The store (${endpoint}) cannot be used`);
    },
  );

  test('makes the start fail with one sentence if it does not answer within 5 seconds', async () => {
    const server = createServer();
    const endpoint = `http://127.0.0.1:${await startServer(server)}`;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const failure = vi.fn();
    const opening = openStore({ endpoint }).catch(failure);
    await once(server, 'request');
    await vi.advanceTimersByTimeAsync(4_999);
    expect(failure).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1_001);
    await opening;
    expect(String(failure.mock.lastCall)).toMatch(`The store (${endpoint}) cannot be used: `);
  });
});

test("a dynamodb folder with the user's files is not opened as a database", async () => {
  const { folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const theirs = path.join(folder, 'dynamodb');
  await mkdir(theirs);
  await writeFile(path.join(theirs, '000007.log'), 'mine');
  await expect(openStore({ folder })).rejects.toThrow(`${theirs} has files that were not made here`);
  expect(await readdir(theirs)).toEqual(['000007.log']);
});

test.each<[value: string | undefined, region: string]>([
  [undefined, 'us-east-1'],
  ['', 'us-east-1'],
  ['eu-central-1', 'eu-central-1'],
])('with AWS_REGION=%s, the emulator uses the region %s', async (value, region) => {
  vi.stubEnv('AWS_REGION', value);
  vi.resetModules();
  expect((await import('../account.ts')).account.region).toBe(region);
});
