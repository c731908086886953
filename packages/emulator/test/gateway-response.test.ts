/** Tests what the gateway sends to clients, and what it reports. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import type { gateway } from '../gateway/server.ts';
import type { Outcome } from '../lambda/functions.ts';
import { allowing, asJson, exchange, openRoute, post, route, send, start, token } from './kit/gateway.ts';

describe('the response of a function', () => {
  const malformed = (field: string) => [500, '{"message":"Internal Server Error"}', field] as const;
  test.each<[response: unknown, status: number, body: string, malformed?: string]>([
    [{ statusCode: 409, headers: { 'x-n': 1 }, body: '{}' }, 409, '{}'],
    [{ statusCode: 200, body: 'w6k=', isBase64Encoded: true }, 200, 'é'],
    [{ statusCode: 204, body: 'ok' }, 204, ''],
    [{ statusCode: 200, headers: null, body: null }, 200, ''],
    [{ name: 'Löffel' }, 200, '{"name":"Löffel"}'],
    ['Rake', 200, '"Rake"'],
    [{ statusCode: 'x' }, ...malformed('statusCode')],
    [{ statusCode: 600 }, ...malformed('statusCode')],
    [{ statusCode: 200, body: {} }, ...malformed('body')],
    [{ statusCode: 200, headers: { a: {} } }, ...malformed('headers')],
    [{ statusCode: 200, headers: { a: 'x\r\ny: z' } }, ...malformed('headers')],
    [{ statusCode: 200, cookies: ['a=1\r\nx: y'] }, ...malformed('cookies')],
  ])('%j becomes the HTTP response %i %s', async (returned, status, body, field) => {
    const { port, log } = await start({ Orders: returned });
    const response = await post(port, '{}', [token]);
    expect(response).toMatchObject({ status, body });
    expect(log[0]?.error).toBe(field && `Orders: malformed response: its ${field} is invalid`);
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

type GatewayOptions = Parameters<typeof gateway>[0];

describe('the gateway', () => {
  test.each([
    ['bytes that are not HTTP', 'nonsense\r\n\r\n', 400],
    ['a path with a broken escape sequence', 'POST /%E0%A4%A HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
  ])('responds to %s with a message and a request id, and logs the request', async (_, bytes, status) => {
    const { port, log } = await start();
    const response = await exchange(port, bytes);
    expect(response).toMatchObject({ status, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(response.body)).toEqual({ message: expect.any(String) });
    expect(log).toMatchObject([{ status, requestId: response.headers['apigw-requestid'] }]);
  });

  const request = 'POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}';
  const nonsense = 'nonsense\r\n\r\n';
  const routes = [openRoute('POST /orders')];

  test('closes the connection, without a 400, if invalid bytes arrive while the second of two pipelined requests is unanswered', async () => {
    const called = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<Outcome>();
    const answers = [Promise.resolve(asJson({ statusCode: 201 })), finish.promise];
    const invoke = (): Promise<Outcome> => {
      if (answers.length === 1) called.resolve();
      return answers.shift() ?? finish.promise;
    };
    const { port } = await start({ invoke }, { routes });
    const socket = connect(port, '127.0.0.1');
    socket.write(request + request);
    const [first] = await once(socket, 'data');
    await called.promise;
    socket.write(nonsense);
    const rest = await socket.toArray();
    finish.resolve(asJson({ statusCode: 200 }));
    expect(Buffer.concat([first, ...rest]).toString()).toMatch(/^HTTP\/1\.1 201 (?!.*HTTP\/1\.1 400)/s);
  });

  test('responds 400 to invalid bytes after a request that it has already answered', async () => {
    const { port } = await start({}, { routes });
    const socket = connect(port, '127.0.0.1');
    socket.write(request);
    await once(socket, 'data');
    socket.end(nonsense);
    expect(Buffer.concat(await socket.toArray()).toString()).toMatch(/^HTTP\/1\.1 400 Bad Request\r$/m);
  });

  test('logs each request once, with the lines that the functions logged for this request', async () => {
    const line = { functionName: 'Orders', level: 'INFO', message: { outcome: 'stored' } };
    const { port, log } = await start({
      invoke: allowing(async () => ({ result: '{"statusCode":200}', log: [line] })),
    });
    await post(port, '{}', [token], '/orders?secret=1');
    await post(port, '{}', [token], '/other');
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    const measured = { time, method: 'POST', milliseconds: expect.any(Number), requestId: expect.any(String) };
    expect(log).toEqual([
      { ...measured, path: '/orders', status: 200, log: [line] },
      { ...measured, path: '/other', status: 404, errorBody: '{"message":"Not Found"}', log: [] },
    ]);
  });

  test('logs the beginning of the body of a 4xx', async () => {
    const { port, log } = await start({ Orders: { statusCode: 400, body: `é${'x'.repeat(5_000)}` } });
    await post(port, '{}', [token]);
    expect(log[0]?.errorBody).toBe(`é${'x'.repeat(3_999)}`);
  });
});

describe('a gateway with the hooks intercept and onRequest', () => {
  const thrower = () => {
    throw new Error('no disk');
  };

  test('responds 500 and logs the cause if intercept throws', async () => {
    const { port, log } = await start({}, {}, { intercept: thrower });
    expect(await send(port, 'GET /')).toMatchObject({ status: 500, body: '{"message":"Internal Server Error"}' });
    expect(log).toMatchObject([{ method: 'GET', path: '/', status: 500, error: 'intercept failed: no disk', log: [] }]);
  });

  test('closes the connection if intercept begins a response and then throws', async () => {
    const intercept: GatewayOptions['intercept'] = (_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('part');
      return thrower();
    };
    const { port, log } = await start({}, {}, { intercept });
    expect(await send(port, 'GET /')).toMatchObject({ body: '' });
    expect(log).toMatchObject([{ status: 500, error: 'intercept failed: no disk' }]);
  });

  test('goes on serving, and reports the error on stderr, if onRequest rejects', async () => {
    const stderr = vi.spyOn(console, 'error').mockReturnValue();
    const { port } = await start({}, {}, { onRequest: async () => thrower() });
    expect(await post(port, '{}', [token])).toMatchObject({ status: 200 });
    expect(await exchange(port, 'nonsense\r\n\r\n')).toMatchObject({ status: 400 });
    expect(stderr.mock.calls).toEqual(Array(2).fill(['onRequest failed:', new Error('no disk')]));
  });
});
