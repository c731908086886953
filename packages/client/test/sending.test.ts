/** Tests how the client sends a request: retries, redirects, tokens and abort signals. The operation is invented. */
import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inspect } from 'node:util';
import { answer, startScriptedService } from '@lambda-service/testing/servers';
import { until } from '@lambda-service/testing/waiting';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type ClientOptions, callOf, type Options, type Token } from '../call.ts';
import type { Operation } from '../request.ts';

const addBook: Operation = {
  method: 'POST',
  path: '/books',
  parameters: [],
  body: { id: 'int64', name: 'string' },
  responses: [{ status: 200, types: ['object'], requires: ['name'], repeats: ['name'] }],
  errorCodes: [40901, 50001, 50301],
};
const ann = { id: 1, name: 'Ann' };
const stored = answer(200, { name: 'Ann' });
const unavailable = answer(503, { error: 50301, message: 'later' }, { 'retry-after': '0' });
const forbidden = answer(403, { message: 'Forbidden' });
const foreign = { ok: false, error: 'gateway', message: 'the response is not from this service' };
const enough = new Error('enough');

/** Starts a service that sends these responses. @returns a call that adds a book there, and the requests */
const start = async (...script: Parameters<typeof startScriptedService>) => {
  const { baseUrl, received, requests } = await startScriptedService(...script);
  const create = (signal?: AbortSignal, token: Token = 'a.b.c') =>
    callOf(addBook, baseUrl, token)(ann, signal && { signal });
  return { create, baseUrl, received, requests };
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

/** Returns whether the client waits before a retry: with a fixed token, only then does it listen to `signal`. */
const isWaiting = (signal: AbortSignal): boolean => getEventListeners(signal, 'abort').length > 0;

test.each<[what: string, status: number, body: unknown]>([
  ['succeeded', 200, { name: 'Ann', since: 2027 }],
  ['was refused', 409, { error: 40901, message: 'taken' }],
  ['got a response from something else', 200, { welcome: 'to our wireless network' }],
])('a result has the request id of the last response if the call %s', async (_, status, body) => {
  const first = answer(503, {}, { 'retry-after': '0', 'apigw-requestid': 'first=' });
  const { create } = await start(first, answer(status, body, { 'apigw-requestid': 'second=' }));
  expect(await create()).toMatchObject({ status, requestId: 'second=' });
});

test('the client does not follow a redirect', async () => {
  const status = 307;
  const elsewhere = await startScriptedService(stored);
  const { create, received } = await start(answer(status, { message: 'moved' }, { location: elsewhere.baseUrl }));
  expect(await create()).toEqual({ ...foreign, status });
  expect([received.length, elsewhere.received.length]).toEqual([1, 0]);
});

describe('the client sends a book again', () => {
  const cut: typeof stored = (response) => {
    response.writeHead(200, { 'content-length': '15' }).write('{"name"', () => response.destroy());
  };

  test.each([
    [429, '7', 7_000],
    [503, '7', 7_000],
    [503, '86400', 10_000],
  ])('after the status %i with Retry-After: %s, once %i ms have passed', async (status, retryAfter, wait) => {
    stopTimers();
    const { create, received } = await start(answer(status, '<html>', { 'retry-after': retryAfter }), stored);
    const { signal } = new AbortController();
    const result = create(signal);
    await until(() => isWaiting(signal));
    vi.advanceTimersByTime(wait - 1);
    expect(isWaiting(signal), `waiting after ${wait - 1} ms`).toBe(true);
    vi.advanceTimersByTime(1);
    expect(await result).toMatchObject({ ok: true });
    expect(received, 'requests').toHaveLength(2);
    expect(received[1]).toEqual(received[0]);
  });

  test.each<[what: string, script: typeof stored]>([
    ['a connection that broke', (response) => response.destroy()],
    ['a response that broke off', cut],
  ])('after %s', async (_, script) => {
    const { create, received } = await start(script, stored);
    expect(await create()).toMatchObject({ ok: true });
    expect(received, 'requests').toHaveLength(2);
  });

  test('at most twice', async () => {
    const { create, received } = await start(unavailable);
    expect(await create()).toMatchObject({ ok: false, error: 50301 });
    expect(received, 'requests').toHaveLength(3);
  });

  test('after a pause of at most ten seconds, however often it has been sent', async () => {
    stopTimers();
    vi.spyOn(Math, 'random').mockReturnValue(1);
    const { baseUrl, received } = await start(answer(502, {}));
    const { signal } = new AbortController();
    const result = callOf(addBook, baseUrl, 'a.b.c', { retries: 7 })(ann, { signal });
    for (let retry = 1; retry <= 7; retry += 1) {
      await until(() => isWaiting(signal));
      vi.advanceTimersByTime(10_000);
      expect(isWaiting(signal), `waiting after ten seconds, retry ${retry}`).toBe(false);
    }
    expect(await result).toMatchObject({ status: 502 });
    expect(received, 'requests').toHaveLength(8);
  });

  test.each([
    [413, {}],
    [500, { error: 50001, message: 'internal error' }],
  ])('but not after the status %i with the body %j', async (status, body) => {
    const { create, received } = await start(answer(status, body, { 'retry-after': '0' }), stored);
    expect(await create()).toMatchObject({ ok: false, status });
    expect(received, 'requests').toHaveLength(1);
  });

  test('after ten seconds without a complete response, and after three of these returns what happened', async () => {
    stopTimers();
    let givenUp = 0;
    const { create, received } = await start((response) =>
      response
        .on('close', () => (givenUp += 1))
        .writeHead(200)
        .write('{"name"'),
    );
    const result = create();
    for (const count of [1, 2, 3]) {
      await until(() => received.length === count);
      vi.advanceTimersByTime(9_999);
      await settle();
      expect(givenUp, 'given up after 9,999 ms').toBe(count - 1);
      vi.advanceTimersByTime(1);
      await until(() => givenUp === count);
      vi.advanceTimersByTime(1_000);
    }
    const cause = expect.objectContaining({ name: 'TimeoutError' });
    expect(await result).toEqual({ ok: false, error: 'no answer', message: 'no answer within 10 seconds', cause });
    expect(inspect(await result, { depth: Number.POSITIVE_INFINITY })).not.toContain('a.b.c');
  });
});

describe('if no response arrives, the client', () => {
  test('returns the reason, without the token', async () => {
    const result = await callOf(addBook, 'http://127.0.0.1:2', 'a.b.c', { retries: 0 })(ann);
    const message = 'connect ECONNREFUSED 127.0.0.1:2';
    expect(result).toEqual({ ok: false, error: 'no answer', message, cause: expect.any(TypeError) });
    expect(inspect(result, { depth: Number.POSITIVE_INFINITY })).not.toContain('a.b.c');
  });

  test.each<[what: string, cause: unknown, message: string]>([
    ['its code, if it has no message', Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    ['its text, if it is not an Error', 'the cable is out', 'the cable is out'],
  ])('returns a message that describes the cause: %s', async (_, cause, message) => {
    stopTimers();
    vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('fetch failed', { cause }));
    const result = callOf(addBook, 'http://books.example', 'a.b.c')(ann);
    await vi.runAllTimersAsync();
    expect(await result).toMatchObject({ error: 'no answer', message });
  });
});

describe('an option', () => {
  /** Calls a service that sends these responses, with options of the client and of the call. */
  const callWith = async (defaults: ClientOptions, options: Options, ...script: Parameters<typeof start>) => {
    const { baseUrl, requests } = await start(...script);
    return { result: await callOf(addBook, baseUrl, 'a.b.c', defaults)(ann, options), requests };
  };

  test('of a call wins over the same option of the client, which applies if the call has undefined', async () => {
    const count = async (defaults: ClientOptions, options: object) =>
      (await callWith(defaults, options, unavailable)).requests.length;
    expect(await count({ retries: 0 }, { retries: undefined })).toBe(1);
    expect(await count({ retries: 0 }, { retries: 3 })).toBe(4);
  });

  test('`fetch` sends each attempt, and may return the response itself', async () => {
    const sent: string[] = [];
    async function send(this: unknown, request: Request): Promise<Response> {
      // Browsers refuse to call `fetch` as a method of anything but the window.
      expect(this).toBeUndefined();
      sent.push(`${request.method} ${request.url} ${request.headers.get('authorization')} ${await request.text()}`);
      return sent.length === 1 ? Response.json({}, { status: 502 }) : Response.json({ name: 'Ann' });
    }
    const result = await callOf(addBook, 'http://books.example', 'a.b.c')(ann, { fetch: send });
    expect(result).toMatchObject({ ok: true, body: { name: 'Ann' } });
    expect(sent).toEqual(Array(2).fill('POST http://books.example/books Bearer a.b.c {"id":1,"name":"Ann"}'));
  });

  test("`headers` adds the headers of the client and of the call, but replaces none of the client's own", async () => {
    const defaults = { 'X-One': 'client', 'x-two': 'client', Authorization: 'Basic eA==' };
    const own = { 'x-one': 'call', authorization: 'Basic eA==', 'Content-Type': 'text/plain' };
    const { requests } = await callWith({ headers: defaults }, { headers: own }, stored);
    const sent = { 'x-one': 'call', 'x-two': 'client', authorization: 'Bearer a.b.c' };
    expect(requests[0]?.headers).toMatchObject({ ...sent, 'content-type': 'application/json' });
  });

  test.each<[defaults: ClientOptions, options: Options]>([
    [{ attemptTimeout: 2_500 }, {}],
    [{ attemptTimeout: 9_000 }, { attemptTimeout: 2_500 }],
  ])('`attemptTimeout` limits each attempt, in milliseconds: %j %j', async (defaults, options) => {
    stopTimers();
    const { baseUrl, received } = await start(() => {});
    const result = callOf(addBook, baseUrl, 'a.b.c', { ...defaults, retries: 0 })(ann, options);
    await until(() => received.length === 1);
    // With the wrong limit, the call ends, too, and the message tells them apart.
    vi.advanceTimersByTime(9_000);
    expect(await result).toMatchObject({ error: 'no answer', message: 'no answer within 2.5 seconds' });
  });

  test.each<Options>([
    { attemptTimeout: Number.NaN },
    { attemptTimeout: 0 },
    { attemptTimeout: 2 ** 31 },
    { retries: -1 },
    { retries: 0.5 },
  ])('that has an invalid value makes the call throw a TypeError, and nothing is sent: %o', async (options) => {
    const { baseUrl, received } = await start(stored);
    await expect(callOf(addBook, baseUrl, 'a.b.c')(ann, options)).rejects.toThrow(TypeError);
    expect(received).toEqual([]);
  });

  test.each(['s3\ncret', 's3cr\u0113t'])('`headers` is not quoted if it cannot be sent: %j', async (bad) => {
    const { baseUrl, received } = await start(stored);
    const error = await callOf(addBook, baseUrl, 'a.b.c')(ann, { headers: { 'x-key': bad } }).catch((thrown) => thrown);
    expect(error).toEqual(new TypeError('The header x-key has a character that headers cannot contain.'));
    expect(inspect(error)).not.toContain(bad);
    expect(received).toEqual([]);
  });
});

test('a redirect that a browser hides is not a response, and has no status', async () => {
  const hidden = async () => Response.error();
  const result = await callOf(addBook, 'http://books.example', 'a.b.c', { fetch: hidden })(ann);
  const message = 'a redirect, which browsers hide';
  expect(result).toEqual({ ok: false, error: 'no answer', message, cause: expect.any(Error) });
});

test.each<[bad: unknown, says: string]>([
  ...['a.b c', 'a.b.c\n', ' a.b.c', 'a.b.\u00e9'].map((bad): [string, string] => [
    bad,
    'The access token contains a character that tokens cannot contain.',
  ]),
  ...['', undefined, null, 7, ['a.b.c'], { access_token: 'a.b.c' }, new String('a.b.c')].map(
    (bad): [unknown, string] => [bad, 'The access token must be a string, and not be empty.'],
  ),
])('the client neither sends nor quotes an invalid token: %j', async (bad, says) => {
  const { baseUrl, received } = await start(stored);
  for (const token of [bad, () => bad, async () => bad]) {
    const error = await callOf(addBook, baseUrl, token as Token)(ann).catch((thrown) => thrown);
    expect(error).toEqual(new TypeError(says));
    if (typeof bad === 'string' && bad !== '') expect(inspect(error)).not.toContain(JSON.stringify(bad).slice(1, -1));
  }
  expect(received).toEqual([]);
});

test('the client sends no second request if the function has no token after a refusal', async () => {
  const { create, received } = await start(forbidden);
  const token = ({ refused }: { refused: boolean }) => (refused ? undefined : 'a.b.c');
  await expect(create(undefined, token as Token)).rejects.toThrow('The access token must be a string');
  expect(received).toHaveLength(1);
});

describe('an abort signal', () => {
  test.each<[what: string, script: (end: () => void) => typeof stored]>([
    ['a request under way', (end) => end],
    ['a response under way', (end) => (response) => response.writeHead(200).write('{', end)],
  ])('ends %s, and the call throws the reason', async (_, script) => {
    stopTimers();
    const end = new AbortController();
    const { create, received } = await start(script(() => end.abort('enough')));
    await expect(create(end.signal)).rejects.toBe('enough');
    vi.advanceTimersByTime(60_000);
    await settle();
    expect(received, 'requests').toHaveLength(1);
    expect(getEventListeners(end.signal, 'abort')).toEqual([]);
  });

  test('ends the wait before a retry', async () => {
    stopTimers();
    const end = new AbortController();
    const { create, received } = await start(answer(503, {}, { 'retry-after': '7' }));
    const result = create(end.signal);
    await until(() => isWaiting(end.signal));
    end.abort(enough);
    await expect(result).rejects.toBe(enough);
    expect(received, 'requests').toHaveLength(1);
  });

  test('ends the call before anything is sent, if the signal is already aborted', async () => {
    const { create, received } = await start(stored);
    const give = vi.fn(() => 'd.e.f');
    for (const token of ['a.b.c', give]) await expect(create(AbortSignal.abort(enough), token)).rejects.toBe(enough);
    expect(give).not.toHaveBeenCalled();
    expect(received).toEqual([]);
  });

  test.each<[what: string, refused: boolean, later: (token: PromiseWithResolvers<string>) => void]>([
    ['a token that never comes', false, () => {}],
    ['a new token that fails later', true, ({ reject }) => reject(new Error('the issuer sleeps'))],
  ])('ends the wait for %s', async (_, lateOne, later) => {
    const { create, received } = await start(forbidden);
    const end = new AbortController();
    const late = Promise.withResolvers<string>();
    const asked = Promise.withResolvers<void>();
    const result = create(end.signal, ({ refused }) => {
      if (refused !== lateOne) return 'a.b.c';
      asked.resolve();
      return late.promise;
    });
    await asked.promise;
    end.abort(enough);
    await expect(result).rejects.toBe(enough);
    later(late);
    await settle();
    expect(received, 'requests').toHaveLength(lateOne ? 1 : 0);
    expect(getEventListeners(end.signal, 'abort')).toEqual([]);
  });

  test('that is never aborted does not end the call, and has no listener of the client after the call', async () => {
    const { create } = await start(unavailable, forbidden, stored);
    const { signal } = new AbortController();
    expect(await create(signal, async () => 'd.e.f')).toMatchObject({ ok: true });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a token function', () => {
  test('is called once for each book, even if the client has to send the request twice', async () => {
    const { create, received } = await start(unavailable, stored);
    const give = vi.fn(() => 'd.e.f');
    await create(undefined, give);
    await create(undefined, give);
    expect(give.mock.calls).toEqual([[{ refused: false }], [{ refused: false }]]);
    expect(received.map(({ authorization }) => authorization)).toEqual(Array(3).fill('Bearer d.e.f'));
  });

  test.each([401, 403])('is called again, for a new token, after the status %i', async (status) => {
    const { create, received } = await start(answer(status, { message: 'no' }), stored);
    expect(await create(undefined, async ({ refused }) => (refused ? 'new' : 'old'))).toMatchObject({ ok: true });
    expect(received.map(({ authorization }) => authorization)).toEqual(['Bearer old', 'Bearer new']);
  });

  test.each<[what: string, token: Token, requests: number]>([
    ['is called at most twice for a book, even if the service refuses both tokens', () => 'x', 2],
    ['is necessary to send a book again after a 403: with a fixed token, the book is not sent again', 'x', 1],
  ])('%s', async (_, token, requests) => {
    const { create, received } = await start(forbidden);
    const refused = { ok: false, error: 'token refused', status: 403, message: 'Forbidden' };
    expect(await create(undefined, token)).toEqual(refused);
    expect(received, 'requests').toHaveLength(requests);
  });

  test('can throw an error, which the call then throws unchanged', async () => {
    const { create, received } = await start(stored);
    const { signal } = new AbortController();
    await expect(create(undefined, () => Promise.reject(enough))).rejects.toBe(enough);
    await expect(create(signal, () => Promise.reject(enough))).rejects.toBe(enough);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(received).toEqual([]);
  });
});
