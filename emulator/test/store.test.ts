import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../test/kit/local-service.ts';
import { startServer } from '../../test/kit/servers.ts';
import { key, startSlowStore } from '../../test/kit/slow-store.ts';
import { until } from '../../test/kit/until.ts';
import { account } from '../account.ts';
import { openStore } from '../dynamodb/store.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('a store that the user runs', () => {
  test.each<[what: string, status: 'CREATING' | undefined, created: number]>([
    ['the start creates', undefined, 1],
    ['somebody else is creating', 'CREATING', 0],
  ])('is not ready before the table that %s is active', async (_, status, created) => {
    const slow = await startSlowStore(status);
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', slow.endpoint);
    const store = await openStore('/nowhere');
    const ready = vi.fn();
    const creating = store.createTables([{ TableName: 'Plants', ...key }]).then(ready);
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
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', slow.endpoint);
    const store = await openStore('/nowhere');
    const byName = { ...key, AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' as const }] };
    await expect(store.createTables([{ TableName: 'Plants', ...byName }])).rejects.toThrow(
      `The store (${slow.endpoint}) cannot be used: its table Plants has a different key from the stack's`,
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
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', endpoint);
    const store = await openStore('/nowhere');
    expect(store.environment).toEqual({ AWS_ENDPOINT_URL_DYNAMODB: endpoint, AWS_REGION: account.region, ...expected });
  });

  test.each(['http://127.0.0.1:9', 'nonsense'])(
    'makes the start fail with one sentence if it is not at %s',
    async (endpoint) => {
      vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', endpoint);
      await expect(openStore('/nowhere')).rejects.toThrow(`The store (${endpoint}) cannot be used`);
    },
  );

  test('makes the start fail with one sentence if it does not answer within 5 seconds', async () => {
    const server = createServer();
    const endpoint = `http://127.0.0.1:${await startServer(server)}`;
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', endpoint);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const failure = vi.fn();
    const opening = openStore('/nowhere').catch(failure);
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
  vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', '');
  const theirs = path.join(folder, 'dynamodb');
  await mkdir(theirs);
  await writeFile(path.join(theirs, '000007.log'), 'mine');
  await expect(openStore(folder)).rejects.toThrow(`${theirs} has files that the local service did not make`);
  expect(await readdir(theirs)).toEqual(['000007.log']);
});

test.each<[value: string | undefined, region: string]>([
  [undefined, 'us-east-1'],
  ['', 'us-east-1'],
  ['eu-central-1', 'eu-central-1'],
])('with AWS_REGION=%s, the local service uses the region %s', async (value, region) => {
  vi.stubEnv('AWS_REGION', value);
  vi.resetModules();
  expect((await import('../account.ts')).account.region).toBe(region);
});
