import { describe, expect, test } from 'vitest';
import { exchange, post, start, token } from './kit/gateway.ts';

describe('the gateway of an API whose only route is POST /orders', () => {
  test.each(['/', '/orders/', '/Orders', '/orders/1', '//orders'])('responds 404 to POST %s', async (target) => {
    const { port, events } = await start();
    expect(await post(port, '{}', [token], target)).toMatchObject({ status: 404, body: '{"message":"Not Found"}' });
    expect(events).toEqual([]);
  });

  test('responds 404 to GET /orders', async () => {
    const { port } = await start();
    const response = await exchange(port, 'GET /orders HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(response).toMatchObject({ status: 404, body: '{"message":"Not Found"}' });
    expect(response.headers['apigw-requestid']).toMatch(/^[\w+/]{15}=$/);
  });

  test('accepts 10,240 bytes of request line and header values, and responds 431 to more', async () => {
    const { port } = await start();
    const send = (filler: number) => {
      const values = ['x', 'close', 'Bearer t', 'f'.repeat(filler), '2'];
      const [host, connection, authorization, long, length] = values;
      const head = `POST /orders HTTP/1.1\r\nHost: ${host}\r\nConnection: ${connection}\r\nAuthorization: ${authorization}\r\nX-Long: ${long}\r\nContent-Length: ${length}\r\n\r\n`;
      const counted = 'POST /orders HTTP/1.1'.length + values.join('').length;
      return exchange(port, head, '{}').then(({ status, body }) => ({ counted, status, body }));
    };
    const { counted } = await send(0);
    expect(await send(10_240 - counted)).toMatchObject({ counted: 10_240, status: 200 });
    const refused = { status: 431, body: '{"message":"Request Header Fields Too Large"}' };
    expect(await send(10_241 - counted)).toMatchObject({ counted: 10_241, ...refused });
    expect(await send(100_000)).toMatchObject(refused);
  });

  test('accepts a body of 10 MiB, and responds 413 to a larger one', async () => {
    const { port, log } = await start();
    expect(await post(port, Buffer.alloc(10_485_760), [token])).toMatchObject({ status: 200 });
    const refused = { status: 413, body: '{"message":"Request Entity Too Large"}' };
    expect(await post(port, Buffer.alloc(10_485_761), [token])).toMatchObject(refused);
    const chunked = 'POST /orders HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
    const chunk = Buffer.concat([Buffer.from('a00001\r\n'), Buffer.alloc(10_485_761), Buffer.from('\r\n0\r\n\r\n')]);
    expect(await exchange(port, chunked, chunk)).toMatchObject(refused);
    expect(log).toMatchObject([{ status: 200 }, { status: 413 }, { status: 413 }]);
  });

  test('reads the rest of a body that is too large, and keeps the connection open', async () => {
    const { port } = await start();
    const chunked = 'POST /orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    const chunk = Buffer.concat([Buffer.from('c00000\r\n'), Buffer.alloc(0xc00000), Buffer.from('\r\n0\r\n\r\n')]);
    const next = 'GET /orders HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const body = expect.stringMatching(/^{"message":"Request Entity Too Large"}HTTP\/1.1 404 /);
    expect(await exchange(port, chunked, chunk, next)).toMatchObject({ status: 413, body });
  });
});
