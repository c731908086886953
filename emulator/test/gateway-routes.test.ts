import type { APIGatewayProxyEventV2, APIGatewayRequestAuthorizerEventV2 } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import { openRoute, route, send, start, token } from './kit/gateway.ts';

type Selected = Pick<APIGatewayProxyEventV2, 'routeKey' | 'rawPath' | 'pathParameters'>;

/**
 * Sends a request to an API that has the routes `routeKeys`, in that order.
 * @returns the event that the function got, or the response's status if the gateway called no function
 */
const select = async (routeKeys: string[], requestLine: string): Promise<Selected | number> => {
  const { port, event } = await start({}, { routes: routeKeys.map(openRoute) });
  const { status } = await send(port, requestLine);
  return status === 200 ? event<APIGatewayProxyEventV2>('Orders') : status;
};

const permutations = <T>(items: T[]): T[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((first, index) => permutations(items.toSpliced(index, 1)).map((rest) => [first, ...rest]));

describe('the gateway selects the most specific route', () => {
  // The sample routes and requests in
  // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
  const documented = ['GET /pets/dog/1', 'GET /pets/dog/{id}', 'GET /pets/{proxy+}', 'ANY /{proxy+}', '$default'];

  test.each<[requestLine: string, routeKey: string, pathParameters: Record<string, string> | undefined]>([
    ['GET /pets/dog/1', 'GET /pets/dog/1', undefined],
    ['GET /pets/dog/2', 'GET /pets/dog/{id}', { id: '2' }],
    ['GET /pets/cat/1', 'GET /pets/{proxy+}', { proxy: 'cat/1' }],
    ['POST /tests/5', 'ANY /{proxy+}', { proxy: 'tests/5' }],
    ['GET /', '$default', undefined],
  ])('for the request %s: the route %s, as AWS documents', async (requestLine, routeKey, pathParameters) => {
    for (const routeKeys of [documented, documented.toReversed()]) {
      const selected = await select(routeKeys, requestLine);
      expect(selected).toMatchObject({ routeKey, requestContext: { routeKey } });
      expect((selected as Selected).pathParameters).toEqual(pathParameters);
    }
  });

  test.each<[requestLine: string, selected: string, ...others: string[]]>([
    ['GET /orders', 'GET /orders', 'ANY /orders', 'POST /orders'],
    ['PUT /orders', 'ANY /orders', 'GET /orders', 'PUT /{id}'],
    ['GET /orders', 'ANY /orders', 'GET /{id}', 'GET /{proxy+}'],
    ['GET /orders/1', 'ANY /orders/{id}', 'GET /orders/{proxy+}', '$default'],
    ['GET /orders/1', 'GET /orders/{id}', 'GET /{list}/1', 'ANY /orders/{id}'],
    ['GET /orders/1', 'GET /{list}/{id}', 'POST /orders/{id}', 'GET /orders'],
    ['GET /orders/1/items', 'GET /orders/{id}/items', 'GET /orders/{id}/{list}', 'GET /orders/{proxy+}'],
    ['GET /orders/1/items', 'GET /orders/{id}/{proxy+}', 'GET /orders/{proxy+}', 'GET /{proxy+}'],
    ['GET /orders/1', 'GET /orders/{proxy+}', 'GET /{list}/{proxy+}', 'ANY /orders/{proxy+}'],
    ['GET /orders/1', 'GET /{list}/1', 'GET /orders/{proxy+}', '$default'],
    ['GET /items', '$default', 'GET /orders', 'POST /items'],
  ])('for the request %s: the route %s, whatever the order of the routes', async (requestLine, selected, ...others) => {
    for (const routeKeys of permutations([selected, ...others])) {
      expect(await select(routeKeys, requestLine), routeKeys.join(', ')).toMatchObject({ routeKey: selected });
    }
  });

  test.each([
    ['GET /orders', 'POST /orders'],
    ['HEAD /orders', 'GET /orders'],
    ['GET /Orders', 'GET /orders'],
    ['GET /orders/', 'GET /orders'],
    ['GET //orders', 'GET /orders'],
    ['GET /orders/', 'GET /orders/{id}'],
    ['GET /orders', 'GET /orders/{id}'],
    ['GET /orders/1/2', 'GET /orders/{id}'],
    ['GET /orders', 'GET /orders/{proxy+}'],
    ['GET /orders/', 'GET /orders/{proxy+}'],
    ['GET /', 'ANY /{proxy+}'],
    ['OPTIONS *', 'ANY /'],
  ])(
    'only among those that match the request: the request %s does not match the route %s',
    async (requestLine, routeKey) => {
      expect(await select([routeKey], requestLine)).toBe(404);
    },
  );
});

describe('the path parameters of a request', () => {
  test.each<[target: string, routeKey: string, rawPath: string, pathParameters: Record<string, string>]>([
    ['/orders/1/items/2', 'GET /orders/{id}/items/{item}', '/orders/1/items/2', { id: '1', item: '2' }],
    ['/orders/L%C3%B6ffel', 'GET /orders/{id}', '/orders/Löffel', { id: 'Löffel' }],
    ['/orders/a+b%20c', 'GET /orders/{id}', '/orders/a+b c', { id: 'a+b c' }],
    ['/orders/1%2F2', 'GET /orders/{id}', '/orders/1/2', { id: '1/2' }],
    ['/orders/%7Bid%7D', 'GET /orders/{id}', '/orders/{id}', { id: '{id}' }],
    ['/orders/a/%C3%BC//c/?q=1', 'GET /orders/{proxy+}', '/orders/a/ü//c/', { proxy: 'a/ü//c/' }],
  ])('are decoded if the path is %s and the route is %s', async (target, routeKey, rawPath, pathParameters) => {
    expect(await select([routeKey], `GET ${target}`)).toMatchObject({ routeKey, rawPath, pathParameters });
  });

  test("are in the authorizer's event, too, together with the route key", async () => {
    const routes = [{ ...route, routeKey: 'ANY /orders/{id}' }];
    const { port, event } = await start({}, { routes });
    await send(port, 'GET /orders/1', [token]);
    const { routeArn, ...selected } = event<APIGatewayRequestAuthorizerEventV2>('Authorizer');
    expect(selected).toMatchObject({ routeKey: 'ANY /orders/{id}', pathParameters: { id: '1' } });
    expect(routeArn).toMatch(/\/GET\/orders\/1$/);
  });

  test('are not in the event if the route has no variables', async () => {
    expect(await select(['GET /orders'], 'GET /orders')).not.toHaveProperty('pathParameters');
  });
});
