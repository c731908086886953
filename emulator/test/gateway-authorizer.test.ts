import type { APIGatewayProxyEventV2, APIGatewayRequestAuthorizerEventV2 } from 'aws-lambda';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { account } from '../account.ts';
import type { RouteSpec } from '../served-stack.ts';
import { json, openRoute, post, route, send, start, targetOf, token } from './kit/gateway.ts';

describe('the authorizer', () => {
  test('gets the request without its body, as in the sample of the AWS documentation', async () => {
    // AWS's sample of an authorizer's event:
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
    const { port, event } = await start();
    const headers = ['Header1: value1', 'Header2: value1', 'Header2: value2', 'Cookie: cookie1', 'Cookie: cookie2'];
    await post(port, '{}', [token, json, ...headers], '/orders?parameter1=value1&parameter1=value2&parameter2=value');
    const authorizerEvent = event<APIGatewayRequestAuthorizerEventV2>('Authorizer');
    const { body: _, isBase64Encoded: __, ...shared } = event<APIGatewayProxyEventV2>('Orders');
    const { authorizer: ___, ...requestContext } = shared.requestContext as APIGatewayProxyEventV2['requestContext'] & {
      authorizer: unknown;
    };
    expect(authorizerEvent).toEqual({
      ...shared,
      requestContext,
      type: 'REQUEST',
      routeArn: `arn:aws:execute-api:${account.region}:000000000000:local/$default/POST/orders`,
      identitySource: ['Bearer t'],
    });
    expect(authorizerEvent).toMatchObject({
      version: '2.0',
      routeKey: 'POST /orders',
      rawPath: '/orders',
      rawQueryString: 'parameter1=value1&parameter1=value2&parameter2=value',
      cookies: ['cookie1', 'cookie2'],
      headers: { authorization: 'Bearer t', header1: 'value1', header2: 'value1,value2' },
      queryStringParameters: { parameter1: 'value1,value2', parameter2: 'value' },
    });
  });

  test.each([[[]], [['Authorization:']]])(
    'is not called, and the gateway responds 401, if the header that is its identity source is missing or empty: %j',
    async (headers) => {
      const { port, events } = await start();
      expect(await post(port, '{}', headers)).toMatchObject({ status: 401, body: '{"message":"Unauthorized"}' });
      expect(events).toEqual([]);
    },
  );

  test('gets two Authorization headers as one value, joined by a comma', async () => {
    const { port, event } = await start();
    await post(port, '{}', [token, 'Authorization: Bearer u']);
    expect(event<APIGatewayRequestAuthorizerEventV2>('Authorizer').identitySource).toEqual(['Bearer t,Bearer u']);
  });

  test('makes the gateway respond 403, without calling the function, if the authorizer refuses the request', async () => {
    const { port, events } = await start({ Authorizer: { isAuthorized: false } });
    expect(await post(port, '{}', [token])).toMatchObject({ status: 403, body: '{"message":"Forbidden"}' });
    expect(events.map(({ name }) => name)).toEqual(['Authorizer']);
  });

  test.each([null, 'yes', {}, { isAuthorized: 'true' }, { isAuthorized: true, context: 'x' }])(
    'makes the gateway respond 500 if the authorizer returns %j',
    async (response) => {
      const { port, events } = await start({ Authorizer: response });
      expect(await post(port, '{}', [token])).toMatchObject({
        status: 500,
        body: '{"message":"Internal Server Error"}',
      });
      expect(events.map(({ name }) => name)).toEqual(['Authorizer']);
    },
  );

  test('makes the gateway respond 500 if the authorizer fails', async () => {
    const { port, log } = await start({ invoke: async () => ({ failure: 'keys gone', log: [] }) });
    expect(await post(port, '{}', [token])).toMatchObject({ status: 500 });
    expect(log).toMatchObject([{ status: 500, error: 'Authorizer: keys gone' }]);
  });

  test('makes the gateway respond 500 if the authorizer does not return within 10 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { port, events, log } = await start({ invoke: () => new Promise<never>(() => {}) });
    const response = post(port, '{}', [token]);
    while (events.length === 0) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(9_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(await response).toMatchObject({ status: 500 });
  });

  test('is not called for a route that has no authorizer', async () => {
    const { authorizer: _, ...open } = route;
    const { port, events, event } = await start({}, { routes: [open] });
    expect(await post(port, '{}')).toMatchObject({ status: 200 });
    expect(events.map(({ name }) => name)).toEqual(['Orders']);
    expect(event<APIGatewayProxyEventV2>('Orders').requestContext).not.toHaveProperty('authorizer');
  });
});

describe('the identity sources', () => {
  const withSources = (...identitySources: string[]): { routes: RouteSpec[] } => ({
    routes: [{ ...route, authorizer: { target: targetOf('Authorizer'), identitySources } }],
  });
  const key = '$request.header.X-Key';
  const user = '$request.querystring.user';

  test('pass their values to the authorizer, in the order in which the template lists the sources', async () => {
    const { port, event } = await start({}, withSources(user, key));
    await post(port, '{}', ['x-KEY: k'], '/orders?user=%C3%BC&user=b');
    expect(event<APIGatewayRequestAuthorizerEventV2>('Authorizer').identitySource).toEqual(['ü,b', 'k']);
  });

  test.each([
    ['no header', [], '/orders?user=u'],
    ['an empty header', ['X-Key:'], '/orders?user=u'],
    ['no query string', ['X-Key: k'], '/orders'],
    ['an empty query parameter', ['X-Key: k'], '/orders?user='],
    ['a query parameter in capitals', ['X-Key: k'], '/orders?USER=u'],
  ])('must all have a value: the gateway responds 401 to a request with %s', async (_, headers, target) => {
    const { port, events } = await start({}, withSources(key, user));
    expect(await post(port, '{}', headers, target)).toMatchObject({ status: 401, body: '{"message":"Unauthorized"}' });
    expect(events).toEqual([]);
  });

  test('may be an empty list; the authorizer is then called for every request', async () => {
    const { port, event } = await start({}, withSources());
    expect(await post(port, '{}')).toMatchObject({ status: 200 });
    expect(event<APIGatewayRequestAuthorizerEventV2>('Authorizer').identitySource).toEqual([]);
  });

  test('of one route do not affect another route', async () => {
    const routes = [...withSources(key).routes, openRoute('GET /orders')];
    const { port, events } = await start({}, { routes });
    expect(await send(port, 'GET /orders')).toMatchObject({ status: 200 });
    expect(events.map(({ name }) => name)).toEqual(['Orders']);
    expect(await post(port, '{}')).toMatchObject({ status: 401 });
  });
});
