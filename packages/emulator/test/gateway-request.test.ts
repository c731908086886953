/** Tests which requests the gateway accepts, which route gets them, and the event that its function gets. */
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import { routeFinder } from '../gateway/routes.ts';
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
        host: 'localhost:80',
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
        domainName: 'localhost',
        domainPrefix: 'localhost',
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

  test.each<[what: string, sent: string[], length: string]>([
    ['without a body', [''], '0'],
    [
      'in chunks',
      ['Transfer-Encoding: chunked', 'Trailer: X-Sum', '', '3', 'abc', '2', 'de', '0', 'X-Sum: 1', ''],
      '5',
    ],
  ])('with the length of its body, as AWS sends it, if the request is %s', async (_, sent, length) => {
    const { port, event, authorizerEvent } = await start();
    await exchange(
      port,
      ['POST /orders HTTP/1.1', 'Host: localhost', 'Connection: close', token, ...sent, ''].join('\r\n'),
    );
    for (const { headers } of [event(), authorizerEvent()]) {
      expect(headers).toMatchObject({ 'content-length': length });
      expect(Object.keys(headers ?? {})).not.toEqual(expect.arrayContaining([expect.stringMatching(/^t/)]));
    }
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
    ['/', 'LOCALHOST:8080', 'LOCALHOST', '/'],
    ['/', '[::1]:3000', '[::1]', '/'],
    ['/', '127.0.0.1', '127.0.0.1', '/'],
    ['http://localhost/orders', 'Localhost:80', 'Localhost', '/orders'],
    ['http://127.0.0.1:1?list=orders', 'localhost', 'localhost', '/', 'list=orders'],
    ['/ord%65rs?', 'localhost', 'localhost', '/orders'],
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

test.each<[target: string, host: string, refused?: string]>([
  ['/', 'rebound.example:80'],
  ['/', 'localhost.rebound.example'],
  ['/', '127.0.0.1@rebound.example'],
  ['/', ''],
  ['http://rebound.example/', 'localhost', 'rebound.example'],
  ['/', 'localhost\r\nHost: rebound.example', 'rebound.example'],
])(
  'the gateway refuses the request target %s with the Host header %j, and calls nothing',
  async (target, host, refused = host) => {
    const intercept = () => expect.fail('called');
    const { port, called, log } = await start({}, { routes }, { intercept });
    const response = await sendHead(port, `GET ${target} HTTP/1.1`, `Host: ${host}`);
    expect(response).toMatchObject({ status: 421, body: `{"message":"Use the address http://127.0.0.1:${port}."}` });
    const error = `the host ${refused} is refused`;
    expect([called, log]).toMatchObject([[], [{ status: 421, error }]]);
  },
);

test.each([
  ['100-continue', 100, /^HTTP\/1\.1 200 /],
  ['more', 417, /^(0\r\n\r\n)?$/],
])('the gateway responds to a request with the header Expect: %s with %i and %s', async (expectation, status, rest) => {
  const { port } = await start({}, { routes });
  const response = await sendHead(port, 'POST / HTTP/1.1', 'Host: localhost', `Expect: ${expectation}`);
  expect(response).toMatchObject({ status, body: expect.stringMatching(rest) });
});

test('the gateway accepts 10,240 bytes of request line and header values, and responds 431 to more', async () => {
  const { port } = await start({}, { routes });
  const sendWith = (filler: number) => sendHead(port, 'GET / HTTP/1.1', 'Host: localhost', `X: ${'f'.repeat(filler)}`);
  const counted = ['GET / HTTP/1.1', 'localhost', 'close'].join('').length;
  expect(await sendWith(10_240 - counted)).toMatchObject({ status: 200 });
  const refused = { status: 431, body: '{"message":"Request Header Fields Too Large"}' };
  expect(await sendWith(10_241 - counted)).toMatchObject(refused);
});

test('the gateway accepts a body of 10 MiB, responds 413 to a larger one, reads its rest and keeps the connection', async () => {
  const { port, send, log } = await start();
  expect(await send('POST /orders', [token], Buffer.alloc(10_485_760))).toMatchObject({ status: 200 });
  const refused = { status: 413, body: '{"message":"Request Entity Too Large"}' };
  expect(await send('POST /orders', [token], Buffer.alloc(10_485_761))).toMatchObject(refused);
  const chunked = 'POST /orders HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n';
  const chunk = Buffer.concat([Buffer.from('c00000\r\n'), Buffer.alloc(0xc00000), Buffer.from('\r\n0\r\n\r\n')]);
  const next = 'GET /orders HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
  const body = expect.stringMatching(/^{"message":"Request Entity Too Large"}HTTP\/1.1 404 /);
  expect(await exchange(port, chunked, chunk, next)).toMatchObject({ status: 413, body });
  expect(log.map(({ status }) => status)).toEqual([200, 413, 413, 404]);
});

/** The key of the route that an API with the routes `routeKeys` selects for a request. */
const select = (routeKeys: string[], requestLine: string): string | undefined => {
  const [method = '', path = ''] = requestLine.split(' ');
  return routeFinder(routeKeys.map(openRoute))(method, path.split('/'))?.route.routeKey;
};

describe('the gateway selects the most specific route', () => {
  // The sample routes and requests in
  // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
  const documented = ['GET /pets/dog/1', 'GET /pets/dog/{id}', 'GET /pets/{proxy+}', 'ANY /{proxy+}', '$default'];

  test.each<[requestLine: string, selected: string, ...others: string[]]>([
    ['GET /pets/dog/1', 'GET /pets/dog/1', ...documented.slice(1)],
    ['GET /pets/dog/2', 'GET /pets/dog/{id}', 'GET /pets/dog/1', ...documented.slice(2)],
    ['GET /pets/cat/1', 'GET /pets/{proxy+}', 'GET /pets/dog/1', 'ANY /{proxy+}', '$default'],
    ['POST /tests/5', 'ANY /{proxy+}', 'GET /pets/dog/1', '$default'],
    ['GET /', '$default', ...documented.slice(0, 4)],
    ['GET /orders', 'GET /orders', 'ANY /orders', 'POST /orders'],
    ['PUT /orders', 'ANY /orders', 'GET /orders', 'PUT /{id}'],
    ['GET /orders/1', 'ANY /orders/{id}', 'GET /orders/{proxy+}', '$default'],
    ['GET /orders/1', 'GET /{list}/{id}', 'POST /orders/{id}', 'GET /orders'],
    ['GET /orders/1/items', 'GET /orders/{id}/{proxy+}', 'GET /orders/{proxy+}', 'GET /{proxy+}'],
    ['GET /orders/1', 'GET /orders/{proxy+}', 'GET /{list}/{proxy+}', 'ANY /orders/{proxy+}'],
    ['GET /orders/1', 'GET /{list}/1', 'GET /orders/{proxy+}', '$default'],
  ])('for the request %s: the route %s, whatever the order of the routes', (requestLine, selected, ...others) => {
    expect(select([selected, ...others], requestLine)).toBe(selected);
    expect(select([...others, selected], requestLine)).toBe(selected);
  });

  test.each([
    ['GET /orders', 'POST /orders'],
    ['GET /orders/', 'GET /orders'],
    ['GET /orders/1/2', 'GET /orders/{id}'],
    ['GET /orders/', 'GET /orders/{proxy+}'],
    ['GET /', 'ANY /{proxy+}'],
    ['OPTIONS *', 'ANY /'],
  ])('only among those that match the request: %s does not match %s', (requestLine, routeKey) => {
    expect(select([routeKey], requestLine)).toBeUndefined();
  });
});

test('the gateway responds 501 for a route that is left out, and says why, without calling any function', async () => {
  const answer = await ask({}, { routes: [{ routeKey: 'POST /orders', leftOut: 'Shop cannot run' }] });
  const log = [{ status: 501, error: 'Shop cannot run' }];
  expect(answer).toMatchObject({ status: 501, body: '{"message":"Shop cannot run"}', called: [], log });
});

describe('the path parameters of a request', () => {
  test.each<[target: string, routeKey: string, rawPath: string, expected: APIGatewayProxyEventV2['pathParameters']]>([
    ['/orders/1/items/2', 'GET /orders/{id}/items/{item}', '/orders/1/items/2', { id: '1', item: '2' }],
    ['/orders/a+b%20%C3%B6', 'GET /orders/{id}', '/orders/a+b ö', { id: 'a+b ö' }],
    ['/orders/1%2F2', 'GET /orders/{id}', '/orders/1/2', { id: '1/2' }],
    ['/orders/a/%C3%BC//c/?q=1', 'GET /orders/{proxy+}', '/orders/a/ü//c/', { proxy: 'a/ü//c/' }],
    ['/orders', '$default', '/orders', undefined],
  ])('are decoded if the path is %s and the route is %s', async (target, routeKey, rawPath, pathParameters) => {
    const { event } = await ask({}, { routes: [openRoute(routeKey)] }, `GET ${target}`);
    expect(event()).toMatchObject({ routeKey, rawPath, requestContext: { routeKey } });
    expect(event().pathParameters).toEqual(pathParameters);
  });
});
