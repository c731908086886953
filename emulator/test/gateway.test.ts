import { once } from 'node:events';
import { connect } from 'node:net';
import type { APIGatewayProxyEventV2, APIGatewayRequestAuthorizerEventV2 } from 'aws-lambda';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { expectInContract } from '../../test/kit/contract.ts';
import { startServer } from '../../test/kit/servers.ts';
import { account } from '../account.ts';
import { answers } from '../gateway/response.ts';
import { type AccessLogEntry, gateway } from '../gateway/server.ts';
import type { Outcome } from '../lambda/functions.ts';
import type { RouteSpec, Target } from '../served-stack.ts';

type Answer = { status: number; headers: Record<string, string>; body: string };

const targetOf = (functionName: string): Target => ({ functionName, arn: functionName, version: '$LATEST' });

const route: RouteSpec = {
  routeKey: 'POST /plants',
  target: targetOf('Plants'),
  timeout: 30_000,
  authorizer: { target: targetOf('Authorizer'), identitySources: ['$request.header.Authorization'] },
};

const allow = { isAuthorized: true, context: { sub: 'me' } };
const asJson = (value: unknown): Outcome => ({ result: JSON.stringify(value), log: [] });

/** Starts a gateway whose functions return these values, or the outcome of `invoke` if it is given. */
const start = async (
  functions: { Authorizer?: unknown; Plants?: unknown; invoke?: (name: string) => Promise<Outcome> } = {},
  routes: RouteSpec[] = [route],
) => {
  const events: { name: string; event: never }[] = [];
  const log: AccessLogEntry[] = [];
  const answers: Record<string, unknown> = { Authorizer: allow, Plants: { statusCode: 200, body: 'ok' }, ...functions };
  const server = gateway({
    api: { routes },
    invoke: async ({ functionName: name }, event) => {
      events.push({ name, event: JSON.parse(JSON.stringify(event)) as never });
      return functions.invoke ? functions.invoke(name) : asJson(answers[name]);
    },
    onRequest: (entry) => log.push(entry),
  });
  const port = await startServer(server);
  const event = <T>(name: string): T => events.find((each) => each.name === name)?.event as T;
  return { port, log, events, event };
};

/** Sends `parts` as raw bytes over TCP. @returns the response */
const exchange = async (port: number, ...parts: (string | Buffer)[]): Promise<Answer> => {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {});
  for (const part of parts) socket.write(part);
  await new Promise((resolve) => socket.on('close', resolve));
  const [head = '', ...body] = Buffer.concat(chunks).toString().split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: Object.fromEntries(
      lines.map((line) => line.split(': ')).map(([name = '', value = '']) => [name.toLowerCase(), value]),
    ),
    body: body.join('\r\n\r\n'),
  };
};

const post = (port: number, body: string | Buffer, headers: string[] = [], target = '/plants') =>
  exchange(
    port,
    [
      `POST ${target} HTTP/1.1`,
      'Host: api.example:80',
      'Connection: close',
      ...headers,
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      '',
    ].join('\r\n'),
    body,
  );

const token = 'Authorization: Bearer t';
const json = 'Content-Type: application/json';

describe('a function gets an event of payload 2.0', () => {
  test('with every field', async () => {
    const { port, event } = await start();
    await post(
      port,
      '{"id":1}',
      [token, json, 'X-Two: a', 'x-two: b', 'Cookie: c=1; d=2', 'Cookie: e=3', 'User-Agent: test'],
      '/plants?b=2&a=1&a=%C3%A9',
    );
    expect(event<APIGatewayProxyEventV2>('Plants')).toEqual({
      version: '2.0',
      routeKey: 'POST /plants',
      rawPath: '/plants',
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
        http: { method: 'POST', path: '/plants', protocol: 'HTTP/1.1', sourceIp: '127.0.0.1', userAgent: 'test' },
        requestId: expect.stringMatching(/^[\w+/]{15}=$/),
        routeKey: 'POST /plants',
        stage: '$default',
        time: expect.stringMatching(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/),
        timeEpoch: expect.any(Number),
      },
      body: '{"id":1}',
      isBase64Encoded: false,
    });
  });

  test('without body, cookies and query if the request has none', async () => {
    const { port, event } = await start();
    await post(port, '', [token]);
    const fields = Object.keys(event<APIGatewayProxyEventV2>('Plants'));
    expect(fields).not.toContain('body');
    expect(fields).not.toContain('cookies');
    expect(fields).not.toContain('queryStringParameters');
    expect(event<APIGatewayProxyEventV2>('Plants')).toMatchObject({ isBase64Encoded: false });
  });

  test('with the requestId that the response has in apigw-requestid', async () => {
    const { port, event } = await start();
    const { headers } = await post(port, '', [token]);
    expect(headers['apigw-requestid']).toBe(event<APIGatewayProxyEventV2>('Plants').requestContext.requestId);
  });

  test.each([
    ['text/plain', true],
    ['application/json', true],
    ['application/json; charset=utf-8', true],
    ['Application/JSON ;charset=utf-8', true],
    ['application/xml', true],
    ['application/javascript', true],
    ['application/problem+json', false],
    ['application/x-www-form-urlencoded', false],
    ['application/jsonp', false],
    ['application/octet-stream', false],
    ['image/png', false],
    [undefined, false],
  ])('with a body of type %s as text: %j', async (contentType, isText) => {
    const { port, event } = await start();
    await post(port, 'é', [token, ...(contentType ? [`Content-Type: ${contentType}`] : [])]);
    expect(event<APIGatewayProxyEventV2>('Plants')).toMatchObject(
      isText ? { body: 'é', isBase64Encoded: false } : { body: 'w6k=', isBase64Encoded: true },
    );
  });

  test('with the decoded path, which also selects the route', async () => {
    const { port, event } = await start();
    expect(await post(port, '', [token], '/pl%61nts')).toMatchObject({ status: 200 });
    const path = '/plants';
    expect(event<APIGatewayProxyEventV2>('Plants')).toMatchObject({
      rawPath: path,
      routeKey: 'POST /plants',
      requestContext: { http: { path } },
    });
  });

  test.each([
    ['http://api.example/plants?a=1', '/plants', 'a=1'],
    ['/plants?a=1?b=2', '/plants', 'a=1?b=2'],
    ['/plants?', '/plants', ''],
  ])('with path and query of the request target %s', async (target, path, query) => {
    const { port, event } = await start();
    expect((await post(port, '', [token], target)).status).toBe(200);
    expect(event<APIGatewayProxyEventV2>('Plants')).toMatchObject({ rawPath: path, rawQueryString: query });
  });

  test.each<[what: string, bytes: number[], text: string]>([
    ['an invalid byte', [0x22, 0xff, 0x22], '"\ufffd"'],
    ['a truncated emoji', [0xf0, 0x9f, 0x98], '\ufffd'],
    ['an encoded surrogate', [0xed, 0xa0, 0x80], '\ufffd\ufffd\ufffd'],
  ])('with U+FFFD in place of %s, and the content-length of the request', async (_, bytes, text) => {
    const { port, event } = await start();
    await post(port, Buffer.from(bytes), [token, json]);
    const { body, isBase64Encoded, headers } = event<APIGatewayProxyEventV2>('Plants');
    expect({ body, isBase64Encoded }).toEqual({ body: text, isBase64Encoded: false });
    expect(headers).toMatchObject({ 'content-length': String(bytes.length) });
  });

  test('without a content-length if the request is chunked', async () => {
    const { port, event } = await start();
    const head = ['POST /plants HTTP/1.1', 'Host: api.example', 'Connection: close', token, json];
    await exchange(port, [...head, 'Transfer-Encoding: chunked', '', ''].join('\r\n'), '2\r\n{}\r\n0\r\n\r\n');
    expect(event<APIGatewayProxyEventV2>('Plants')).toMatchObject({ body: '{}', isBase64Encoded: false });
    expect(event<APIGatewayProxyEventV2>('Plants').headers).not.toHaveProperty('content-length');
  });
});

describe('the authorizer', () => {
  test('gets the request without its body, as in the sample of the AWS documentation', async () => {
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
    const { port, event } = await start();
    const headers = ['Header1: value1', 'Header2: value1', 'Header2: value2', 'Cookie: cookie1', 'Cookie: cookie2'];
    await post(port, '{}', [token, json, ...headers], '/plants?parameter1=value1&parameter1=value2&parameter2=value');
    const authorizerEvent = event<APIGatewayRequestAuthorizerEventV2>('Authorizer');
    const { body: _, isBase64Encoded: __, ...shared } = event<APIGatewayProxyEventV2>('Plants');
    const { authorizer: ___, ...requestContext } = shared.requestContext as APIGatewayProxyEventV2['requestContext'] & {
      authorizer: unknown;
    };
    expect(authorizerEvent).toEqual({
      ...shared,
      requestContext,
      type: 'REQUEST',
      routeArn: `arn:aws:execute-api:${account.region}:000000000000:local/$default/POST/plants`,
      identitySource: ['Bearer t'],
    });
    expect(authorizerEvent).toMatchObject({
      version: '2.0',
      routeKey: 'POST /plants',
      rawPath: '/plants',
      rawQueryString: 'parameter1=value1&parameter1=value2&parameter2=value',
      cookies: ['cookie1', 'cookie2'],
      headers: { authorization: 'Bearer t', header1: 'value1', header2: 'value1,value2' },
      queryStringParameters: { parameter1: 'value1,value2', parameter2: 'value' },
    });
  });

  test.each([[[]], [['Authorization:']]])(
    'is not called, and the gateway answers 401, if its header is missing or empty: %j',
    async (headers) => {
      const { port, events } = await start();
      expect(await post(port, '{}', headers)).toMatchObject({ status: 401, body: '{"message":"Unauthorized"}' });
      expect(events).toEqual([]);
    },
  );

  test('gets two Authorization headers as one, joined by a comma', async () => {
    const { port, event } = await start();
    await post(port, '{}', [token, 'Authorization: Bearer u']);
    expect(event<APIGatewayRequestAuthorizerEventV2>('Authorizer').identitySource).toEqual(['Bearer t,Bearer u']);
  });

  test('that refuses makes the gateway answer 403 without calling the function', async () => {
    const { port, events } = await start({ Authorizer: { isAuthorized: false } });
    expect(await post(port, '{}', [token])).toMatchObject({ status: 403, body: '{"message":"Forbidden"}' });
    expect(events.map(({ name }) => name)).toEqual(['Authorizer']);
  });

  test.each([null, 'yes', {}, { isAuthorized: 'true' }, { isAuthorized: true, context: 'x' }])(
    'that returns %j makes the gateway answer 500',
    async (answer) => {
      const { port, events } = await start({ Authorizer: answer });
      expect(await post(port, '{}', [token])).toMatchObject({
        status: 500,
        body: '{"message":"Internal Server Error"}',
      });
      expect(events.map(({ name }) => name)).toEqual(['Authorizer']);
    },
  );

  test('that fails makes the gateway answer 500', async () => {
    const { port, log } = await start({ invoke: async () => ({ failure: 'keys gone', log: [] }) });
    expect(await post(port, '{}', [token])).toMatchObject({ status: 500 });
    expect(log).toMatchObject([{ status: 500, error: 'Authorizer: keys gone' }]);
  });

  test('that does not return within 10 seconds makes the gateway answer 500', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { port, events, log } = await start({ invoke: () => new Promise<never>(() => {}) });
    const answer = post(port, '{}', [token]);
    while (events.length === 0) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(9_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(await answer).toMatchObject({ status: 500 });
  });

  test('is not called for a route without an authorizer', async () => {
    const { authorizer: _, ...open } = route;
    const { port, events, event } = await start({}, [open]);
    expect(await post(port, '{}')).toMatchObject({ status: 200 });
    expect(events.map(({ name }) => name)).toEqual(['Plants']);
    expect(event<APIGatewayProxyEventV2>('Plants').requestContext).not.toHaveProperty('authorizer');
  });
});

describe('the response of a function', () => {
  test.each<[unknown, Partial<Answer>]>([
    [
      { statusCode: 409, headers: { 'Content-Type': 'application/json', 'x-n': 1 }, body: '{}' },
      { status: 409, body: '{}' },
    ],
    [
      { statusCode: 200, body: 'w6k=', isBase64Encoded: true },
      { status: 200, body: 'é' },
    ],
    [{ statusCode: 204 }, { status: 204, body: '' }],
    [{ name: 'Löwenzahn' }, { status: 200, body: '{"name":"Löwenzahn"}' }],
    ['Moss', { status: 200, body: '"Moss"' }],
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
  ])('%j becomes %j', async (answer, expected) => {
    const { port } = await start({ Plants: answer });
    const actual = await post(port, '{}', [token]);
    expect(actual).toMatchObject(expected);
    expect(actual.headers['content-length']).toBe(String(Buffer.byteLength(actual.body)));
    if (actual.status === 500) expect(actual.body).toBe('{"message":"Internal Server Error"}');
  });

  test('keeps its headers, and has a header for each cookie', async () => {
    const { port } = await start({
      Plants: { statusCode: 200, headers: { 'Retry-After': 1 }, cookies: ['a=1', 'b=2'], body: '' },
    });
    const { headers } = await fetch(`http://127.0.0.1:${port}/plants`, {
      method: 'POST',
      headers: { authorization: 'Bearer t' },
    });
    expect(headers.get('retry-after')).toBe('1');
    expect(headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  });

  test('is sent without the headers that belong to the connection', async () => {
    const headers = { 'Transfer-Encoding': 'chunked', trailer: 'x', connection: 'upgrade', 'content-length': '99' };
    const { port } = await start({ Plants: { statusCode: 200, headers, body: 'ok' } });
    const answer = await post(port, '{}', [token]);
    expect(answer).toMatchObject({ status: 200, body: 'ok', headers: { 'content-length': '2', connection: 'close' } });
    expect(Object.keys(answer.headers)).not.toEqual(expect.arrayContaining(['trailer']));
    expect(answer.headers).not.toHaveProperty('transfer-encoding');
  });

  test('is 413 if the event is too large for the function', async () => {
    const invoke = async (name: string): Promise<Outcome> =>
      name === 'Authorizer' ? asJson(allow) : { failure: 'over 6 MB', tooLarge: true, log: [] };
    const { port } = await start({ invoke });
    expect(await post(port, '{}', [token])).toMatchObject({
      status: 413,
      body: '{"message":"Request Entity Too Large"}',
    });
  });

  test('is 503 if the function does not return within the time-out of the integration', async () => {
    const invoke = (name: string) =>
      name === 'Authorizer' ? Promise.resolve(asJson(allow)) : new Promise<never>(() => {});
    const { port } = await start({ invoke }, [{ ...route, timeout: 50 }]);
    expect(await post(port, '{}', [token])).toMatchObject({ status: 503, body: '{"message":"Service Unavailable"}' });
  });

  test('is 500 if the function fails', async () => {
    const invoke = async (name: string): Promise<Outcome> =>
      name === 'Authorizer' ? asJson(allow) : { failure: 'timed out', log: [] };
    const { port } = await start({ invoke });
    expect(await post(port, '{}', [token])).toMatchObject({ status: 500 });
  });
});

describe('the gateway itself', () => {
  test.each(['/', '/plants/', '/Plants', '/plants/1', '//plants'])('answers POST %s with 404', async (target) => {
    const { port, events } = await start();
    expect(await post(port, '{}', [token], target)).toMatchObject({ status: 404, body: '{"message":"Not Found"}' });
    expect(events).toEqual([]);
  });

  test('answers GET /plants with 404', async () => {
    const { port } = await start();
    const answer = await exchange(port, 'GET /plants HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(answer).toMatchObject({ status: 404, body: '{"message":"Not Found"}' });
    expect(answer.headers['apigw-requestid']).toMatch(/^[\w+/]{15}=$/);
  });

  test('accepts a request line and header values up to 10,240 bytes', async () => {
    const { port } = await start();
    const send = (filler: number) => {
      const values = ['x', 'close', 'Bearer t', 'f'.repeat(filler), '2'];
      const [host, connection, authorization, long, length] = values;
      const head = `POST /plants HTTP/1.1\r\nHost: ${host}\r\nConnection: ${connection}\r\nAuthorization: ${authorization}\r\nX-Long: ${long}\r\nContent-Length: ${length}\r\n\r\n`;
      const counted = 'POST /plants HTTP/1.1'.length + values.join('').length;
      return exchange(port, head, '{}').then(({ status, body }) => ({ counted, status, body }));
    };
    const { counted } = await send(0);
    expect(await send(10_240 - counted)).toMatchObject({ counted: 10_240, status: 200 });
    const refused = { status: 431, body: '{"message":"Request Header Fields Too Large"}' };
    expect(await send(10_241 - counted)).toMatchObject({ counted: 10_241, ...refused });
    expect(await send(100_000)).toMatchObject(refused);
  });

  test.each(Object.entries(answers).filter(([name]) => !['badRequest', 'notFound'].includes(name)))(
    'gives POST /plants only responses that the contract has: %s',
    (_, { status, headers, body }) => {
      expectInContract(status, String(headers['content-type']), String(body));
    },
  );

  test('accepts bodies up to 10 MB', async () => {
    const { port, log } = await start();
    expect(await post(port, Buffer.alloc(10_485_760), [token])).toMatchObject({ status: 200 });
    const refused = { status: 413, body: '{"message":"Request Entity Too Large"}' };
    expect(await post(port, Buffer.alloc(10_485_761), [token])).toMatchObject(refused);
    const chunked = 'POST /plants HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
    const chunk = Buffer.concat([Buffer.from('a00001\r\n'), Buffer.alloc(10_485_761), Buffer.from('\r\n0\r\n\r\n')]);
    expect(await exchange(port, chunked, chunk)).toMatchObject(refused);
    expect(log).toMatchObject([{ status: 200 }, { status: 413 }, { status: 413 }]);
  });

  test('reads the rest of a body that is too large, and keeps the connection open', async () => {
    const { port } = await start();
    const chunked = 'POST /plants HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    const chunk = Buffer.concat([Buffer.from('c00000\r\n'), Buffer.alloc(0xc00000), Buffer.from('\r\n0\r\n\r\n')]);
    const next = 'GET /plants HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const body = expect.stringMatching(/^{"message":"Request Entity Too Large"}HTTP\/1.1 404 /);
    expect(await exchange(port, chunked, chunk, next)).toMatchObject({ status: 413, body });
  });

  test.each([
    ['bytes that are not HTTP', 'nonsense\r\n\r\n', 400],
    ['headers that do not end', `GET / HTTP/1.1\r\nX: ${'x'.repeat(70_000)}`, 431],
    ['a path with a broken escape sequence', 'POST /%E0%A4%A HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['a request without Host', 'POST / HTTP/1.1\r\nConnection: close\r\n\r\n', 404],
    ['a request with Expect', 'POST / HTTP/1.1\r\nHost: x\r\nExpect: more\r\nConnection: close\r\n\r\n', 404],
  ])('answers %s with a message and a request id, and logs the request', async (_, bytes, status) => {
    const { port, log } = await start();
    const answer = await exchange(port, bytes);
    expect(answer).toMatchObject({ status, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(answer.body)).toEqual({ message: expect.any(String) });
    expect(log).toMatchObject([{ status, requestId: answer.headers['apigw-requestid'] }]);
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
    const head = 'POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nContent-Length: 2\r\n\r\n{}';
    const answer = exchange(port, head, 'nonsense\r\n\r\n');
    await called.promise;
    finish.resolve(asJson({ statusCode: 200 }));
    expect((await answer).status, 'status').not.toBe(400);
  });

  test('answers 400 to bytes after a request that has been answered', async () => {
    const { port } = await start();
    const socket = connect(port, '127.0.0.1');
    const head = 'POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nContent-Length: 2\r\n\r\n{}';
    socket.write(head);
    await once(socket, 'data');
    socket.end('nonsense\r\n\r\n');
    expect(Buffer.concat(await socket.toArray()).toString()).toMatch(/^HTTP\/1\.1 400 /m);
  });

  test('logs each request once, with the lines that its functions logged', async () => {
    const line = { functionName: 'Plants', level: 'INFO', message: { outcome: 'stored' } };
    const invoke = async (name: string): Promise<Outcome> =>
      name === 'Authorizer' ? asJson(allow) : { result: '{"statusCode":200}', log: [line] };
    const { port, log } = await start({ invoke });
    await post(port, '{}', [token], '/plants?secret=1');
    await post(port, '{}', [token], '/other');
    expect(log).toEqual([
      {
        method: 'POST',
        path: '/plants',
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
