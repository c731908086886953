import { getEventListeners } from 'node:events';
import { createServer } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createPlantStoreClient, type NewPlant } from '../../client/plant-store-client.ts';
import { closeServer, listen } from '../../local/listen.ts';
import { createPlantOperation } from '../kit/contract.ts';
import { answer, startScriptedService } from '../kit/scripted-service.ts';

const moss = { id: 1, name: 'Moss' };
const stored = answer(200, { name: 'Moss' });
const unavailable = answer(503, { error: 50301, message: 'later' }, { 'retry-after': '0' });
const forbidden = answer(403, { message: 'Forbidden' });

const token = 'a.b.c';

/** Waits until `condition` returns true. Checks once per turn of the event loop, because tests stop the timers. */
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await nextTurn();
};

/** Waits for 100 turns of the event loop, so that a request sent by mistake would arrive. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
};

/** Stops the client's timers: they fire only if the test advances the time. */
const stopTimers = () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
};

/**
 * Returns whether the client is waiting before a retry: only then does it listen to `signal`. This is so only if the
 * client's token is a string, not a function.
 */
const isWaiting = (signal: AbortSignal): boolean => getEventListeners(signal, 'abort').length > 0;

test('the client sends a plant with the token, and returns the stored plant', async () => {
  const { baseUrl, received } = await startScriptedService(answer(200, { name: 'Moss', tag: 'green' }));
  const { createPlant } = createPlantStoreClient({ baseUrl: `${baseUrl}/`, token });
  expect(await createPlant({ id: 1, name: 'Moss', tag: 'green' })).toEqual({
    ok: true,
    status: 200,
    headers: expect.any(Headers),
    body: { name: 'Moss', tag: 'green' },
  });
  expect(received).toEqual([{ authorization: 'Bearer a.b.c', body: '{"id":1,"name":"Moss","tag":"green"}' }]);
});

test.each([2 ** 53, -(2 ** 53), 1e300, 0.5, Number.NaN, Number.POSITIVE_INFINITY])(
  'the client throws and sends nothing if the id is the number %s, which is not a safe integer',
  async (id) => {
    const { baseUrl, received } = await startScriptedService(stored);
    await expect(createPlantStoreClient({ baseUrl, token }).createPlant({ id, name: 'Moss' })).rejects.toThrow(
      RangeError,
    );
    expect(received).toEqual([]);
  },
);

test.each<[plant: object, body: string]>([
  [{ id: 9223372036854775807n, name: 'Moss' }, '{"id":9223372036854775807,"name":"Moss"}'],
  [{ id: -9223372036854775808n, name: '' }, '{"id":-9223372036854775808,"name":""}'],
  [{ id: -0, name: 'Moss' }, '{"id":0,"name":"Moss"}'],
  [{ id: 1, name: '\ufffd', tag: 'a\\\ufffd' }, '{"id":1,"name":"\\ufffd","tag":"a\\\\\\ufffd"}'],
  [{ id: 1, name: 'Moss', tag: undefined }, '{"id":1,"name":"Moss"}'],
  [{ name: '"id":0', tag: '', id: 1n }, '{"id":1,"name":"\\"id\\":0","tag":""}'],
  [{ id: 1, name: 'Moss', colour: 'green', toJSON: () => '}' }, '{"id":1,"name":"Moss"}'],
  [{ id: '1,"name":"Fern"', name: 'Moss' }, '{"id":"1,\\"name\\":\\"Fern\\"","name":"Moss"}'],
  [{ id: { toJSON: () => '2,"name":"Fern"' }, name: null }, '{"id":"2,\\"name\\":\\"Fern\\"","name":null}'],
  [{ id: null, name: { toJSON: () => 7 }, tag: 7n }, '{"id":null,"name":7,"tag":7}'],
  [{}, '{}'],
])(
  'the client sends only the fields id, name and tag of a plant, even if their values have wrong types: %o',
  async (plant, body) => {
    const { baseUrl, received } = await startScriptedService(answer(400, { error: 40002, message: 'no' }));
    const { createPlant } = createPlantStoreClient({ baseUrl, token });
    expect(await Reflect.apply(createPlant, undefined, [plant])).toMatchObject({ error: 40002 });
    expect(received).toEqual([{ authorization: 'Bearer a.b.c', body }]);
  },
);

test.each([
  ['', '/plants'],
  ['/', '/plants'],
  ['//', '/plants'],
  ['/prod/', '/prod/plants'],
])('with %j at the end of the base URL, the client sends a plant to the path %s', async (end, path) => {
  const paths: (string | undefined)[] = [];
  const { baseUrl } = await startScriptedService((response, request) => {
    paths.push(request.url);
    answer(200, { name: 'Moss' })(response, request);
  });
  await createPlantStoreClient({ baseUrl: baseUrl + end, token }).createPlant({ id: 1, name: 'Moss' });
  expect(paths).toEqual([path]);
});

test('a successful result has the headers and the request id of the response', async () => {
  const headers = { 'apigw-requestid': 'QcNvjVNaC1t4m14=', 'idempotent-replayed': 'true' };
  const { baseUrl } = await startScriptedService(answer(200, { name: 'Moss' }, headers));
  const result = await createPlantStoreClient({ baseUrl, token }).createPlant(moss);
  expect(result.requestId).toBe('QcNvjVNaC1t4m14=');
  expect(result.ok && Object.fromEntries(result.headers)).toMatchObject(headers);
});

test.each<[what: string, status: number, body: unknown]>([
  ['the service refused', 409, { error: 40901, message: 'taken' }],
  ['the service failed', 500, { error: 50001, message: 'our fault' }],
  ['the gateway refused', 403, { message: 'Forbidden' }],
  ['something else answered', 200, { welcome: 'to our wireless network' }],
])('the result of a failed call has the id of the request, if %s', async (_, status, body) => {
  const requestId = 'QcNvjVNaC1t4m14=';
  const { baseUrl } = await startScriptedService(answer(status, body, { 'apigw-requestid': requestId }));
  const result = await createPlantStoreClient({ baseUrl, token }).createPlant(moss);
  expect(result).toMatchObject({ ok: false, status, requestId });
});

test('after a retry, the result has the request id of the last response', async () => {
  const response = (status: number, body: object, id: string) =>
    answer(status, body, { 'apigw-requestid': id, 'retry-after': '0' });
  const { baseUrl } = await startScriptedService(
    response(503, { error: 50301, message: 'later' }, 'first='),
    response(409, { error: 40901, message: 'taken' }, 'second='),
  );
  const result = await createPlantStoreClient({ baseUrl, token }).createPlant(moss);
  expect(result).toMatchObject({ error: 40901, requestId: 'second=' });
});

test('createPlantStoreClient throws at once if the base URL is not a URL', () => {
  expect(() => createPlantStoreClient({ baseUrl: 'plants', token })).toThrow(TypeError);
});

describe('the client returns, and does not throw,', () => {
  const examples = Object.entries(createPlantOperation.responses)
    .filter(([status]) => status !== '200')
    .flatMap(([status, { content }]) =>
      Object.values(content['application/json'].examples).map(({ value }) => [Number(status), value] as const),
    );

  test.each(examples)('the error %i %j of the contract', async (status, body) => {
    const { baseUrl } = await startScriptedService(answer(status, body, { 'retry-after': '0' }));
    const result = await createPlantStoreClient({ baseUrl, token }).createPlant(moss);
    expect(result).toEqual({ ok: false, status, error: 'gateway', ...(body as object) });
  });

  test.each<[what: string, status: number, body: unknown]>([
    ['an error newer than this client', 400, { error: 40099, message: 'no' }],
    ['an error number of another status', 418, { error: 40901, message: 'taken' }],
    ['an error number without a message', 409, { error: 40901 }],
    ['an unknown error number without a message', 500, { error: 59999 }],
    ['null', 500, null],
    ['a list', 404, [{ error: 40001, message: 'no' }]],
  ])("the error 'gateway' for an error response that the contract does not define: %s", async (_, status, body) => {
    const { baseUrl } = await startScriptedService(answer(status, body, { 'retry-after': '0' }));
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toEqual({
      ok: false,
      error: 'gateway',
      status,
      message: expect.stringMatching(/./),
    });
  });
});

describe('the client reports a plant', () => {
  const foreign = { ok: false, error: 'gateway', message: 'the response is not from the Plant Store' };
  const fern = { id: 1, name: 'Fern', tag: 'shade' };

  test.each<[what: string, plant: NewPlant, status: number, body: unknown]>([
    ['an object that is not a plant', moss, 200, { welcome: 'to our wireless network' }],
    ['another name', moss, 200, { name: 'moss' }],
    ['a name that looks the same', { id: 1, name: '\u00e9' }, 200, { name: 'e\u0301' }],
    ['a name that is not a string', moss, 200, { name: ['Moss'] }],
    ['a tag that was not sent', moss, 200, { name: 'Moss', tag: '' }],
    ['a tag of null that was not sent', moss, 200, { name: 'Moss', tag: null }],
    ['no tag', fern, 200, { name: 'Fern' }],
    ['another tag', fern, 200, { name: 'Fern', tag: 'sun' }],
    ['a tag of null instead of the one that was sent', fern, 200, { name: 'Fern', tag: null }],
    ['a list', moss, 200, [{ name: 'Moss' }]],
    ['null', moss, 200, null],
    ['a string', moss, 200, 'Moss'],
    ['an error of the service', moss, 200, { error: 40901, message: 'taken' }],
    ['only a message', moss, 200, { message: 'welcome' }],
    ['the plant, with 201', moss, 201, { name: 'Moss' }],
    ['the plant, with 202', moss, 202, { name: 'Moss' }],
    ['the plant, with 203', moss, 203, { name: 'Moss' }],
    ['the plant, with 206', moss, 206, { name: 'Moss' }],
  ])('as not stored if the server returns %s', async (_, plant, status, body) => {
    const { baseUrl, received } = await startScriptedService(answer(status, body));
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(plant)).toEqual({ ...foreign, status });
    expect(received, 'requests').toHaveLength(1);
  });

  test.each<[what: string, status: number, text: string]>([
    ['an HTML page', 200, '<html>'],
    ['an empty body', 200, ''],
    ['a 204', 204, ''],
  ])('as not stored if the server returns %s', async (_, status, text) => {
    const { baseUrl } = await startScriptedService((response) => response.writeHead(status).end(text));
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toEqual({ ...foreign, status });
  });

  test('as stored even if the 200 response has fields besides those of the plant, which a newer service may add', async () => {
    const { baseUrl } = await startScriptedService(answer(200, { name: 'Moss', since: 2027 }));
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toMatchObject({ ok: true });
  });

  test('as stored even if the caller changes the plant object after the request was sent', async () => {
    const plant = { ...moss };
    const { baseUrl } = await startScriptedService((response, request) => {
      plant.name = 'Fern';
      stored(response, request);
    });
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(plant)).toMatchObject({ ok: true });
  });

  test.each([300, 301, 302, 303, 304, 305, 307, 308])(
    'as not stored after a redirect, which the client does not follow: %i',
    async (status) => {
      const elsewhere = await startScriptedService(stored);
      for (const location of [elsewhere.baseUrl, '/plants', undefined]) {
        const { baseUrl, received } = await startScriptedService(
          answer(status, { error: 40901, message: 'moved' }, location === undefined ? {} : { location }),
          stored,
        );
        const { createPlant } = createPlantStoreClient({ baseUrl, token: () => token });
        expect(await createPlant(moss)).toEqual({ ...foreign, status });
        expect(received, 'requests').toHaveLength(1);
      }
      expect(elsewhere.received).toEqual([]);
    },
  );
});

describe('the client sends a plant again', () => {
  const cut: typeof stored = (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '15' });
    response.write('{"name"', () => response.destroy());
  };

  test.each([429, 500, 502, 503, 504])('after the status %i from the gateway', async (status) => {
    const { baseUrl, received } = await startScriptedService(
      answer(status, { message: 'later' }, { 'retry-after': '0' }),
      answer(status, '<html>', { 'retry-after': '0' }),
      stored,
    );
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toMatchObject({ ok: true });
    expect(received, 'requests').toHaveLength(3);
    expect(received[1]).toEqual(received[0]);
  });

  test.each([
    [429, '7', 7_000],
    [500, '7', 7_000],
    [502, '7', 7_000],
    [503, '7', 7_000],
    [504, '7', 7_000],
    [503, '86400', 10_000],
  ])('after the status %i with Retry-After: %s, once %i ms have passed', async (status, retryAfter, wait) => {
    stopTimers();
    const { baseUrl, received } = await startScriptedService(
      answer(status, { message: 'later' }, { 'retry-after': retryAfter }),
      stored,
    );
    const { signal } = new AbortController();
    const result = createPlantStoreClient({ baseUrl, token }).createPlant(moss, { signal });
    await until(() => isWaiting(signal));
    vi.advanceTimersByTime(wait - 1);
    expect(isWaiting(signal), `waiting after ${wait - 1} ms`).toBe(true);
    vi.advanceTimersByTime(1);
    expect(await result).toMatchObject({ ok: true });
    expect(received, 'requests').toHaveLength(2);
  });

  test.each<[what: string, script: typeof stored]>([
    ['a connection that broke', (response) => response.destroy()],
    ['a response that broke off', cut],
    [
      'a response of unknown length that broke off',
      (response) => response.writeHead(200).write('{"name":"Moss"}', () => response.destroy()),
    ],
    [
      'a refusal that broke off',
      (response) => response.writeHead(400, { 'content-length': '9' }).write('{', () => response.destroy()),
    ],
  ])('after %s', async (_, script) => {
    const { baseUrl, received } = await startScriptedService(script, stored);
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toMatchObject({ ok: true });
    expect(received, 'requests').toHaveLength(2);
    expect(received[1]).toEqual(received[0]);
  });

  test.each<[what: string, script: typeof stored]>([
    ['no response', () => {}],
    ['half a response', (response) => response.writeHead(200).write('{"name"')],
  ])('after ten seconds without a complete response: %s', async (_, script) => {
    stopTimers();
    let isGivenUp = false;
    const { baseUrl, received } = await startScriptedService((response, request) => {
      response.on('close', () => {
        isGivenUp = true;
      });
      script(response, request);
    }, stored);
    const result = createPlantStoreClient({ baseUrl, token }).createPlant(moss);
    await until(() => received.length === 1);
    vi.advanceTimersByTime(9_999);
    await settle();
    expect(isGivenUp, 'given up after 9,999 ms').toBe(false);
    vi.advanceTimersByTime(1);
    await until(() => isGivenUp);
    vi.advanceTimersByTime(1_000);
    expect(await result).toMatchObject({ ok: true });
    expect(received[1]).toEqual(received[0]);
  });

  test('at most twice', async () => {
    for (const script of [unavailable, cut]) {
      const { baseUrl, received } = await startScriptedService(script);
      expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toMatchObject({ ok: false });
      expect(received, 'requests').toHaveLength(3);
    }
  });

  test.each<[status: number, body: object]>([
    [400, {}],
    [408, {}],
    [409, {}],
    [413, {}],
    [415, {}],
    [500, { error: 50001, message: 'internal error' }],
    [501, {}],
  ])('but not after the status %i with the body %j', async (status, body) => {
    const { baseUrl, received } = await startScriptedService(answer(status, body, { 'retry-after': '0' }), stored);
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toMatchObject({ ok: false, status });
    expect(received, 'requests').toHaveLength(1);
  });
});

describe('if no complete response arrives, the client', () => {
  test('returns the reason in the message of the result', async () => {
    const closed = createServer();
    const port = await listen(closed, 0);
    await closeServer(closed);
    const { createPlant } = createPlantStoreClient({ baseUrl: `http://127.0.0.1:${port}`, token });
    const result = await createPlant(moss);
    expect(result).toEqual({
      ok: false,
      error: 'no answer',
      message: `connect ECONNREFUSED 127.0.0.1:${port}`,
      cause: expect.any(TypeError),
    });
    expect(inspect(result, { depth: Number.POSITIVE_INFINITY })).not.toContain(token);
  });

  test.each<[what: string, cause: unknown, message: string]>([
    ['its code, if it has no message', Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    ['its name, if it has neither message nor code', new RangeError(), 'RangeError'],
    ['its text, if it is not an Error', 'the cable is out', 'the cable is out'],
  ])('returns a message that describes the cause: %s', async (_, cause, message) => {
    stopTimers();
    vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('fetch failed', { cause }));
    const result = createPlantStoreClient({ baseUrl: 'http://plants.example', token }).createPlant(moss);
    await vi.runAllTimersAsync();
    expect(await result).toMatchObject({ error: 'no answer', message });
  });

  test("returns 'no answer' for a response that is cut off", async () => {
    const { baseUrl } = await startScriptedService((response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"name"', () => response.destroy());
    });
    expect(await createPlantStoreClient({ baseUrl, token }).createPlant(moss)).toMatchObject({ error: 'no answer' });
  });

  test("returns 'no answer' after three requests that time out", async () => {
    stopTimers();
    let givenUp = 0;
    const { baseUrl, received } = await startScriptedService((response) => response.on('close', () => givenUp++));
    const result = createPlantStoreClient({ baseUrl, token }).createPlant(moss);
    for (const count of [1, 2, 3]) {
      await until(() => received.length === count);
      vi.advanceTimersByTime(10_000);
      await until(() => givenUp === count);
      vi.advanceTimersByTime(1_000);
    }
    expect(await result).toEqual({
      ok: false,
      error: 'no answer',
      message: 'no answer within 10 seconds',
      cause: expect.objectContaining({ name: 'TimeoutError' }),
    });
    expect(inspect(await result, { depth: Number.POSITIVE_INFINITY })).not.toContain(token);
  });
});

test.each(['a.b c', 'a.b.c\n', 'a\r\nb', ' a.b.c', 'a.b.\u00e9', 'a\u0000b'])(
  'the client does not send a token that has an invalid character, and does not quote the token in the error: %j',
  async (bad) => {
    const { baseUrl, received } = await startScriptedService(stored);
    for (const token of [bad, () => bad]) {
      const error = await createPlantStoreClient({ baseUrl, token })
        .createPlant(moss)
        .catch((thrown) => thrown);
      expect(error).toBeInstanceOf(TypeError);
      expect(inspect(error)).not.toContain(bad);
      expect(inspect(error)).not.toContain(JSON.stringify(bad).slice(1, -1));
    }
    expect(received).toEqual([]);
  },
);

describe('an abort signal', () => {
  test.each<[what: string, script: (end: () => void) => typeof stored]>([
    ['a request under way', (end) => end],
    ['a response under way', (end) => (response) => response.writeHead(200).write('{', end)],
    [
      'a response that breaks off',
      (end) => (response) => response.writeHead(200).write('{', () => response.destroy(void end())),
    ],
  ])('ends %s', async (_, script) => {
    stopTimers();
    const end = new AbortController();
    const { baseUrl, received } = await startScriptedService(script(() => end.abort(new Error('enough'))));
    const result = createPlantStoreClient({ baseUrl, token }).createPlant(moss, { signal: end.signal });
    await expect(result).rejects.toThrow('enough');
    vi.advanceTimersByTime(60_000);
    await settle();
    expect(received, 'requests').toHaveLength(1);
    expect(getEventListeners(end.signal, 'abort')).toEqual([]);
  });

  test('ends the wait before a retry', async () => {
    stopTimers();
    const end = new AbortController();
    const { baseUrl, received } = await startScriptedService(answer(503, {}, { 'retry-after': '7' }));
    const result = createPlantStoreClient({ baseUrl, token }).createPlant(moss, { signal: end.signal });
    await until(() => isWaiting(end.signal));
    end.abort(new Error('enough'));
    await expect(result).rejects.toThrow('enough');
    vi.advanceTimersByTime(60_000);
    await settle();
    expect(received, 'requests').toHaveLength(1);
  });

  test('ends the third and last request of a call that has retried twice', async () => {
    const end = new AbortController();
    const { baseUrl } = await startScriptedService(unavailable, unavailable, () => end.abort(new Error('enough')));
    const result = createPlantStoreClient({ baseUrl, token }).createPlant(moss, { signal: end.signal });
    await expect(result).rejects.toThrow('enough');
  });

  test('ends the call before anything is sent, if the signal is already aborted', async () => {
    const { baseUrl, received } = await startScriptedService(stored);
    const give = vi.fn(() => 'd.e.f');
    const signal = AbortSignal.abort(new Error('enough'));
    for (const each of [token, give]) {
      const result = createPlantStoreClient({ baseUrl, token: each }).createPlant(moss, { signal });
      await expect(result).rejects.toThrow('enough');
    }
    expect(give).not.toHaveBeenCalled();
    expect(received).toEqual([]);
  });

  test.each<[what: string, refused: boolean, later: (token: PromiseWithResolvers<string>) => void]>([
    ['the wait for a token that never comes', false, () => {}],
    ['the wait for a token that comes later', false, ({ resolve }) => resolve('late')],
    ['the wait for a token that fails later', false, ({ reject }) => reject(new Error('the issuer sleeps'))],
    ['the wait for a new token', true, ({ resolve }) => resolve('late')],
    ['the wait for a new token that fails later', true, ({ reject }) => reject(new Error('the issuer sleeps'))],
  ])('ends %s', async (_, lateOne, later) => {
    const { baseUrl, received } = await startScriptedService(forbidden);
    const end = new AbortController();
    const late = Promise.withResolvers<string>();
    const asked = Promise.withResolvers<void>();
    const { createPlant } = createPlantStoreClient({
      baseUrl,
      token: ({ refused }) => {
        if (refused !== lateOne) return 'a.b.c';
        asked.resolve();
        return late.promise;
      },
    });
    const result = createPlant(moss, { signal: end.signal });
    await asked.promise;
    end.abort(new Error('enough'));
    await expect(result).rejects.toThrow('enough');
    later(late);
    await settle();
    expect(received, 'requests').toHaveLength(lateOne ? 1 : 0);
    expect(getEventListeners(end.signal, 'abort')).toEqual([]);
  });

  test.each<[what: string, give: () => string | Promise<string>]>([
    ['at once', () => 'd.e.f'],
    ['and then waits', () => nextTurn('d.e.f')],
    [
      'and throws',
      () => {
        throw new Error('the issuer sleeps');
      },
    ],
  ])('ends the call before anything is sent, if the token function aborts the signal %s', async (_, give) => {
    const { baseUrl, received } = await startScriptedService(stored);
    const end = new AbortController();
    const { createPlant } = createPlantStoreClient({
      baseUrl,
      token: () => {
        end.abort(new Error('enough'));
        return give();
      },
    });
    await expect(createPlant(moss, { signal: end.signal })).rejects.toThrow('enough');
    await settle();
    expect(received).toEqual([]);
  });

  test('that is never aborted does not end the call, and has no listener of the client after the call', async () => {
    const { baseUrl } = await startScriptedService(unavailable, forbidden, stored);
    const { signal } = new AbortController();
    const { createPlant } = createPlantStoreClient({ baseUrl, token: async () => 'd.e.f' });
    expect(await createPlant(moss, { signal })).toMatchObject({ ok: true });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test("ends a request, and the call throws the signal's reason, even a reason that is not an Error", async () => {
    const end = new AbortController();
    const { baseUrl } = await startScriptedService(() => end.abort('enough'));
    const result = createPlantStoreClient({ baseUrl, token }).createPlant(moss, { signal: end.signal });
    await expect(result).rejects.toBe('enough');
  });
});

describe('a token function', () => {
  test('is called once for each plant, even if the client has to send the request twice', async () => {
    const { baseUrl, received } = await startScriptedService(unavailable, stored);
    const give = vi.fn(() => 'd.e.f');
    const { createPlant } = createPlantStoreClient({ baseUrl, token: give });
    await createPlant(moss);
    await createPlant(moss);
    expect(give.mock.calls).toEqual([[{ refused: false }], [{ refused: false }]]);
    expect(received.map(({ authorization }) => authorization)).toEqual(Array(3).fill('Bearer d.e.f'));
  });

  test.each([401, 403])('is called again, for a new token, after the status %i', async (status) => {
    const { baseUrl, received } = await startScriptedService(answer(status, { message: 'no' }), stored);
    const give = async ({ refused }: { refused: boolean }) => (refused ? 'new' : 'old');
    expect(await createPlantStoreClient({ baseUrl, token: give }).createPlant(moss)).toMatchObject({ ok: true });
    expect(received.map(({ authorization }) => authorization)).toEqual(['Bearer old', 'Bearer new']);
  });

  test.each<[what: string, token: string | (() => string), requests: number]>([
    ['is called at most twice for a plant, even if the service refuses both tokens', () => 'x', 2],
    ['is necessary to send a plant again after a 403: with a fixed token, the plant is not sent again', token, 1],
  ])('%s', async (_, given, requests) => {
    const { baseUrl, received } = await startScriptedService(forbidden);
    const refused = { ok: false, error: 'gateway', status: 403, message: 'Forbidden' };
    expect(await createPlantStoreClient({ baseUrl, token: given }).createPlant(moss)).toEqual(refused);
    expect(received, 'requests').toHaveLength(requests);
  });

  test.each([new Error('the issuer sleeps'), new TypeError('fetch failed')])(
    'can throw an error, which the method createPlant of the client then throws unchanged: %s',
    async (error) => {
      const { baseUrl, received } = await startScriptedService(stored);
      const { signal } = new AbortController();
      for (const give of [
        () => Promise.reject(error),
        () => {
          throw error;
        },
      ]) {
        const { createPlant } = createPlantStoreClient({ baseUrl, token: give });
        await expect(createPlant(moss)).rejects.toBe(error);
        await expect(createPlant(moss, { signal })).rejects.toBe(error);
        expect(getEventListeners(signal, 'abort')).toEqual([]);
      }
      expect(received).toEqual([]);
    },
  );
});
