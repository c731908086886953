import { describe, expect, test } from 'vitest';
import type { CorsSpec, RouteSpec } from '../served-stack.ts';
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
  test.each<[route: string, routes: RouteSpec[]]>([
    ['no route', []],
    ['an OPTIONS route', [openRoute('OPTIONS /orders')]],
    ['$default', [openRoute('$default')]],
  ])('gets 204 and the configured headers, without a call of a function, if %s matches', async (_, routes) => {
    const { port, called, log } = await start({}, { cors, routes });
    const response = await send(port, 'OPTIONS /orders', preflight(shop));
    expect(response).toMatchObject({ status: 204, body: '' });
    expect(corsOf(response)).toEqual({
      'allow-origin': shop,
      'allow-methods': 'GET,POST',
      'allow-headers': 'authorization,content-type',
      'allow-credentials': 'true',
      'max-age': '300',
    });
    const refused = await send(port, 'OPTIONS /orders', preflight('https://evil.example'));
    expect([refused.status, corsOf(refused)]).toEqual([204, {}]);
    const logged = { method: 'OPTIONS', path: '/orders', status: 204 };
    expect(log).toMatchObject([logged, { ...logged, refusedOrigin: 'https://evil.example' }]);
    expect(log[0]).not.toHaveProperty('refusedOrigin');
    expect(called).toEqual([]);
  });

  test('gets no CORS header for a list that is empty in the CORS configuration', async () => {
    const { port } = await start(
      {},
      { cors: { allowOrigins: ['*'], allowMethods: [], allowHeaders: [], exposeHeaders: [], allowCredentials: false } },
    );
    expect(corsOf(await send(port, 'OPTIONS /orders', preflight(shop)))).toEqual({ 'allow-origin': '*' });
  });

  // AWS documents that preflight requests to an API with an authorizer on its route $default need a token:
  // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html
  test('must pass the authorizer if the most specific matching route has an authorizer', async () => {
    const { port, called } = await start({}, { cors, routes: [{ ...route, routeKey: '$default' }] });
    expect(await send(port, 'OPTIONS /orders', preflight(shop))).toMatchObject({ status: 401 });
    expect(await send(port, 'OPTIONS /orders', [...preflight(shop), token])).toMatchObject({ status: 204 });
    expect(called).toEqual(['Authorizer']);
  });

  test.each([[[`Origin: ${shop}`]], [['Access-Control-Request-Method: POST']]])(
    'needs both Origin and Access-Control-Request-Method: with only %j, an OPTIONS request is ordinary',
    async (headers) => {
      const { port } = await start({}, { cors, routes: [openRoute('ANY /orders')] });
      expect(await send(port, 'OPTIONS /orders', headers)).toMatchObject({ status: 200, body: 'ok' });
    },
  );
});

describe('a response to an ordinary request', () => {
  const ofFunction = { 'Access-Control-Allow-Origin': '*', 'access-control-max-age': '1', 'X-Count': '2' };
  const functions = { Orders: { statusCode: 200, headers: ofFunction } };
  const routes = [openRoute('GET /orders')];

  test("has the API's CORS headers in place of the function's", async () => {
    const { port } = await start(functions, { cors, routes });
    const response = await send(port, 'GET /orders', [`Origin: ${shop}`]);
    expect(response.headers).toMatchObject({ 'x-count': '2' });
    expect(corsOf(response)).toEqual({
      'allow-origin': shop,
      'allow-credentials': 'true',
      'expose-headers': 'retry-after,x-count',
    });
  });

  test("keeps the function's CORS headers if the API has no CORS configuration", async () => {
    const { port } = await start(functions, { routes });
    const response = await send(port, 'GET /orders', [`Origin: ${shop}`]);
    expect(corsOf(response)).toEqual({ 'allow-origin': '*', 'max-age': '1' });
  });

  test.each<[headers: string[], allowOrigins: string[]]>([
    [[], ['*']],
    [[`Origin: ${shop}`, `Origin: ${shop}`], [shop]],
    [['Origin: http://shop.example'], ['https://*']],
    [['Origin: https://shop.example.evil.example'], [shop]],
    [['Origin: https://shop.example'], ['https://*.example']],
  ])('has no CORS headers with the request headers %j and the AllowOrigins %j', async (headers, allowOrigins) => {
    const { port } = await start(functions, { cors: { ...cors, allowOrigins }, routes });
    expect(corsOf(await send(port, 'GET /orders', headers))).toEqual({});
  });

  test.each([
    [['*'], shop, '*'],
    [[shop, '*'], shop, '*'],
    [['https://*'], shop, shop],
  ])('with the AllowOrigins %j allows the origin %s as %s', async (allowOrigins, origin, allowed) => {
    const { port } = await start(functions, { cors: { ...cors, allowOrigins }, routes });
    expect(corsOf(await send(port, 'GET /orders', [`Origin: ${origin}`]))['allow-origin']).toBe(allowed);
  });

  test.each<[origin: string, refused: boolean, cors: CorsSpec | undefined]>([
    [shop, false, cors],
    ['https://other.example', true, cors],
    ['http://api.example:80', false, cors],
    ['http://api.example:80', false, undefined],
    [shop, true, undefined],
  ])(
    "is logged, for the host api.example:80 and a page's origin %s, with the origin if CORS refuses it (%j)",
    async (origin, refused, of) => {
      const { port, log } = await start(functions, { ...(of && { cors: of }), routes });
      await send(port, 'GET /orders', [`Origin: ${origin}`]);
      expect(log[0]?.refusedOrigin).toBe(refused ? origin : undefined);
    },
  );

  test('has CORS headers even if the gateway refuses the request, so that a browser shows the error', async () => {
    const { port } = await start({}, { cors });
    const response = await send(port, 'POST /orders', [`Origin: ${shop}`]);
    expect(response).toMatchObject({ status: 401, headers: { 'access-control-allow-origin': shop } });
  });
});
