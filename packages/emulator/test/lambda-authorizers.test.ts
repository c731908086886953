/** Tests Lambda authorizers that return an IAM policy, payload format 1.0, and the cache of their results. */
import { describe, expect, test } from 'vitest';
import type { LambdaAuthorizerSpec } from '../served-stack.ts';
import { asJson, authorizer, openRoute, send, start, targetOf, token } from './kit/gateway.ts';
import { account } from './kit/templates.ts';

const arn = (rest: string): string => `arn:aws:execute-api:${account.region}:${account.id}:local/${rest}`;

const statement = (Effect: string, Resource: unknown, more: object = {}) => ({
  Effect,
  Action: 'execute-api:Invoke',
  Resource,
  ...more,
});

const policy = (Statement: unknown, more: object = {}) => ({
  principalId: 'me',
  policyDocument: { Version: '2012-10-17', Statement },
  ...more,
});

const all = statement('Allow', '*');

/** An API with a route for each request, whose authorizer is as the CDK makes it by default. */
const guarded = (changes: Partial<LambdaAuthorizerSpec> = {}, routeKeys = ['GET /{proxy+}']) => {
  const shared = { ...authorizer, isSimple: false, ...changes };
  return { routes: routeKeys.map((routeKey) => ({ ...openRoute(routeKey), authorizer: shared })) };
};

describe('an IAM policy', () => {
  test.each<[statements: unknown, target: string, status: number]>([
    [[statement('Allow', arn('$default/GET/orders/1'))], '/orders/1', 200],
    [[statement('Allow', arn('$default/GET/orders/1'))], '/orders/2', 403],
    [[statement('Allow', arn('*/GET/orders/*'))], '/orders/1/items', 200],
    [[statement('Allow', arn('$default/POST/*'))], '/orders/1', 403],
    [[statement('Allow', 'arn:aws:execute-api:*')], '/orders/1', 200],
    [[statement('Allow', [arn('$default/GET/items'), arn('$default/GET/orders')])], '/orders', 200],
    [statement('Allow', '*', { Sid: 'All', Action: ['execute-api:*'] }), '/orders/1', 200],
    [[statement('Allow', '*', { Action: 'execute-api:ManageConnections' })], '/orders/1', 403],
    [[all, statement('Deny', arn('$default/GET/orders/1'))], '/orders/1', 403],
    [[all, statement('Deny', arn('$default/GET/orders/1'))], '/orders/2', 200],
    [[statement('Allow', arn('$default/GET/*x')), statement('Deny', '*')], '/orders/%0Ax', 403],
    [[], '/orders/1', 403],
  ])('with the statements %j makes the gateway respond to GET %s with %d', async (statements, target, status) => {
    const { port, called } = await start({ Authorizer: policy(statements) }, guarded());
    expect((await send(port, `GET ${target}`, [token])).status).toBe(status);
    expect(called).toEqual(status === 200 ? ['Authorizer', 'Orders'] : ['Authorizer']);
  });

  test.each([
    ['v1/GET/a', '/v1/a'],
    ['v1/GET/', '/v1'],
  ])('for %s allows the path %s, which begins with the stage', async (resource, target) => {
    const api = { ...guarded({}, ['GET /', 'GET /a']), stages: ['v1'] };
    const { port } = await start({ Authorizer: policy(statement('Allow', arn(resource))) }, api);
    expect((await send(port, `GET ${target}`, [token])).status).toBe(200);
  });

  test('is accepted, too, from a function that may return isAuthorized', async () => {
    const { port } = await start(
      { Authorizer: policy(statement('Allow', arn('*/GET/a'))) },
      guarded({ isSimple: true }),
    );
    expect((await send(port, 'GET /a', [token])).status).toBe(200);
    expect((await send(port, 'GET /b', [token])).status).toBe(403);
  });

  test.each([
    null,
    [],
    { isAuthorized: true },
    { principalId: 'me' },
    { principalId: 'me', policyDocument: {} },
    { policyDocument: policy([all]).policyDocument },
    policy([all], { context: 'x' }),
    policy([statement('allow', '*')]),
    policy([statement('Allow', undefined)]),
    policy([statement('Allow', '*', { Action: 7 })]),
  ])('is missing or malformed in %j: the gateway responds 500, and the log says why', async (response) => {
    const { port, called, log } = await start({ Authorizer: response }, guarded());
    expect(await send(port, 'GET /orders', [token])).toMatchObject({
      status: 500,
      body: '{"message":"Internal Server Error"}',
    });
    expect(called).toEqual(['Authorizer']);
    expect(log[0]?.error).toMatch(/^Authorizer: its response/);
  });

  test.each([
    ['Condition', { Condition: { Bool: { 'aws:SecureTransport': 'false' } } }],
    ['NotResource', { Resource: undefined, NotResource: 'x' }],
  ])(
    'with a %s, which is not evaluated here, makes the gateway respond 500, and the log says why',
    async (name, more) => {
      const { port, log } = await start({ Authorizer: policy([all, statement('Deny', '*', more)]) }, guarded());
      expect(await send(port, 'GET /orders', [token])).toMatchObject({ status: 500 });
      expect(log[0]?.error).toBe(`Authorizer: its policy has a ${name}, which is not evaluated here`);
    },
  );

  test.each([
    [{ context: { user: 'ann', level: 3, roles: ['a'] } }, { user: 'ann', level: 3, roles: ['a'] }],
    [{}, null],
  ])('may have a context, as in %j: the function gets %j', async (more, expected) => {
    const { port, event } = await start({ Authorizer: policy([all], more) }, guarded());
    await send(port, 'GET /orders', [token]);
    expect(event().requestContext).toMatchObject({ authorizer: { lambda: expected } });
  });
});

test('an authorizer with payload format 1.0 gets the event in the form of the AWS documentation', async () => {
  // AWS's sample: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
  const identitySources = ['$request.header.HeaderAuth1', '$request.querystring.user'];
  const api = guarded({ format: '1.0', identitySources }, ['GET /{list}/{id}']);
  const { port, event, authorizerEvent } = await start({ Authorizer: policy([all]) }, api);
  await send(port, 'GET /orders/a%20b?user=123&x=1&x=2', ['HeaderAuth1: user1', 'Cookie: c=1; d=2']);
  const { headers, queryStringParameters, pathParameters, requestContext } = event();
  const { requestId, http } = requestContext;
  expect(authorizerEvent()).toEqual({
    version: '1.0',
    type: 'REQUEST',
    methodArn: arn('$default/GET/orders/a b'),
    identitySource: 'user1,123',
    authorizationToken: 'user1,123',
    resource: '/{list}/{id}',
    path: '/orders/a b',
    httpMethod: 'GET',
    headers: { ...headers, cookie: 'c=1; d=2' },
    queryStringParameters,
    pathParameters,
    requestContext: {
      path: '/orders/a b',
      accountId: account.id,
      stage: '$default',
      requestId,
      identity: { sourceIp: http.sourceIp, userAgent: '' },
      resourcePath: '/{list}/{id}',
      httpMethod: 'GET',
      apiId: 'local',
    },
  });
});

describe('the cache', () => {
  const context = { user: 'ann' };
  const user = '$request.querystring.user';

  test('keeps the result of an authorizer until its TTL is over', async () => {
    let now = 0;
    const { port, called, event } = await start({ Authorizer: policy([all], { context }) }, guarded({ ttl: 300_000 }), {
      clock: () => now,
    });
    const calls = async (time: number) => {
      now = time;
      called.length = 0;
      await send(port, 'GET /orders', [token]);
      return called;
    };
    expect(await calls(0)).toEqual(['Authorizer', 'Orders']);
    expect(await calls(299_999)).toEqual(['Orders']);
    expect(event().requestContext).toMatchObject({ authorizer: { lambda: context } });
    expect(await calls(300_000)).toEqual(['Authorizer', 'Orders']);
    expect(await calls(599_999)).toEqual(['Orders']);
  });

  test.each<[what: string, changes: Partial<LambdaAuthorizerSpec>, targets: string[], invocations: number]>([
    ['not without a TTL', { ttl: 0 }, ['/a?user=1', '/a?user=1'], 2],
    ['for the same values', {}, ['/a?user=1&x=1', '/a?user=1&x=2'], 1],
    ['for each combination of values', {}, ['/a?user=1', '/a?user=2'], 2],
    ['also for other routes', {}, ['/a?user=1', '/b?user=1'], 1],
    [
      'for each route with $context.routeKey',
      { identitySources: [user, '$context.routeKey'] },
      ['/a?user=1', '/b?user=1'],
      2,
    ],
    [
      'without mixing up two values',
      { identitySources: [user, '$request.querystring.v'] },
      ['/a?user=1,2&v=3', '/a?user=1&v=2,3'],
      2,
    ],
  ])(
    'is used %s: with %j, the requests %j invoke the authorizer %d times',
    async (_, changes, targets, invocations) => {
      const api = guarded({ ttl: 300_000, identitySources: [user], ...changes }, ['GET /a', 'GET /b']);
      const { port, called } = await start({ Authorizer: policy([all]) }, api);
      for (const target of targets) expect((await send(port, `GET ${target}`)).status).toBe(200);
      expect(called.filter((name) => name === 'Authorizer')).toHaveLength(invocations);
    },
  );

  test('keeps a policy, which is evaluated for each request: one for a single path refuses every other path', async () => {
    const Authorizer = policy([statement('Allow', arn('$default/GET/a'))]);
    const { port, called, log } = await start({ Authorizer }, guarded({ ttl: 300_000 }));
    expect((await send(port, 'GET /a', [token])).status).toBe(200);
    expect(await send(port, 'GET /b', [token])).toMatchObject({ status: 403, body: '{"message":"Forbidden"}' });
    const error = `Authorizer: its response, which may be cached, does not allow ${arn('$default/GET/b')}`;
    expect(log[1]).toMatchObject({ error });
    expect(called).toEqual(['Authorizer', 'Orders']);
  });

  test('keeps refusals, too', async () => {
    const { port, called } = await start(
      { Authorizer: { isAuthorized: false } },
      guarded({ ttl: 300_000, isSimple: true }),
    );
    for (const _ of [1, 2]) expect((await send(port, 'GET /a', [token])).status).toBe(403);
    expect(called).toEqual(['Authorizer']);
  });

  test('keeps no failures', async () => {
    const outcomes = [
      { failure: 'keys gone', log: [] },
      asJson({}),
      asJson(policy([all])),
      asJson({ statusCode: 204 }),
    ];
    const invoke = async () => outcomes.shift() ?? asJson(null);
    const { port } = await start({ invoke }, guarded({ ttl: 300_000 }));
    const statuses = [];
    for (const _ of [1, 2, 3]) statuses.push((await send(port, 'GET /a', [token])).status);
    expect(statuses).toEqual([500, 500, 204]);
  });

  test('belongs to one authorizer', async () => {
    const routes = ['Authorizer', 'Other'].map((name) => ({
      ...openRoute(`GET /${name}`),
      authorizer: { ...authorizer, target: targetOf(name), ttl: 300_000 },
    }));
    const { port } = await start({ Other: { isAuthorized: false } }, { routes });
    expect((await send(port, 'GET /Authorizer', [token])).status).toBe(200);
    expect((await send(port, 'GET /Other', [token])).status).toBe(403);
  });
});
