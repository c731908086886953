import { describe, expect, test } from 'vitest';
import type { CorsSpec } from '../served-stack.ts';
import { openRoute, type Response, route, send, start, token } from './kit/gateway.ts';

const shop = 'https://shop.example';

const cors: CorsSpec = {
  allowOrigins: [shop, 'http://localhost:5173'],
  allowMethods: ['GET', 'POST'],
  allowHeaders: ['authorization', 'content-type'],
  exposeHeaders: ['retry-after', 'x-count'],
  allowCredentials: true,
  maxAge: 300,
};

const preflight = (origin: string): string[] => [`Origin: ${origin}`, 'Access-Control-Request-Method: POST'];

/** The CORS headers of a response by name, without the prefix access-control- in the names. */
const corsOf = ({ headers }: Response): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith('access-control-') ? [[name.replace('access-control-', ''), value]] : [],
    ),
  );

describe('a preflight request', () => {
  test.each(['/orders', '/other'])(
    'to %s gets 204 and the configured headers, without a call to any function',
    async (path) => {
      const { port, events, log } = await start({}, { cors });
      const response = await send(port, `OPTIONS ${path}`, preflight(shop));
      expect(response).toMatchObject({ status: 204, body: '' });
      expect(response.headers).not.toHaveProperty('content-length');
      expect(corsOf(response)).toEqual({
        'allow-origin': shop,
        'allow-methods': 'GET,POST',
        'allow-headers': 'authorization,content-type',
        'allow-credentials': 'true',
        'max-age': '300',
      });
      expect(events).toEqual([]);
      expect(log).toMatchObject([{ method: 'OPTIONS', path, status: 204 }]);
    },
  );

  test('gets no CORS header for a list that is empty in the CORS configuration', async () => {
    const { port } = await start(
      {},
      { cors: { allowOrigins: ['*'], allowMethods: [], allowHeaders: [], exposeHeaders: [], allowCredentials: false } },
    );
    expect(corsOf(await send(port, 'OPTIONS /orders', preflight(shop)))).toEqual({ 'allow-origin': '*' });
  });

  test('gets 204 without CORS headers if its origin is not allowed', async () => {
    const { port, events } = await start({}, { cors });
    const response = await send(port, 'OPTIONS /orders', preflight('https://evil.example'));
    expect(response).toMatchObject({ status: 204 });
    expect(corsOf(response)).toEqual({});
    expect(events).toEqual([]);
  });

  test.each(['OPTIONS /orders', 'ANY /orders', 'ANY /{proxy+}', '$default'])(
    'gets 204, and the function is not called, even if the route %s matches the request',
    async (routeKey) => {
      const { port, events } = await start({}, { cors, routes: [openRoute(routeKey)] });
      expect(await send(port, 'OPTIONS /orders', preflight(shop))).toMatchObject({ status: 204 });
      expect(events).toEqual([]);
    },
  );

  // AWS documents that preflight requests to an API with an authorizer on its route $default need a token:
  // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html
  test('must pass the authorizer if the most specific matching route has an authorizer', async () => {
    const routes = [{ ...route, routeKey: '$default' }];
    const { port, events } = await start({}, { cors, routes });
    const refused = await send(port, 'OPTIONS /orders', preflight(shop));
    expect(refused).toMatchObject({ status: 401 });
    expect(events).toEqual([]);
    expect(await send(port, 'OPTIONS /orders', [...preflight(shop), token])).toMatchObject({ status: 204 });
    expect(events.map(({ name }) => name)).toEqual(['Authorizer']);
    const open = await start({}, { cors, routes: [...routes, openRoute('OPTIONS /{proxy+}')] });
    expect(await send(open.port, 'OPTIONS /orders', preflight(shop))).toMatchObject({ status: 204 });
  });

  test.each([[[`Origin: ${shop}`]], [['Access-Control-Request-Method: POST']]])(
    'needs both Origin and Access-Control-Request-Method: with only %j, an OPTIONS request is ordinary',
    async (headers) => {
      const { port, events } = await start({}, { cors, routes: [openRoute('ANY /orders')] });
      expect(await send(port, 'OPTIONS /orders', headers)).toMatchObject({ status: 200, body: 'ok' });
      expect(events).toHaveLength(1);
      expect(await send(port, 'OPTIONS /other', headers)).toMatchObject({ status: 404 });
    },
  );

  test('is treated as an ordinary request if the API has no CORS configuration', async () => {
    const { port } = await start();
    const response = await send(port, 'OPTIONS /orders', preflight(shop));
    expect(response).toMatchObject({ status: 404 });
    expect(corsOf(response)).toEqual({});
  });
});

describe('a response to an ordinary request', () => {
  const ofFunction = { 'Access-Control-Allow-Origin': '*', 'access-control-max-age': '1', 'X-Count': '2' };
  const result = { statusCode: 200, headers: ofFunction, body: '[]' };
  const routes = [openRoute('GET /orders'), route];

  test("has the API's CORS headers in place of the function's", async () => {
    const { port } = await start({ Orders: result }, { cors, routes });
    const response = await send(port, 'GET /orders', [`Origin: ${shop}`]);
    expect(response).toMatchObject({ status: 200, body: '[]', headers: { 'x-count': '2' } });
    expect(corsOf(response)).toEqual({
      'allow-origin': shop,
      'allow-credentials': 'true',
      'expose-headers': 'retry-after,x-count',
    });
  });

  test.each([[[]], [['Origin: https://evil.example']], [['Origin: null']], [[`Origin: ${shop}`, `Origin: ${shop}`]]])(
    'has no CORS headers, even if the function returned some, if the request has the headers %j',
    async (headers) => {
      const { port } = await start({ Orders: result }, { cors, routes });
      const response = await send(port, 'GET /orders', headers);
      expect(response).toMatchObject({ status: 200, body: '[]', headers: { 'x-count': '2' } });
      expect(corsOf(response)).toEqual({});
    },
  );

  test.each([
    ['POST /orders', 401],
    ['GET /other', 404],
  ])(
    'has CORS headers even if the gateway refuses the request, so that a browser shows the error: %s gets %i',
    async (requestLine, status) => {
      const { port } = await start({}, { cors, routes });
      const response = await send(port, requestLine, [`Origin: ${shop}`]);
      expect(response).toMatchObject({ status, headers: { 'access-control-allow-origin': shop } });
    },
  );

  test("keeps the function's CORS headers if the API has no CORS configuration", async () => {
    const { port } = await start({ Orders: result }, { routes });
    const response = await send(port, 'GET /orders', [`Origin: ${shop}`]);
    expect(corsOf(response)).toEqual({ 'allow-origin': '*', 'max-age': '1' });
  });
});

test.each<[allowOrigins: string[], origin: string, allowed: string | undefined]>([
  [['*'], shop, '*'],
  [['*'], 'null', '*'],
  [[shop, '*'], shop, '*'],
  [['https://*'], shop, shop],
  [['https://*'], 'http://shop.example', undefined],
  [['http://*'], 'http://localhost:5173', 'http://localhost:5173'],
  [[shop], 'https://shop.example:8443', undefined],
  [[shop], 'https://shop.example.evil.example', undefined],
  [['https://*.example'], shop, undefined],
])(
  'with the AllowOrigins %j, a request with the Origin %s gets the Access-Control-Allow-Origin %s',
  async (allowOrigins, origin, allowed) => {
    const { port } = await start(
      {},
      { cors: { ...cors, allowOrigins, allowCredentials: false }, routes: [openRoute('GET /orders')] },
    );
    expect(corsOf(await send(port, 'GET /orders', [`Origin: ${origin}`]))['allow-origin']).toBe(allowed);
  },
);
