/** Tests what happens before the function of a route is called: the routes and their authorizers. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { routeFinder } from '../gateway/routes.ts';
import type { RouteSpec } from '../served-stack.ts';
import { authorizer, json, openRoute, post, route, send, start, token } from './kit/gateway.ts';
import { account } from './kit/templates.ts';

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
  const { port, called, log } = await start({}, { routes: [{ routeKey: 'POST /orders', leftOut: 'Shop cannot run' }] });
  const body = '{"message":"Shop cannot run"}';
  expect(await post(port, '{}')).toMatchObject({ status: 501, body });
  expect(called).toEqual([]);
  expect(log).toMatchObject([{ status: 501, error: 'Shop cannot run' }]);
});

describe('the path parameters of a request', () => {
  test.each<[target: string, routeKey: string, rawPath: string, expected: APIGatewayProxyEventV2['pathParameters']]>([
    ['/orders/1/items/2', 'GET /orders/{id}/items/{item}', '/orders/1/items/2', { id: '1', item: '2' }],
    ['/orders/a+b%20%C3%B6', 'GET /orders/{id}', '/orders/a+b ö', { id: 'a+b ö' }],
    ['/orders/1%2F2', 'GET /orders/{id}', '/orders/1/2', { id: '1/2' }],
    ['/orders/a/%C3%BC//c/?q=1', 'GET /orders/{proxy+}', '/orders/a/ü//c/', { proxy: 'a/ü//c/' }],
    ['/orders', '$default', '/orders', undefined],
  ])('are decoded if the path is %s and the route is %s', async (target, routeKey, rawPath, pathParameters) => {
    const { port, event } = await start({}, { routes: [openRoute(routeKey)] });
    await send(port, `GET ${target}`);
    expect(event()).toMatchObject({ routeKey, rawPath, requestContext: { routeKey } });
    expect(event().pathParameters).toEqual(pathParameters);
  });
});

const serverError = { status: 500, body: '{"message":"Internal Server Error"}' };

describe('the authorizer', () => {
  test('gets the request without its body, as in the sample of the AWS documentation', async () => {
    // AWS's sample of an authorizer's event:
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
    const { port, event, authorizerEvent } = await start({}, { routes: [{ ...route, routeKey: 'POST /orders/{id}' }] });
    const headers = ['Header1: value1', 'Header2: value1', 'Header2: value2', 'Cookie: cookie1', 'Cookie: cookie2'];
    await post(port, '{}', [token, json, ...headers], '/orders/1?parameter1=value1&parameter1=value2&parameter2=value');
    const { body: _, isBase64Encoded: __, requestContext, ...shared } = event();
    expect({ ...requestContext, ...authorizerEvent().requestContext }).toEqual(requestContext);
    expect(authorizerEvent()).toEqual({
      ...shared,
      requestContext: expect.not.objectContaining({ authorizer: expect.anything() }),
      type: 'REQUEST',
      pathParameters: { id: '1' },
      routeArn: `arn:aws:execute-api:${account.region}:${account.id}:local/$default/POST/orders/1`,
      identitySource: ['Bearer t'],
    });
  });

  test('makes the gateway respond 403, without calling the function, if it refuses the request', async () => {
    const { port, called, log } = await start({ Authorizer: { isAuthorized: false } });
    expect(await post(port, '{}', [token])).toMatchObject({ status: 403, body: '{"message":"Forbidden"}' });
    expect(log[0]?.error).toMatch(/^Authorizer: its response, which may be cached, does not allow arn:.*\/orders$/);
    expect(called).toEqual(['Authorizer']);
  });

  test.each([null, 'yes', {}, { isAuthorized: 'true' }, { isAuthorized: true, context: 'x' }])(
    'makes the gateway respond 500 if it returns %j',
    async (response) => {
      const { port, called } = await start({ Authorizer: response });
      expect(await post(port, '{}', [token])).toMatchObject(serverError);
      expect(called).toEqual(['Authorizer']);
    },
  );

  test('makes the gateway respond 500 if it fails', async () => {
    const { port, log } = await start({ invoke: async () => ({ failure: 'keys gone', log: [] }) });
    expect(await post(port, '{}', [token])).toMatchObject(serverError);
    expect(log).toMatchObject([{ status: 500, error: 'Authorizer: keys gone' }]);
  });

  test('makes the gateway respond 500 if it does not return within 10 seconds after an instance was free', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const begin = Promise.withResolvers<void>();
    const { port, called, log } = await start({ invoke: () => new Promise<never>(() => {}), begin: begin.promise });
    const response = post(port, '{}', [token]);
    while (called.length === 0) await nextTurn();
    // This is how long the event waits for an instance.
    vi.advanceTimersByTime(60_000);
    begin.resolve();
    await nextTurn();
    vi.advanceTimersByTime(9_999);
    await nextTurn();
    expect(log).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(await response).toMatchObject(serverError);
  });
});

describe('the identity sources', () => {
  const withSources = (...identitySources: string[]): { routes: RouteSpec[] } => ({
    routes: [{ ...route, authorizer: { ...authorizer, identitySources } }],
  });
  const key = '$request.header.X-Key';
  const user = '$request.querystring.user';

  test('pass their values to the authorizer in the order of the template, repeated ones joined', async () => {
    const { port, authorizerEvent } = await start({}, withSources(user, key, '$request.header.Cookie'));
    const headers = ['x-KEY: k', 'x-key: l', 'cookie: c=1; d=2', 'cookie: e=3'];
    await post(port, '{}', headers, '/orders?user=%C3%BC&user=b');
    expect(authorizerEvent().identitySource).toEqual(['ü,b', 'k,l', 'c=1; d=2; e=3']);
  });

  test.each([
    ['no header', [], '/orders?user=u', key],
    ['an empty header', ['X-Key:'], '/orders?user=u', key],
    ['no query string', ['X-Key: k'], '/orders', user],
    ['a query parameter in capitals', ['X-Key: k'], '/orders?USER=u', user],
  ])('must all have a value: the gateway responds 401 to a request with %s', async (_, headers, target, missing) => {
    const { port, called, log } = await start({}, withSources(key, user));
    expect(await post(port, '{}', headers, target)).toMatchObject({ status: 401, body: '{"message":"Unauthorized"}' });
    expect(log[0]?.error).toBe(`Authorizer: not called, because the request has no ${missing}`);
    expect(called).toEqual([]);
  });

  test('may be an empty list; the authorizer is then called for every request', async () => {
    const { port, authorizerEvent } = await start({}, withSources());
    expect(await post(port, '{}')).toMatchObject({ status: 200 });
    expect(authorizerEvent().identitySource).toBeNull();
  });
});
