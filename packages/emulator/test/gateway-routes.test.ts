/** Tests which route gets a request, and the path parameters that its function gets. */

import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import { routeFinder } from '../gateway/routes.ts';
import { ask, openRoute } from './kit/gateway.ts';

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
