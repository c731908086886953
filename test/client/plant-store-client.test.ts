import { createServer } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { createPlantStoreClient } from '../../client/plant-store-client.ts';
import { leave, listen } from '../../local/listen.ts';
import { createPlantOperation } from '../contract.ts';
import { answer, startScriptedService } from '../scripted-service.ts';

const moss = { id: 1, name: 'Moss' };
const stored = answer(200, { name: 'Moss' });
const unavailable = answer(503, { error: 50301, message: 'later' }, { 'retry-after': '0' });
const forbidden = answer(403, { message: 'Forbidden' });

const token = 'a.b.c';

test('a plant arrives as it is, with the token, and its answer comes back', async () => {
  const { baseUrl, received } = await startScriptedService(answer(200, { name: 'Moss', tag: 'green' }));
  const { createPlant } = createPlantStoreClient({ baseUrl: `${baseUrl}/`, token });
  expect(await createPlant({ id: 1, name: 'Moss', tag: 'green' })).toEqual({
    ok: true,
    plant: { name: 'Moss', tag: 'green' },
  });
  expect(received).toEqual([{ authorization: 'Bearer a.b.c', body: '{"id":1,"name":"Moss","tag":"green"}' }]);
});

test.each([2 ** 53, -(2 ** 53), 1e300, 0.5, Number.NaN, Number.POSITIVE_INFINITY])(
  'the number %s is refused as an id, and nothing is sent',
  async (id) => {
    const { baseUrl, received } = await startScriptedService(stored);
    await expect(createPlantStoreClient({ baseUrl, token }).createPlant({ id, name: 'Moss' })).rejects.toThrow(
      RangeError,
    );
    expect(received).toEqual([]);
  },
);

test('a base URL that is none is refused at once', () => {
  expect(() => createPlantStoreClient({ baseUrl: 'plants', token })).toThrow(TypeError);
});

describe('every error of the contract is a value', () => {
  const examples = Object.entries(createPlantOperation.responses)
    .filter(([status]) => status !== '200')
    .flatMap(([status, { content }]) =>
      Object.values(content['application/json'].examples).map(({ value }) => [Number(status), value] as const),
    );

  test.each(examples)('%i %j', async (status, body) => {
    const { baseUrl } = await startScriptedService(answer(status, body, { 'retry-after': '0' }));
    const result = await createPlantStoreClient({ baseUrl, token }).createPlant(moss);
    expect(result).toEqual({ ok: false, status, error: 'gateway', ...(body as object) });
  });

  test.each<[what: string, status: number, body: unknown]>([
    ['a 200 that is no plant', 200, { welcome: 'to our wireless network' }],
    ['a 200 with half a plant', 200, { name: 'Moss', tag: 7 }],
    ['an error newer than this client', 400, { error: 40099, message: 'no' }],
    ['an error without a message', 500, { error: 59999 }],
    ['null', 500, null],
  ])('of another than the service: %s', async (_, status, body) => {
    const { baseUrl } = await startScriptedService(answer(status, body));
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toEqual({
      ok: false,
      error: 'gateway',
      status,
      message: expect.stringMatching(/./),
    });
  });

  test('of another than the service: 200 with a page', async () => {
    const { baseUrl } = await startScriptedService((response) => response.end('<html>'));
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toMatchObject({
      error: 'gateway',
      status: 200,
    });
  });
});

describe('a plant is sent again', () => {
  test.each([503, 429])('after a %i, when Retry-After says', async (status) => {
    const { baseUrl, received } = await startScriptedService(
      answer(status, { message: 'later' }, { 'retry-after': '1' }),
      stored,
    );
    const start = performance.now();
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toMatchObject({ ok: true });
    expect(performance.now() - start).toBeGreaterThan(990);
    expect(received).toHaveLength(2);
    expect(received[1]).toEqual(received[0]);
  });

  test('within ten seconds, whatever Retry-After says', async () => {
    const { baseUrl } = await startScriptedService(answer(503, {}, { 'retry-after': '86400' }));
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const longOnes = () => timers.mock.calls.map(([, milliseconds = 0]) => milliseconds).filter((each) => each > 5_000);
    const end = new AbortController();
    const result = createPlantStoreClient({ baseUrl, token }).createPlant(moss, { signal: end.signal });
    // Of ky's and fetch's own for the answer, and the wait.
    await vi.waitUntil(() => longOnes().length > 2, { timeout: 5_000 });
    end.abort(new Error('enough'));
    await expect(result).rejects.toThrow('enough');
    expect(Math.max(...longOnes())).toBe(10_000);
  });

  test('after a connection that broke', async () => {
    const { baseUrl, received } = await startScriptedService((response) => response.destroy(), stored);
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toMatchObject({ ok: true });
    expect(received).toHaveLength(2);
  });

  test('twice and no more', async () => {
    const { baseUrl, received } = await startScriptedService(unavailable);
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toMatchObject({ error: 50301 });
    expect(received).toHaveLength(3);
  });

  test.each([400, 409, 413, 415, 500])('but not after a %i', async (status) => {
    const { baseUrl, received } = await startScriptedService(answer(status, {}, { 'retry-after': '0' }), stored);
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toMatchObject({ ok: false, status });
    expect(received).toHaveLength(1);
  });
});

describe('where nothing answers', () => {
  test('says why', async () => {
    const closed = createServer();
    const port = await listen(closed, 0);
    await leave(closed);
    const { createPlant } = createPlantStoreClient({ baseUrl: `http://127.0.0.1:${port}`, token });
    expect(await createPlant(moss)).toEqual({
      ok: false,
      error: 'no answer',
      message: `connect ECONNREFUSED 127.0.0.1:${port}`,
      cause: expect.any(Error),
    });
  });

  test('in full, it is no answer', async () => {
    const { baseUrl } = await startScriptedService((response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"name"', () => response.destroy());
    });
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toMatchObject({ error: 'no answer' });
  });
});

describe('a signal ends', () => {
  test.each<[what: string, script: Parameters<typeof startScriptedService>[0]]>([
    ['a request under way', () => {}],
    ['an answer under way', (response) => response.writeHead(200).write('{')],
    ['a wait for Retry-After', answer(503, {}, { 'retry-after': '60' })],
  ])('%s', async (_, script) => {
    const { baseUrl, received } = await startScriptedService(script);
    const end = new AbortController();
    const result = createPlantStoreClient({ baseUrl, token }).createPlant(moss, { signal: end.signal });
    setTimeout(() => end.abort(new Error('enough')), 100);
    await expect(result).rejects.toThrow('enough');
    expect(received).toHaveLength(1);
  });

  test('a request that takes its caller too long', async () => {
    const { baseUrl, received } = await startScriptedService(() => {});
    const result = createPlantStoreClient({ baseUrl, token }).createPlant(moss, { signal: AbortSignal.timeout(100) });
    await expect(result).rejects.toThrow('timeout');
    expect(received).toHaveLength(1);
  });
});

describe('a token that is a function', () => {
  test('is asked once for every plant', async () => {
    const { baseUrl, received } = await startScriptedService(unavailable, stored);
    const give = vi.fn(() => 'd.e.f');
    const { createPlant } = createPlantStoreClient({ baseUrl, token: give });
    await createPlant(moss);
    await createPlant(moss);
    expect(give.mock.calls).toEqual([[{ refused: false }], [{ refused: false }]]);
    expect(received.map(({ authorization }) => authorization)).toEqual(Array(3).fill('Bearer d.e.f'));
  });

  test.each([401, 403])('is asked for a new one after a %i', async (status) => {
    const { baseUrl, received } = await startScriptedService(answer(status, { message: 'no' }), stored);
    const give = async ({ refused }: { refused: boolean }) => (refused ? 'new' : 'old');
    expect(await createPlantStoreClient({ baseUrl, token: give }).createPlant(moss)).toMatchObject({ ok: true });
    expect(received.map(({ authorization }) => authorization)).toEqual(['Bearer old', 'Bearer new']);
  });

  test('is not asked a third time, nor sent again where it is no function', async () => {
    const { baseUrl, received } = await startScriptedService(forbidden);
    const refused = { ok: false, error: 'gateway', status: 403, message: 'Forbidden' };
    expect(await createPlantStoreClient({ baseUrl, token: () => 'x' }).createPlant(moss)).toEqual(refused);
    expect(received).toHaveLength(2);
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toEqual(refused);
    expect(received).toHaveLength(3);
  });

  test('that throws throws through', async () => {
    const { baseUrl } = await startScriptedService(stored);
    const give = () => Promise.reject(new Error('the issuer sleeps'));
    await expect(createPlantStoreClient({ baseUrl, token: give }).createPlant(moss)).rejects.toThrow('issuer sleeps');
  });
});
