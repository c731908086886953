import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import { RouteTable } from '../gateway/routes.ts';
import { openRoute, route, send, start, token } from './kit/gateway.ts';

/** The key of the route that an API with the routes `routeKeys` selects for a request. */
const select = (routeKeys: string[], requestLine: string): string | undefined => {
  const [method = '', path = ''] = requestLine.split(' ');
  return new RouteTable(routeKeys.map(openRoute)).find(method, path.split('/'))?.route.routeKey;
};

const permutations = <T>(items: T[]): T[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((first, index) => permutations(items.toSpliced(index, 1)).map((rest) => [first, ...rest]));

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
    ['GET /orders/1', 'GET /orders/{id}', 'GET /{list}/1', 'ANY /orders/{id}'],
    ['GET /orders/1', 'GET /{list}/{id}', 'POST /orders/{id}', 'GET /orders'],
    ['GET /orders/1/items', 'GET /orders/{id}/items', 'GET /orders/{id}/{list}', 'GET /orders/{proxy+}'],
    ['GET /orders/1/items', 'GET /orders/{id}/{proxy+}', 'GET /orders/{proxy+}', 'GET /{proxy+}'],
    ['GET /orders/1', 'GET /orders/{proxy+}', 'GET /{list}/{proxy+}', 'ANY /orders/{proxy+}'],
    ['GET /orders/1', 'GET /{list}/1', 'GET /orders/{proxy+}', '$default'],
  ])('for the request %s: the route %s, whatever the order of the routes', (requestLine, selected, ...others) => {
    for (const routeKeys of permutations([selected, ...others])) {
      expect(select(routeKeys, requestLine), routeKeys.join(', ')).toBe(selected);
    }
  });

  test.each([
    ['GET /orders', 'POST /orders'],
    ['GET /Orders', 'GET /orders'],
    ['GET /orders/', 'GET /orders'],
    ['GET //orders', 'GET /orders'],
    ['GET /orders/', 'GET /orders/{id}'],
    ['GET /orders/1/2', 'GET /orders/{id}'],
    ['GET /orders', 'GET /orders/{proxy+}'],
    ['GET /orders/', 'GET /orders/{proxy+}'],
    ['GET /', 'ANY /{proxy+}'],
    ['OPTIONS *', 'ANY /'],
  ])('only among those that match the request: %s does not match %s', (requestLine, routeKey) => {
    expect(select([routeKey], requestLine)).toBeUndefined();
  });
});

test('the gateway responds 404 if no route matches', async () => {
  const { port } = await start();
  expect(await send(port, 'GET /orders')).toMatchObject({
    status: 404,
    headers: { 'apigw-requestid': expect.any(String) },
    body: '{"message":"Not Found"}',
  });
});

describe('the path parameters of a request', () => {
  test.each<[target: string, routeKey: string, rawPath: string, expected: APIGatewayProxyEventV2['pathParameters']]>([
    ['/orders/1/items/2', 'GET /orders/{id}/items/{item}', '/orders/1/items/2', { id: '1', item: '2' }],
    ['/orders/a+b%20%C3%B6', 'GET /orders/{id}', '/orders/a+b ö', { id: 'a+b ö' }],
    ['/orders/1%2F2', 'GET /orders/{id}', '/orders/1/2', { id: '1/2' }],
    ['/orders/a/%C3%BC//c/?q=1', 'GET /orders/{proxy+}', '/orders/a/ü//c/', { proxy: 'a/ü//c/' }],
    ['/orders', 'GET /orders', '/orders', undefined],
    ['/orders', '$default', '/orders', undefined],
  ])('are decoded if the path is %s and the route is %s', async (target, routeKey, rawPath, pathParameters) => {
    const { port, event } = await start({}, { routes: [openRoute(routeKey)] });
    await send(port, `GET ${target}`);
    expect(event()).toMatchObject({ routeKey, rawPath, requestContext: { routeKey } });
    expect(event().pathParameters).toEqual(pathParameters);
  });

  test("are in the authorizer's event, too, together with the route key", async () => {
    const { port, authorizerEvent } = await start({}, { routes: [{ ...route, routeKey: 'ANY /orders/{id}' }] });
    await send(port, 'GET /orders/1', [token]);
    expect(authorizerEvent()).toMatchObject({ routeKey: 'ANY /orders/{id}', pathParameters: { id: '1' } });
    expect(authorizerEvent().routeArn).toMatch(/\/GET\/orders\/1$/);
  });
});
