import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { openStore } from '../../local/store.ts';
import { startServer } from '../kit/servers.ts';
import { key, startSlowStore } from '../kit/slow-store.ts';
import { until } from '../kit/until.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe("a store of the user's own", () => {
  test.each<[what: string, status: 'CREATING' | undefined, created: number]>([
    ['it creates', undefined, 1],
    ['somebody else is creating', 'CREATING', 0],
  ])('is ready once the table that %s is there, not before', async (_, status, created) => {
    const slow = await startSlowStore(status);
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', slow.endpoint);
    const store = await openStore('/nowhere');
    const ready = vi.fn();
    const creating = store.createTables([{ TableName: 'Plants', ...key }]).then(ready);
    await until(() => slow.described > 4);
    expect(ready).not.toHaveBeenCalled();
    slow.status = 'ACTIVE';
    await creating;
    expect(slow.created).toBe(created);
    await store.close();
  });

  test('that takes a connection and never answers is given up after 5 seconds, in a sentence', async () => {
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
