import { describe, expect, test } from 'vitest';
import type { CorsSpec, RouteSpec } from '../served-stack.ts';
import { anyOrigin, ask, openRoute, type Response, route, start, token } from './kit/gateway.ts';

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
    const { send, called, log } = await start({}, { cors, routes });
    const response = await send('OPTIONS /orders', preflight(shop));
    expect(response).toMatchObject({ status: 204, body: '' });
    expect(corsOf(response)).toEqual({
      'allow-origin': shop,
      'allow-methods': 'GET,POST',
      'allow-headers': 'authorization,content-type',
      'allow-credentials': 'true',
      'max-age': '300',
    });
    const refused = await send('OPTIONS /orders', preflight('https://evil.example'));
    expect([refused.status, corsOf(refused)]).toEqual([204, {}]);
    const logged = { method: 'OPTIONS', path: '/orders', status: 204 };
    expect(log).toMatchObject([logged, { ...logged, refusedOrigin: 'https://evil.example' }]);
    expect(log[0]).not.toHaveProperty('refusedOrigin');
    expect(called).toEqual([]);
  });

  test('gets no CORS header for a list that is empty in the CORS configuration', async () => {
    const response = await ask({}, { cors: anyOrigin }, 'OPTIONS /orders', preflight(shop));
    expect(corsOf(response)).toEqual({ 'allow-origin': '*' });
  });

  // AWS documents that preflight requests to an API with an authorizer on its route $default need a token:
  // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html
  test('must pass the authorizer if the most specific matching route has an authorizer', async () => {
    const { send, called } = await start({}, { cors, routes: [{ ...route, routeKey: '$default' }] });
    expect(await send('OPTIONS /orders', preflight(shop))).toMatchObject({ status: 401 });
    expect(await send('OPTIONS /orders', [...preflight(shop), token])).toMatchObject({ status: 204 });
    expect(called).toEqual(['Authorizer']);
  });

  test.each(preflight(shop))('needs two headers: with only %s, an OPTIONS request is ordinary', async (header) => {
    const response = await ask({}, { cors, routes: [openRoute('ANY /orders')] }, 'OPTIONS /orders', [header]);
    expect(response).toMatchObject({ status: 200, body: 'ok' });
  });
});

describe('a response to an ordinary request', () => {
  const ofFunction = { 'Access-Control-Allow-Origin': '*', 'access-control-max-age': '1', 'X-Count': '2' };
  const functions = { Orders: { statusCode: 200, headers: ofFunction } };
  const routes = [openRoute('GET /orders')];

  test("has the API's CORS headers in place of the function's", async () => {
    const response = await ask(functions, { cors, routes }, 'GET /orders', [`Origin: ${shop}`]);
    expect(response.headers).toMatchObject({ 'x-count': '2' });
    const own = { 'allow-origin': shop, 'allow-credentials': 'true', 'expose-headers': 'retry-after,x-count' };
    expect(corsOf(response)).toEqual(own);
  });

  test("keeps the function's CORS headers if the API has no CORS configuration, but the log has the origin", async () => {
    const response = await ask(functions, { routes }, 'GET /orders', [`Origin: ${shop}`]);
    expect(corsOf(response)).toEqual({ 'allow-origin': '*', 'max-age': '1' });
    expect(response.log[0]?.refusedOrigin).toBe(shop);
    const ownPage = await ask(functions, { routes }, 'GET /orders', ['Origin: http://localhost:80']);
    expect(ownPage.log[0]).not.toHaveProperty('refusedOrigin');
  });

  test.each<[allowOrigins: string[], origins: string[], allowed: string | undefined, refused?: string]>([
    [['*'], [shop], '*'],
    [[shop, '*'], [shop], '*'],
    [['https://*'], [shop], shop],
    [[shop], ['http://localhost:80'], undefined],
    [['*'], [], undefined],
    [[shop], [shop, shop], undefined, `${shop}, ${shop}`],
    [['https://*'], ['http://shop.example'], undefined, 'http://shop.example'],
    [[shop], [`${shop}.evil.example`], undefined, `${shop}.evil.example`],
    [['https://*.example'], [shop], undefined, shop],
  ])('with the AllowOrigins %j, for %j, allows %s and logs %s', async (allowOrigins, origins, allowed, refused) => {
    const headers = origins.map((origin) => `Origin: ${origin}`);
    const response = await ask(functions, { cors: { ...cors, allowOrigins }, routes }, 'GET /orders', headers);
    if (allowed === undefined) expect(corsOf(response)).toEqual({});
    else expect(corsOf(response)['allow-origin']).toBe(allowed);
    expect(response.log[0]?.refusedOrigin).toBe(refused);
  });

  test('has CORS headers even if the gateway refuses the request, so that a browser shows the error', async () => {
    const response = await ask({}, { cors }, 'POST /orders', [`Origin: ${shop}`]);
    expect(response).toMatchObject({ status: 401, headers: { 'access-control-allow-origin': shop } });
  });
});
