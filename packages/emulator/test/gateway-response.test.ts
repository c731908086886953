/** Tests what the gateway sends to clients, and what it reports. */

import { describe, expect, test, vi } from 'vitest';
import { allowing, ask, route, start, token } from './kit/gateway.ts';

describe('the response of a function', () => {
  const malformed = (field: string) => [500, '{"message":"Internal Server Error"}', field] as const;
  test.each<[response: unknown, status: number, body: string, malformed?: string]>([
    [{ statusCode: 409, headers: { 'x-n': 1 }, body: '{}' }, 409, '{}'],
    [{ statusCode: 200, body: 'w6k=', isBase64Encoded: true }, 200, 'é'],
    [{ statusCode: 204, body: 'ok' }, 204, ''],
    [{ statusCode: 200, headers: null, body: null }, 200, ''],
    [{ name: 'Löffel' }, 200, '{"name":"Löffel"}'],
    ['Rake "ü"', 200, 'Rake "ü"'],
    ['', 200, ''],
    ['{"statusCode":404}', 200, '{"statusCode":404}'],
    [7, 200, '7'],
    [null, 200, 'null'],
    [[{ statusCode: 404 }, 'a'], 200, '[{"statusCode":404},"a"]'],
    [{ statusCode: 'x' }, ...malformed('statusCode')],
    [{ statusCode: 600 }, ...malformed('statusCode')],
    [{ statusCode: 200, body: {} }, ...malformed('body')],
    [{ statusCode: 200, headers: { a: {} } }, ...malformed('headers')],
    [{ statusCode: 200, headers: { a: 'x\r\ny: z' } }, ...malformed('headers')],
    [{ statusCode: 200, cookies: ['a=1\r\nx: y'] }, ...malformed('cookies')],
  ])('%j becomes the HTTP response %i %s', async (returned, status, body, field) => {
    const { log, headers, ...response } = await ask({ Orders: returned });
    expect(response).toMatchObject({ status, body });
    expect(log[0]?.error).toBe(field && `Orders: malformed response: its ${field} is invalid`);
    expect(headers['content-length']).toBe(status === 204 ? undefined : String(Buffer.byteLength(body)));
  });

  test("is sent with its headers, but without the connection's, and with a Set-Cookie header for each cookie", async () => {
    const connection = { 'Transfer-Encoding': 'chunked', trailer: 'x', connection: 'upgrade', 'content-length': '99' };
    const headers = { 'Retry-After': 1, ...connection };
    const { port } = await start({ Orders: { statusCode: 200, headers, cookies: ['a=1', 'b=2'], body: 'ok' } });
    const sent = { method: 'POST', headers: { authorization: 'Bearer t' } };
    const { headers: received } = await fetch(`http://127.0.0.1:${port}/orders`, sent);
    expect(Object.fromEntries(received)).toEqual({
      'apigw-requestid': expect.any(String),
      connection: 'keep-alive',
      'content-length': '2',
      'content-type': 'text/plain; charset=utf-8',
      date: expect.any(String),
      'keep-alive': expect.any(String),
      'retry-after': '1',
      'set-cookie': 'b=2',
    });
    expect(received.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  test.each([
    ['a 413 if the event is too large for the function', { failure: 'over 6 MB', tooLarge: true as const }, 413],
    ['a 500 if the function fails', { failure: 'timed out' }, 500],
  ])('is replaced by %s', async (_, failure, status) => {
    const answer = await ask({ invoke: allowing(async () => ({ ...failure, log: [] })) });
    expect(answer).toMatchObject({ status, log: [{ status, error: `Orders: ${failure.failure}` }] });
  });

  test('is replaced by a 503 if the function does not return before the timeout of the integration', async () => {
    const invoke = allowing(() => new Promise<never>(() => {}));
    const answer = await ask({ invoke }, { routes: [{ ...route, timeout: 50 }] });
    expect(answer).toMatchObject({ status: 503, body: '{"message":"Service Unavailable"}' });
  });
});

describe('the gateway', () => {
  test('responds to a path with a broken escape sequence with a message and a request id, and logs the request', async () => {
    const { status, headers, body, log } = await ask({}, {}, 'POST /%E0%A4%A');
    expect([status, headers['content-type']]).toEqual([400, 'application/json']);
    expect(JSON.parse(body)).toEqual({ message: expect.any(String) });
    expect(log).toMatchObject([{ status, requestId: headers['apigw-requestid'] }]);
  });

  test('logs each request once, with the lines that the functions logged for this request', async () => {
    const line = { functionName: 'Orders', level: 'INFO', message: { outcome: 'stored' } };
    const invoke = allowing(async () => ({ result: '{"statusCode":200}', log: [line] }));
    const { send, log } = await start({ invoke });
    await send('POST /orders?secret=1', [token], '{}');
    await send('POST /other', [token], '{}');
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    const measured = { time, method: 'POST', milliseconds: expect.any(Number), requestId: expect.any(String) };
    expect(log).toEqual([
      { ...measured, path: '/orders', status: 200, log: [line] },
      { ...measured, path: '/other', status: 404, errorBody: '{"message":"Not Found"}', log: [] },
    ]);
  });

  test('logs the beginning of the body of a 4xx', async () => {
    const { log } = await ask({ Orders: { statusCode: 400, body: `é${'x'.repeat(5_000)}` } });
    expect(log[0]?.errorBody).toBe(`é${'x'.repeat(3_999)}`);
  });
});

test('the gateway goes on serving, and reports the error on stderr, if onRequest rejects', async () => {
  const stderr = vi.spyOn(console, 'error').mockReturnValue();
  const { send } = await start({}, {}, { onRequest: () => Promise.reject(new Error('no\u001b[ disk')) });
  for (const _ of [1, 2]) expect(await send('POST /orders', [token], '{}')).toMatchObject({ status: 200 });
  expect(stderr.mock.calls).toEqual(
    Array(2).fill([expect.stringMatching(/^onRequest failed: Error: no\\u001b\[ disk\n/)]),
  );
});
