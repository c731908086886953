import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { account } from '../account.ts';
import type { RouteSpec } from '../served-stack.ts';
import { json, openRoute, post, route, send, start, targetOf, token } from './kit/gateway.ts';

const serverError = { status: 500, body: '{"message":"Internal Server Error"}' };

describe('the authorizer', () => {
  test('gets the request without its body, as in the sample of the AWS documentation', async () => {
    // AWS's sample of an authorizer's event:
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
    const { port, event, authorizerEvent } = await start();
    const headers = ['Header1: value1', 'Header2: value1', 'Header2: value2', 'Cookie: cookie1', 'Cookie: cookie2'];
    await post(port, '{}', [token, json, ...headers], '/orders?parameter1=value1&parameter1=value2&parameter2=value');
    const { body: _, isBase64Encoded: __, requestContext, ...shared } = event();
    expect({ ...requestContext, ...authorizerEvent().requestContext }).toEqual(requestContext);
    expect(authorizerEvent()).toEqual({
      ...shared,
      requestContext: expect.not.objectContaining({ authorizer: expect.anything() }),
      type: 'REQUEST',
      routeArn: `arn:aws:execute-api:${account.region}:000000000000:local/$default/POST/orders`,
      identitySource: ['Bearer t'],
    });
  });

  test('makes the gateway respond 403, without calling the function, if it refuses the request', async () => {
    const { port, called } = await start({ Authorizer: { isAuthorized: false } });
    expect(await post(port, '{}', [token])).toMatchObject({ status: 403, body: '{"message":"Forbidden"}' });
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

  test('makes the gateway respond 500 if it does not return within 10 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { port, called, log } = await start({ invoke: () => new Promise<never>(() => {}) });
    const response = post(port, '{}', [token]);
    while (called.length === 0) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(9_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(await response).toMatchObject(serverError);
  });
});

describe('the identity sources', () => {
  const withSources = (...identitySources: string[]): { routes: RouteSpec[] } => ({
    routes: [{ ...route, authorizer: { target: targetOf('Authorizer'), identitySources } }],
  });
  const key = '$request.header.X-Key';
  const user = '$request.querystring.user';

  test('pass their values to the authorizer in the order of the template, repeated ones joined by a comma', async () => {
    const { port, authorizerEvent } = await start({}, withSources(user, key));
    await post(port, '{}', ['x-KEY: k', 'x-key: l'], '/orders?user=%C3%BC&user=b');
    expect(authorizerEvent().identitySource).toEqual(['ü,b', 'k,l']);
  });

  test.each([
    ['no header', [], '/orders?user=u'],
    ['an empty header', ['X-Key:'], '/orders?user=u'],
    ['no query string', ['X-Key: k'], '/orders'],
    ['an empty query parameter', ['X-Key: k'], '/orders?user='],
    ['a query parameter in capitals', ['X-Key: k'], '/orders?USER=u'],
  ])('must all have a value: the gateway responds 401 to a request with %s', async (_, headers, target) => {
    const { port, called } = await start({}, withSources(key, user));
    expect(await post(port, '{}', headers, target)).toMatchObject({ status: 401, body: '{"message":"Unauthorized"}' });
    expect(called).toEqual([]);
  });

  test('may be an empty list; the authorizer is then called for every request', async () => {
    const { port, authorizerEvent } = await start({}, withSources());
    expect(await post(port, '{}')).toMatchObject({ status: 200 });
    expect(authorizerEvent().identitySource).toEqual([]);
  });
});

test('a route without an authorizer calls only its function', async () => {
  const { port, called, event } = await start({}, { routes: [route, openRoute('GET /orders')] });
  expect(await send(port, 'GET /orders')).toMatchObject({ status: 200 });
  expect(called).toEqual(['Orders']);
  expect(event().requestContext).not.toHaveProperty('authorizer');
});
