import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import type { Outcome } from '../lambda/functions.ts';
import { allow, asJson, exchange, openRoute, post, send, start, token } from './kit/gateway.ts';

describe('the gateway', () => {
  test.each([
    ['bytes that are not HTTP', 'nonsense\r\n\r\n', 400],
    ['headers that exceed the limit of Node', `GET / HTTP/1.1\r\nX: ${'x'.repeat(70_000)}`, 431],
    ['a path with a broken escape sequence', 'POST /%E0%A4%A HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['a request without Host', 'POST / HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    [
      'a request with an unknown expectation',
      'POST / HTTP/1.1\r\nHost: x\r\nExpect: more\r\nConnection: close\r\n\r\n',
      417,
    ],
  ])('responds to %s with a message and a request id, and logs the request', async (_, bytes, status) => {
    const { port, log } = await start();
    const response = await exchange(port, bytes);
    expect(response).toMatchObject({ status, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(response.body)).toEqual({ message: expect.any(String) });
    expect(log).toMatchObject([{ status, requestId: response.headers['apigw-requestid'] }]);
  });

  test('sends no 400 for invalid bytes that follow a request still in progress', async () => {
    const called = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<Outcome>();
    const invoke = (name: string) => {
      if (name === 'Authorizer') return Promise.resolve(asJson(allow));
      called.resolve();
      return finish.promise;
    };
    const { port } = await start({ invoke });
    const head = 'POST /orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nContent-Length: 2\r\n\r\n{}';
    const response = exchange(port, head, 'nonsense\r\n\r\n');
    await called.promise;
    finish.resolve(asJson({ statusCode: 200 }));
    expect((await response).status, 'status').not.toBe(400);
  });

  test('closes the connection, without a 400, if invalid bytes arrive while the second of two pipelined requests is unanswered', async () => {
    const called = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<Outcome>();
    const answers = [Promise.resolve(asJson({ statusCode: 201 })), finish.promise];
    const invoke = (): Promise<Outcome> => {
      if (answers.length === 1) called.resolve();
      return answers.shift() ?? finish.promise;
    };
    const { port } = await start({ invoke }, { routes: [openRoute('POST /orders')] });
    const socket = connect(port, '127.0.0.1');
    const head = 'POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}';
    socket.write(head + head);
    const [first] = await once(socket, 'data');
    await called.promise;
    socket.write('nonsense\r\n\r\n');
    const rest = await socket.toArray();
    finish.resolve(asJson({ statusCode: 200 }));
    expect(Buffer.concat([first, ...rest]).toString()).toMatch(/^HTTP\/1\.1 201 (?!.*HTTP\/1\.1 400)/s);
  });

  test('responds 400 to invalid bytes after a request that it has already answered', async () => {
    const { port } = await start();
    const socket = connect(port, '127.0.0.1');
    const head = 'POST /orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nContent-Length: 2\r\n\r\n{}';
    socket.write(head);
    await once(socket, 'data');
    socket.end('nonsense\r\n\r\n');
    expect(Buffer.concat(await socket.toArray()).toString()).toMatch(/^HTTP\/1\.1 400 Bad Request\r$/m);
  });

  test('logs each request once, with the lines that the functions logged for this request', async () => {
    const line = { functionName: 'Orders', level: 'INFO', message: { outcome: 'stored' } };
    const invoke = async (name: string): Promise<Outcome> =>
      name === 'Authorizer' ? asJson(allow) : { result: '{"statusCode":200}', log: [line] };
    const { port, log } = await start({ invoke });
    await post(port, '{}', [token], '/orders?secret=1');
    await post(port, '{}', [token], '/other');
    expect(log).toEqual([
      {
        method: 'POST',
        path: '/orders',
        status: 200,
        milliseconds: expect.any(Number),
        requestId: expect.any(String),
        log: [line],
      },
      {
        method: 'POST',
        path: '/other',
        status: 404,
        milliseconds: expect.any(Number),
        requestId: expect.any(String),
        log: [],
      },
    ]);
  });
});

describe('a gateway with the hooks intercept and onRequest', () => {
  const thrower = () => {
    throw new Error('no disk');
  };

  test('responds 500 and logs the cause if intercept throws', async () => {
    const { port, log, events } = await start({}, {}, { intercept: thrower });
    expect(await send(port, 'GET /')).toMatchObject({ status: 500, body: '{"message":"Internal Server Error"}' });
    expect(log).toMatchObject([{ method: 'GET', path: '/', status: 500, error: 'intercept failed: no disk', log: [] }]);
    expect(events).toEqual([]);
  });

  test('closes the connection if intercept begins a response and then throws', async () => {
    const { port, log } = await start(
      {},
      {},
      {
        intercept: (_, response) => {
          response.writeHead(200, { 'content-length': 100 }).write('part');
          return thrower();
        },
      },
    );
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
