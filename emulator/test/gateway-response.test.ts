import { describe, expect, test } from 'vitest';
import type { Outcome } from '../lambda/functions.ts';
import { allow, asJson, post, type Response, route, start, token } from './kit/gateway.ts';

describe('the response of a function', () => {
  test.each<[unknown, Partial<Response>]>([
    [
      { statusCode: 409, headers: { 'Content-Type': 'application/json', 'x-n': 1 }, body: '{}' },
      { status: 409, body: '{}' },
    ],
    [
      { statusCode: 200, body: 'w6k=', isBase64Encoded: true },
      { status: 200, body: 'é' },
    ],
    [{ statusCode: 204 }, { status: 204, body: '' }],
    [
      { statusCode: 204, body: 'ok' },
      { status: 204, body: '' },
    ],
    [
      { statusCode: 200, headers: null, body: null },
      { status: 200, body: '' },
    ],
    [{ name: 'Löffel' }, { status: 200, body: '{"name":"Löffel"}' }],
    ['Rake', { status: 200, body: '"Rake"' }],
    [[1], { status: 200, body: '[1]' }],
    [null, { status: 200, body: 'null' }],
    [{ statusCode: 'x' }, { status: 500 }],
    [{ statusCode: 99 }, { status: 500 }],
    [{ statusCode: 599, body: '' }, { status: 599 }],
    [{ statusCode: 600 }, { status: 500 }],
    [{ statusCode: 200, body: {} }, { status: 500 }],
    [{ statusCode: 200, headers: { a: {} } }, { status: 500 }],
    [{ statusCode: 200, headers: { a: 'x\r\ny: z' } }, { status: 500 }],
    [{ statusCode: 200, headers: { 'a b': 'x' } }, { status: 500 }],
    [{ statusCode: 200, cookies: 'a=1' }, { status: 500 }],
    [{ statusCode: 200, cookies: ['a=1\r\nx: y'] }, { status: 500 }],
  ])('%j becomes the HTTP response %j', async (response, expected) => {
    const { port } = await start({ Orders: response });
    const actual = await post(port, '{}', [token]);
    expect(actual).toMatchObject(expected);
    const length = actual.status === 204 ? undefined : String(Buffer.byteLength(actual.body));
    expect(actual.headers['content-length']).toBe(length);
    if (actual.status === 500) expect(actual.body).toBe('{"message":"Internal Server Error"}');
  });

  test('is sent with its headers, and with a Set-Cookie header for each cookie', async () => {
    const { port } = await start({
      Orders: { statusCode: 200, headers: { 'Retry-After': 1 }, cookies: ['a=1', 'b=2'], body: '' },
    });
    const { headers } = await fetch(`http://127.0.0.1:${port}/orders`, {
      method: 'POST',
      headers: { authorization: 'Bearer t' },
    });
    expect(headers.get('retry-after')).toBe('1');
    expect(headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  });

  test("is sent without the function's connection-specific headers, such as Transfer-Encoding", async () => {
    const headers = { 'Transfer-Encoding': 'chunked', trailer: 'x', connection: 'upgrade', 'content-length': '99' };
    const { port } = await start({ Orders: { statusCode: 200, headers, body: 'ok' } });
    const response = await post(port, '{}', [token]);
    expect(response).toMatchObject({
      status: 200,
      body: 'ok',
      headers: { 'content-length': '2', connection: 'close' },
    });
    expect(Object.keys(response.headers)).not.toEqual(expect.arrayContaining(['trailer']));
    expect(response.headers).not.toHaveProperty('transfer-encoding');
  });

  test('is replaced by a 413 if the event is too large to be passed to the function', async () => {
    const invoke = async (name: string): Promise<Outcome> =>
      name === 'Authorizer' ? asJson(allow) : { failure: 'over 6 MB', tooLarge: true, log: [] };
    const { port } = await start({ invoke });
    expect(await post(port, '{}', [token])).toMatchObject({
      status: 413,
      body: '{"message":"Request Entity Too Large"}',
    });
  });

  test('is replaced by a 503 if the function does not return before the timeout of the integration', async () => {
    const invoke = (name: string) =>
      name === 'Authorizer' ? Promise.resolve(asJson(allow)) : new Promise<never>(() => {});
    const { port } = await start({ invoke }, { routes: [{ ...route, timeout: 50 }] });
    expect(await post(port, '{}', [token])).toMatchObject({ status: 503, body: '{"message":"Service Unavailable"}' });
  });

  test('is replaced by a 500 if the function fails', async () => {
    const invoke = async (name: string): Promise<Outcome> =>
      name === 'Authorizer' ? asJson(allow) : { failure: 'timed out', log: [] };
    const { port } = await start({ invoke });
    expect(await post(port, '{}', [token])).toMatchObject({ status: 500 });
  });
});
