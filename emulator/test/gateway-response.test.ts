import { describe, expect, test } from 'vitest';
import { allowing, post, route, start, token } from './kit/gateway.ts';

describe('the response of a function', () => {
  const malformed = [500, '{"message":"Internal Server Error"}'] as const;
  test.each<[response: unknown, status: number, body: string]>([
    [{ statusCode: 409, headers: { 'x-n': 1 }, body: '{}' }, 409, '{}'],
    [{ statusCode: 200, body: 'w6k=', isBase64Encoded: true }, 200, 'é'],
    [{ statusCode: 204, body: 'ok' }, 204, ''],
    [{ statusCode: 200, headers: null, body: null }, 200, ''],
    [{ name: 'Löffel' }, 200, '{"name":"Löffel"}'],
    ['Rake', 200, '"Rake"'],
    [[1], 200, '[1]'],
    [null, 200, 'null'],
    [{ statusCode: 599, body: '' }, 599, ''],
    [{ statusCode: 'x' }, ...malformed],
    [{ statusCode: 199 }, ...malformed],
    [{ statusCode: 600 }, ...malformed],
    [{ statusCode: 200, body: {} }, ...malformed],
    [{ statusCode: 200, headers: { a: {} } }, ...malformed],
    [{ statusCode: 200, headers: { a: 'x\r\ny: z' } }, ...malformed],
    [{ statusCode: 200, headers: { 'a b': 'x' } }, ...malformed],
    [{ statusCode: 200, cookies: 'a=1' }, ...malformed],
    [{ statusCode: 200, cookies: ['a=1\r\nx: y'] }, ...malformed],
  ])('%j becomes the HTTP response %i %s', async (returned, status, body) => {
    const { port } = await start({ Orders: returned });
    const response = await post(port, '{}', [token]);
    expect(response).toMatchObject({ status, body });
    expect(response.headers['content-length']).toBe(status === 204 ? undefined : String(Buffer.byteLength(body)));
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
    const { port, log } = await start({ invoke: allowing(async () => ({ ...failure, log: [] })) });
    expect(await post(port, '{}', [token])).toMatchObject({ status });
    expect(log).toMatchObject([{ status, error: `Orders: ${failure.failure}` }]);
  });

  test('is replaced by a 503 if the function does not return before the timeout of the integration', async () => {
    const invoke = allowing(() => new Promise<never>(() => {}));
    const { port } = await start({ invoke }, { routes: [{ ...route, timeout: 50 }] });
    expect(await post(port, '{}', [token])).toMatchObject({ status: 503, body: '{"message":"Service Unavailable"}' });
  });
});
