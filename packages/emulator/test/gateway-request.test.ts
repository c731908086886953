/** Tests which requests the gateway accepts, and the event that a function gets. */

import { describe, expect, test } from 'vitest';
import { anyOrigin, ask, exchange, json, openRoute, start, token } from './kit/gateway.ts';
import { account } from './kit/templates.ts';

describe('a function gets an event in payload format 2.0', () => {
  test('with the fields of that format', async () => {
    const { port, send, event } = await start();
    const sent = [token, json, 'X-Two: a', 'x-two: b', 'Cookie: c=1; d=2', 'Cookie: e=3', 'User-Agent: test'];
    const { headers } = await send('POST /orders?b=2&a=1&a=%C3%A9', sent, '{"id":1}');
    expect(event()).toEqual({
      version: '2.0',
      routeKey: 'POST /orders',
      rawPath: '/orders',
      rawQueryString: 'b=2&a=1&a=%C3%A9',
      cookies: ['c=1', 'd=2', 'e=3'],
      headers: {
        authorization: 'Bearer t',
        connection: 'close',
        'content-length': '8',
        'content-type': 'application/json',
        host: 'api.example:80',
        'user-agent': 'test',
        'x-amzn-trace-id': expect.stringMatching(/^Root=1-[0-9a-f]{8}-[0-9a-f]{24}$/),
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-port': String(port),
        'x-forwarded-proto': 'http',
        'x-two': 'a,b',
      },
      queryStringParameters: { a: '1,é', b: '2' },
      requestContext: {
        accountId: account.id,
        apiId: 'local',
        authorizer: { lambda: { sub: 'me' } },
        domainName: 'api.example',
        domainPrefix: 'api',
        http: { method: 'POST', path: '/orders', protocol: 'HTTP/1.1', sourceIp: '127.0.0.1', userAgent: 'test' },
        requestId: headers['apigw-requestid'],
        routeKey: 'POST /orders',
        stage: '$default',
        time: expect.stringMatching(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/),
        timeEpoch: expect.any(Number),
      },
      body: '{"id":1}',
      isBase64Encoded: false,
    });
    expect(headers['apigw-requestid']).toMatch(/^[\w+/]{15}=$/);
  });

  test('without a body, cookies or query parameters if the request has none', async () => {
    const { event } = await ask({});
    for (const field of ['body', 'cookies', 'queryStringParameters']) expect(event()).not.toHaveProperty(field);
    expect(event()).toMatchObject({ isBase64Encoded: false });
  });

  const asText = { body: 'é', isBase64Encoded: false };
  const asBase64 = { body: 'w6k=', isBase64Encoded: true };
  test.each([
    ['Content-Type: text/plain', asText],
    ['Content-Type: application/json', asText],
    ['Content-Type: Application/JSON ;charset=utf-8', asText],
    ['Content-Type: application/javascript', asText],
    ['Content-Type: application/problem+json', asBase64],
    ['X-No-Content-Type: 1', asBase64],
  ])('whose body depends on the header %s: %j', async (header, expected) => {
    const { send, event } = await start();
    await send('POST /orders', [token, header], 'é');
    expect(event()).toMatchObject(expected);
  });

  test('whose body has U+FFFD in place of an invalid byte, with the content-length that the client sent', async () => {
    const { send, event } = await start();
    await send('POST /orders', [token, json], Buffer.from([0x22, 0xff, 0x22]));
    expect(event()).toMatchObject({ body: '"\ufffd"', isBase64Encoded: false, headers: { 'content-length': '3' } });
  });
});

describe('stages that are not $default begin the paths of requests', () => {
  const api = { stages: ['dev', 'v1'], routes: ['GET /', 'GET /v1', 'GET /{proxy+}'].map(openRoute) };

  test.each([
    ['/v1', 'v1', 'GET /'],
    ['/v1/', 'v1', 'GET /'],
    ['/v1/v1', 'v1', 'GET /v1'],
    ['/dev/a/b', 'dev', 'GET /{proxy+}'],
  ])('%s is of the stage %s and the route %s', async (rawPath, stage, routeKey) => {
    const { status, event } = await ask({}, api, `GET ${rawPath}`);
    expect(status).toBe(200);
    expect(event()).toMatchObject({ routeKey, rawPath, requestContext: { stage, http: { path: rawPath } } });
  });

  test.each(['GET /', 'GET /a/b', 'GET /v1x', 'GET /v%2F1', 'GET /V1', 'OPTIONS /a'])(
    '%s is not found',
    async (line) => {
      const headers = ['Origin: https://shop.example', 'Access-Control-Request-Method: GET'];
      expect((await ask({}, { ...api, cors: anyOrigin }, line, headers)).status).toBe(404);
    },
  );
});

const routes = [openRoute('$default')];

/** Sends a request without a body: the request line and the headers. @returns the response */
const sendHead = (port: number, requestLine: string, ...headers: string[]) =>
  exchange(port, [requestLine, ...headers, 'Connection: close', '', ''].join('\r\n'));

describe('the gateway accepts', () => {
  test.each<[target: string, host: string, domainName: string, rawPath: string, rawQueryString?: string]>([
    ['/', 'API.Example:8080', 'API.Example', '/'],
    ['/', '[::1]:3000', '[::1]', '/'],
    ['/', '%C3%BC.example', '%C3%BC.example', '/'],
    ['http://api.example/orders', 'API.example:80', 'API.example', '/orders'],
    ['http://api.example?list=orders', 'api.example', 'api.example', '/', 'list=orders'],
    ['/ord%65rs?', 'api.example', 'api.example', '/orders'],
  ])('the request target %s with the Host header %s', async (target, host, domainName, rawPath, query = '') => {
    const { port, event } = await start({}, { routes });
    await sendHead(port, `GET ${target} HTTP/1.1`, `Host: ${host}`);
    const requestContext = { domainName, http: { path: rawPath } };
    expect(event()).toMatchObject({ rawPath, rawQueryString: query, requestContext });
  });

  test('an HTTP/1.0 request without a Host header', async () => {
    const { port } = await start({}, { routes });
    expect(await sendHead(port, 'GET / HTTP/1.0')).toMatchObject({ status: 200 });
  });
});

test.each([
  ['100-continue', 100, /^HTTP\/1\.1 200 /],
  ['more', 417, /^{"message":"Expectation Failed"}$/],
  ['100-continue, more', 100, /^HTTP\/1\.1 417 /],
])('the gateway responds to a request with the header Expect: %s with %i and %s', async (expectation, status, rest) => {
  const { port } = await start({}, { routes });
  const response = await sendHead(port, 'POST / HTTP/1.1', 'Host: api.example', `Expect: ${expectation}`);
  expect(response).toMatchObject({ status, body: expect.stringMatching(rest) });
});

test('the gateway accepts 10,240 bytes of request line and header values, and responds 431 to more', async () => {
  const { port } = await start({}, { routes });
  const sendWith = (filler: number) => sendHead(port, 'GET / HTTP/1.1', 'Host: x', `X: ${'f'.repeat(filler)}`);
  const counted = ['GET / HTTP/1.1', 'x', 'close'].join('').length;
  expect(await sendWith(10_240 - counted)).toMatchObject({ status: 200 });
  const refused = { status: 431, body: '{"message":"Request Header Fields Too Large"}' };
  expect(await sendWith(10_241 - counted)).toMatchObject(refused);
});

test('the gateway accepts a body of 10 MiB, responds 413 to a larger one, reads its rest and keeps the connection', async () => {
  const { port, send, log } = await start();
  expect(await send('POST /orders', [token], Buffer.alloc(10_485_760))).toMatchObject({ status: 200 });
  const refused = { status: 413, body: '{"message":"Request Entity Too Large"}' };
  expect(await send('POST /orders', [token], Buffer.alloc(10_485_761))).toMatchObject(refused);
  const chunked = 'POST /orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
  const chunk = Buffer.concat([Buffer.from('c00000\r\n'), Buffer.alloc(0xc00000), Buffer.from('\r\n0\r\n\r\n')]);
  const next = 'GET /orders HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  const body = expect.stringMatching(/^{"message":"Request Entity Too Large"}HTTP\/1.1 404 /);
  expect(await exchange(port, chunked, chunk, next)).toMatchObject({ status: 413, body });
  expect(log.map(({ status }) => status)).toEqual([200, 413, 413, 404]);
});
