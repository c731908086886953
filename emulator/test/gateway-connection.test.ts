import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import type { gateway } from '../gateway/server.ts';
import type { Outcome } from '../lambda/functions.ts';
import { allowing, asJson, exchange, openRoute, post, send, start, token } from './kit/gateway.ts';

type GatewayOptions = Parameters<typeof gateway>[0];

describe('the gateway', () => {
  test.each([
    ['bytes that are not HTTP', 'nonsense\r\n\r\n', 400],
    ['headers that exceed the limit of Node', `GET / HTTP/1.1\r\nX: ${'x'.repeat(70_000)}`, 431],
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
    const measured = { method: 'POST', milliseconds: expect.any(Number), requestId: expect.any(String) };
    expect(log).toEqual([
      { ...measured, path: '/orders', status: 200, log: [line] },
      { ...measured, path: '/other', status: 404, log: [] },
    ]);
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

  test.each<[what: string, onRequest: () => void]>([
    ['throws', thrower],
    ['rejects', async () => thrower()],
  ])('goes on serving, and reports the error on stderr, if onRequest %s', async (_, onRequest) => {
    const stderr = vi.spyOn(console, 'error').mockReturnValue();
    const { port } = await start({}, {}, { onRequest });
    expect(await post(port, '{}', [token])).toMatchObject({ status: 200 });
    expect(await exchange(port, 'nonsense\r\n\r\n')).toMatchObject({ status: 400 });
    expect(stderr.mock.calls).toEqual(Array(2).fill(['onRequest failed:', new Error('no disk')]));
  });
});
