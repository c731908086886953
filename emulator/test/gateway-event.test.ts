import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import { exchange, json, post, start, token } from './kit/gateway.ts';

describe('a function gets an event in payload format 2.0', () => {
  test('with the fields of that format', async () => {
    const { port, event } = await start();
    await post(
      port,
      '{"id":1}',
      [token, json, 'X-Two: a', 'x-two: b', 'Cookie: c=1; d=2', 'Cookie: e=3', 'User-Agent: test'],
      '/orders?b=2&a=1&a=%C3%A9',
    );
    expect(event<APIGatewayProxyEventV2>('Orders')).toEqual({
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
        accountId: '000000000000',
        apiId: 'local',
        authorizer: { lambda: { sub: 'me' } },
        domainName: 'api.example',
        domainPrefix: 'api',
        http: { method: 'POST', path: '/orders', protocol: 'HTTP/1.1', sourceIp: '127.0.0.1', userAgent: 'test' },
        requestId: expect.stringMatching(/^[\w+/]{15}=$/),
        routeKey: 'POST /orders',
        stage: '$default',
        time: expect.stringMatching(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/),
        timeEpoch: expect.any(Number),
      },
      body: '{"id":1}',
      isBase64Encoded: false,
    });
  });

  test('without a body, cookies or query parameters if the request has none', async () => {
    const { port, event } = await start();
    await post(port, '', [token]);
    const fields = Object.keys(event<APIGatewayProxyEventV2>('Orders'));
    expect(fields).not.toContain('body');
    expect(fields).not.toContain('cookies');
    expect(fields).not.toContain('queryStringParameters');
    expect(event<APIGatewayProxyEventV2>('Orders')).toMatchObject({ isBase64Encoded: false });
  });

  test("with the same requestId as in the response's apigw-requestid header", async () => {
    const { port, event } = await start();
    const { headers } = await post(port, '', [token]);
    expect(headers['apigw-requestid']).toBe(event<APIGatewayProxyEventV2>('Orders').requestContext.requestId);
  });

  test.each([
    ['text/plain', 'text'],
    ['application/json', 'text'],
    ['application/json; charset=utf-8', 'text'],
    ['Application/JSON ;charset=utf-8', 'text'],
    ['application/xml', 'text'],
    ['application/javascript', 'text'],
    ['application/problem+json', 'base64'],
    ['application/x-www-form-urlencoded', 'base64'],
    ['application/jsonp', 'base64'],
    ['application/octet-stream', 'base64'],
    ['image/png', 'base64'],
    [undefined, 'base64'],
  ])('for the content type %s, with the body as %s', async (contentType, encoding) => {
    const { port, event } = await start();
    await post(port, 'é', [token, ...(contentType ? [`Content-Type: ${contentType}`] : [])]);
    expect(event<APIGatewayProxyEventV2>('Orders')).toMatchObject(
      encoding === 'text' ? { body: 'é', isBase64Encoded: false } : { body: 'w6k=', isBase64Encoded: true },
    );
  });

  test('with the decoded path, by which the gateway also selects the route', async () => {
    const { port, event } = await start();
    expect(await post(port, '', [token], '/ord%65rs')).toMatchObject({ status: 200 });
    const path = '/orders';
    expect(event<APIGatewayProxyEventV2>('Orders')).toMatchObject({
      rawPath: path,
      routeKey: 'POST /orders',
      requestContext: { http: { path } },
    });
  });

  test.each([
    ['http://api.example/orders?a=1', '/orders', 'a=1'],
    ['/orders?a=1?b=2', '/orders', 'a=1?b=2'],
    ['/orders?', '/orders', ''],
  ])('with the path and the query string of the request target %s', async (target, path, query) => {
    const { port, event } = await start();
    expect((await post(port, '', [token], target)).status).toBe(200);
    expect(event<APIGatewayProxyEventV2>('Orders')).toMatchObject({ rawPath: path, rawQueryString: query });
  });

  test.each<[what: string, bytes: number[], text: string]>([
    ['an invalid byte', [0x22, 0xff, 0x22], '"\ufffd"'],
    ['a truncated emoji', [0xf0, 0x9f, 0x98], '\ufffd'],
    ['an encoded surrogate', [0xed, 0xa0, 0x80], '\ufffd\ufffd\ufffd'],
  ])(
    'whose body has U+FFFD in place of %s, and whose content-length is the one that the client sent',
    async (_, bytes, text) => {
      const { port, event } = await start();
      await post(port, Buffer.from(bytes), [token, json]);
      const { body, isBase64Encoded, headers } = event<APIGatewayProxyEventV2>('Orders');
      expect({ body, isBase64Encoded }).toEqual({ body: text, isBase64Encoded: false });
      expect(headers).toMatchObject({ 'content-length': String(bytes.length) });
    },
  );

  test('without a content-length if the request is chunked', async () => {
    const { port, event } = await start();
    const head = ['POST /orders HTTP/1.1', 'Host: api.example', 'Connection: close', token, json];
    await exchange(port, [...head, 'Transfer-Encoding: chunked', '', ''].join('\r\n'), '2\r\n{}\r\n0\r\n\r\n');
    expect(event<APIGatewayProxyEventV2>('Orders')).toMatchObject({ body: '{}', isBase64Encoded: false });
    expect(event<APIGatewayProxyEventV2>('Orders').headers).not.toHaveProperty('content-length');
  });
});
