import { request } from 'node:http';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import { exchange, openRoute, start } from './kit/gateway.ts';

const routes = [openRoute('$default')];

/** Sends a request without a body: the request line and the headers. @returns the response */
const sendHead = (port: number, requestLine: string, ...headers: string[]) =>
  exchange(port, [requestLine, ...headers, 'Connection: close', '', ''].join('\r\n'));

const badRequest = { status: 400, body: '{"message":"Bad Request"}' };

describe('the gateway responds 400 to', () => {
  test.each<[what: string, requestLine: string, ...headers: string[]]>([
    ['a request without a Host header', 'GET / HTTP/1.1'],
    ['an absolute target without a Host header', 'GET http://api.example/ HTTP/1.1'],
    ['two different Host headers', 'GET / HTTP/1.1', 'Host: api.example', 'Host: other.example'],
    ['two equal Host headers', 'GET / HTTP/1.1', 'Host: api.example', 'Host: api.example'],
    ['two Host headers in an HTTP/1.0 request', 'GET / HTTP/1.0', 'Host: api.example', 'Host: api.example'],
    ['an HTTP/0.9 request', 'GET / HTTP/0.9', 'Host: api.example'],
    ['a request line with HTTP/2.0', 'GET / HTTP/2.0', 'Host: api.example'],
    ['an HTTP/1.2 request', 'GET / HTTP/1.2', 'Host: api.example'],
    [
      'a target that names another host than the Host header',
      'GET http://other.example/ HTTP/1.1',
      'Host: api.example',
    ],
    [
      'a target that names another port than the Host header',
      'GET http://api.example:81/ HTTP/1.1',
      'Host: api.example',
    ],
    ['a target that names no host', 'GET http:///api.example HTTP/1.1', 'Host: api.example'],
    ['a target with a user name', 'GET http://user@api.example/ HTTP/1.1', 'Host: api.example'],
    ['a target whose scheme is not http or https', 'GET ftp://api.example/ HTTP/1.1', 'Host: api.example'],
  ])('%s', async (_, requestLine, ...headers) => {
    const { port, events, log } = await start({}, { routes });
    expect(await sendHead(port, requestLine, ...headers)).toMatchObject(badRequest);
    expect(events).toEqual([]);
    expect(log).toMatchObject([{ status: 400, error: expect.any(String) }]);
  });

  test.each([
    '',
    'a b',
    'a/b',
    'a?b',
    'http://api.example',
    'user@api.example',
    'api.example:port',
    'api.example:80:80',
    'api.example:65536',
    'api.example:99999',
    'api.example, other.example',
    '[::1',
    '::1',
    '[api.example]',
    '[:::::]',
    '[127.0.0.1]',
    '[::1%lo]',
    'api%example',
    '\u00fc.example',
  ])('a request with the Host header %j', async (host) => {
    const { port, events } = await start({}, { routes });
    expect(await sendHead(port, 'GET / HTTP/1.1', `Host: ${host}`)).toMatchObject(badRequest);
    expect(events).toEqual([]);
  });
});

test('if a request has an HTTP version that the gateway does not serve, the access log names the versions that the gateway serves', async () => {
  const { port, log } = await start({}, { routes });
  await sendHead(port, 'GET / HTTP/2.0', 'Host: api.example');
  expect(log).toMatchObject([{ error: 'the request is HTTP/2.0: only HTTP/1.0 and HTTP/1.1 are served' }]);
});

describe('the gateway accepts', () => {
  test.each([
    ['api.example', 'api.example'],
    ['API.Example:8080', 'API.Example'],
    ['api.example:', 'api.example'],
    ['127.0.0.1:3000', '127.0.0.1'],
    ['api.example:65535', 'api.example'],
    ['[::1]:3000', '[::1]'],
    ['[::FFFF:127.0.0.1]', '[::FFFF:127.0.0.1]'],
    ['a_b-c.example', 'a_b-c.example'],
    ['xn--tda.example', 'xn--tda.example'],
    ['%C3%BC.example', '%C3%BC.example'],
  ])('the Host header %s', async (host, domainName) => {
    const { port, event } = await start({}, { routes });
    expect(await sendHead(port, 'GET / HTTP/1.1', `Host: ${host}`)).toMatchObject({ status: 200 });
    expect(event<APIGatewayProxyEventV2>('Orders').requestContext).toMatchObject({ domainName });
  });

  test.each<[target: string, host: string, rawPath: string, query?: string]>([
    ['http://api.example/orders', 'api.example', '/orders'],
    ['HTTP://API.example:80/orders', 'api.example', '/orders'],
    ['http://api.example/orders', 'API.example:80', '/orders'],
    ['https://api.example:443/orders', 'api.example', '/orders'],
    ['http://[::1]:3000/orders', '[::1]:3000', '/orders'],
    ['http://api.example?list=orders', 'api.example', '/', 'list=orders'],
  ])('the request target %s with the Host header %s', async (target, host, rawPath, query = '') => {
    const { port, event } = await start({}, { routes });
    expect(await sendHead(port, `GET ${target} HTTP/1.1`, `Host: ${host}`)).toMatchObject({ status: 200 });
    expect(event<APIGatewayProxyEventV2>('Orders')).toMatchObject({ rawPath, rawQueryString: query });
  });

  test('an HTTP/1.0 request without a Host header', async () => {
    const { port } = await start({}, { routes });
    expect(await sendHead(port, 'GET / HTTP/1.0')).toMatchObject({ status: 200 });
  });
});

describe('if a request has an Expect header, the gateway', () => {
  test("responds to 100-continue with 100, and then with the function's response", async () => {
    const { port } = await start({}, { routes });
    const events: string[] = [];
    const headers = { expect: '100-continue', 'content-length': 2, connection: 'close' };
    await new Promise<void>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, method: 'POST', headers });
      sent.on('error', reject);
      sent.on('continue', () => {
        events.push('continue');
        sent.end('{}');
      });
      sent.on('response', (response) => {
        events.push(String(response.statusCode));
        response.resume().on('end', resolve);
      });
      sent.flushHeaders();
    });
    expect(events).toEqual(['continue', '200']);
  });

  test.each(['more', '100-continued', '200-ok'])('responds to %s with 417', async (expectation) => {
    const { port, events, log } = await start({}, { routes });
    const response = await sendHead(port, 'POST / HTTP/1.1', 'Host: api.example', `Expect: ${expectation}`);
    expect(response).toMatchObject({ status: 417, body: '{"message":"Expectation Failed"}' });
    expect(events).toEqual([]);
    expect(log).toMatchObject([{ status: 417 }]);
  });

  test('responds with 100 and then 417 if the header has both 100-continue and an unknown expectation', async () => {
    const { port, events } = await start({}, { routes });
    const response = await sendHead(port, 'POST / HTTP/1.1', 'Host: api.example', 'Expect: 100-continue, more');
    expect(response).toMatchObject({ status: 100, body: expect.stringMatching(/^HTTP\/1\.1 417 /) });
    expect(events).toEqual([]);
  });
});
