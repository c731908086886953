/** Tests Lambda authorizers: their events, what they return, their identity sources, and the cache of their results. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import type { LambdaAuthorizerSpec } from '../served-stack.ts';
import { asJson, ask, authorizer, json, openRoute, route, serverError, start, targetOf, token } from './kit/gateway.ts';
import { account } from './kit/templates.ts';
import { stopTimers } from './kit/temporary.ts';

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

describe('an authorizer', () => {
  test('gets the request without its body, as in the sample of the AWS documentation', async () => {
    // AWS's sample of an authorizer's event:
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
    const { send, event, authorizerEvent } = await start({}, { routes: [{ ...route, routeKey: 'POST /orders/{id}' }] });
    const headers = ['Header1: value1', 'Header2: value1', 'Header2: value2', 'Cookie: cookie1', 'Cookie: cookie2'];
    await send('POST /orders/1?parameter1=value1&parameter1=value2&parameter2=value', [token, json, ...headers], '{}');
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

  test('that refuses the request makes the gateway respond 403, without calling the function', async () => {
    const answer = await ask({ Authorizer: { isAuthorized: false } });
    const error = `Authorizer: its response, which may be cached, does not allow ${arn('$default/POST/orders')}`;
    expect(answer).toMatchObject({ status: 403, body: '{"message":"Forbidden"}', log: [{ error }] });
    expect(answer.called).toEqual(['Authorizer']);
  });

  const malformed: [isSimple: boolean, ...responses: unknown[]][] = [
    [true, null, 'yes', {}, { isAuthorized: 'true' }, { isAuthorized: true, context: 'x' }],
    [false, null, [], { isAuthorized: true }, { principalId: 'me' }, { principalId: 'me', policyDocument: {} }],
    [false, { policyDocument: policy([all]).policyDocument }, policy([all], { context: 'x' })],
    [false, policy([statement('allow', '*')]), policy([statement('Allow', undefined)])],
    [false, policy([statement('Allow', '*', { Action: 7 })])],
  ];
  test.each(malformed.flatMap(([isSimple, ...responses]) => responses.map((each) => [isSimple, each] as const)))(
    'makes the gateway respond 500, if isAuthorized is accepted (%j), to %j',
    async (isSimple, response) => {
      const answer = await ask({ Authorizer: response }, guarded({ isSimple }), 'GET /orders');
      expect(answer).toMatchObject({ ...serverError, called: ['Authorizer'] });
      expect(answer.log[0]?.error).toMatch(/^Authorizer: its response/);
    },
  );

  test('that fails makes the gateway respond 500', async () => {
    const answer = await ask({ invoke: async () => ({ failure: 'keys gone', log: [] }) });
    expect(answer).toMatchObject({ ...serverError, log: [{ status: 500, error: 'Authorizer: keys gone' }] });
  });

  test('that does not return within 10 seconds after an instance was free makes the gateway respond 500', async () => {
    stopTimers();
    const begin = Promise.withResolvers<void>();
    const { send, called, log } = await start({ invoke: () => new Promise<never>(() => {}), begin: begin.promise });
    const response = send('POST /orders', [token], '{}');
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
  const withSources = (...identitySources: string[]) => guarded({ isSimple: true, identitySources });
  const key = '$request.header.X-Key';
  const user = '$request.querystring.user';

  test('pass their values to the authorizer in the order of the template, repeated ones joined', async () => {
    const api = withSources(user, key, '$request.header.Cookie');
    const headers = ['x-KEY: k', 'x-key: l', 'cookie: c=1; d=2', 'cookie: e=3'];
    const { authorizerEvent } = await ask({}, api, 'GET /orders?user=%C3%BC&user=b', headers);
    expect(authorizerEvent().identitySource).toEqual(['ü,b', 'k,l', 'c=1; d=2; e=3']);
  });

  test.each<[what: string, headers: string[], target: string, missing: string, source?: string]>([
    ['no header', [], '/orders?user=u', 'header X-Key'],
    ['an empty header', ['X-Key:'], '/orders?user=u', 'header X-Key'],
    ['no query string', ['X-Key: k'], '/orders', 'query parameter user'],
    ['a name that objects have', [], '/orders?user=u', 'query parameter toString', '$request.querystring.toString'],
    ['another such name', [], '/orders', 'header constructor', '$request.header.constructor'],
    ['a query parameter in capitals', ['X-Key: k'], '/orders?USER=u', 'query parameter user'],
  ])(
    'must all have a value: the gateway responds 401 to a request with %s',
    async (_, headers, target, missing, only) => {
      const answer = await ask({}, withSources(...(only ? [only] : [key, user])), `GET ${target}`, headers);
      expect(answer).toMatchObject({ status: 401, body: '{"message":"Unauthorized"}', called: [] });
      expect(answer.log[0]?.error).toBe(`no ${missing}, so the authorizer is not called`);
    },
  );

  test('may be an empty list; the authorizer is then called for every request', async () => {
    const { status, authorizerEvent } = await ask({}, withSources(), 'GET /orders', []);
    expect(status).toBe(200);
    expect(authorizerEvent().identitySource).toBeNull();
  });
});

describe('an IAM policy', () => {
  test.each<[statements: unknown, target: string, status: number, stages?: string[]]>([
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
    // The path begins with the stage.
    [[statement('Allow', arn('v1/GET/a'))], '/v1/a', 200, ['v1']],
    [[statement('Allow', arn('v1/GET/'))], '/v1', 200, ['v1']],
  ])('with statements %j makes the gateway answer GET %s with %d', async (statements, target, status, stages) => {
    // An authorizer that may return isAuthorized may return a policy, too.
    for (const isSimple of [false, true]) {
      const api = { ...guarded({ isSimple }, ['GET /', 'GET /{proxy+}']), ...(stages && { stages }) };
      const answer = await ask({ Authorizer: policy(statements) }, api, `GET ${target}`);
      expect(answer.status).toBe(status);
      expect(answer.called).toEqual(status === 200 ? ['Authorizer', 'Orders'] : ['Authorizer']);
    }
  });

  test.each([
    ['Condition', { Condition: { Bool: { 'aws:SecureTransport': 'false' } } }],
    ['NotResource', { Resource: undefined, NotResource: 'x' }],
  ])('with a %s, which is not evaluated here, is refused: 500, and the log says why', async (name, more) => {
    const answer = await ask({ Authorizer: policy([all, statement('Deny', '*', more)]) }, guarded(), 'GET /a');
    const log = [{ error: `Authorizer: its policy has a ${name}, which is not evaluated here` }];
    expect(answer).toMatchObject({ ...serverError, log });
  });

  test.each([
    [{ context: { user: 'ann', level: 3, roles: ['a'] } }, { user: 'ann', level: 3, roles: ['a'] }],
    [{}, null],
  ])('may have a context, as in %j: the function gets %j', async (more, expected) => {
    const { event } = await ask({ Authorizer: policy([all], more) }, guarded(), 'GET /orders');
    expect(event().requestContext).toMatchObject({ authorizer: { lambda: expected } });
  });
});

test('an authorizer with payload format 1.0 gets the event in the form of the AWS documentation', async () => {
  // AWS's sample: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
  const identitySources = ['$request.header.HeaderAuth1', '$request.querystring.user'];
  const api = guarded({ format: '1.0', identitySources }, ['GET /{list}/{id}']);
  const headers = ['HeaderAuth1: user1', 'Cookie: c=1; d=2'];
  const target = 'GET /orders/a%20b?user=123&x=1&x=2';
  const { event, authorizerEvent } = await ask({ Authorizer: policy([all]) }, api, target, headers);
  const { queryStringParameters, pathParameters, requestContext, ...received } = event();
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
    headers: { ...received.headers, cookie: 'c=1; d=2' },
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
  const user = '$request.querystring.user';
  const withRouteKey = { identitySources: [user, '$context.routeKey'] };
  const twoValues = { identitySources: [user, '$request.querystring.v'] };
  const ttl = 300_000;

  test('keeps the result of an authorizer until its TTL is over', async () => {
    let now = 0;
    const Authorizer = policy([all], { context: { user: 'ann' } });
    const { send, called, event } = await start({ Authorizer }, guarded({ ttl }), { clock: () => now });
    const calls = async (time: number) => {
      now = time;
      called.length = 0;
      await send('GET /orders', [token]);
      return called;
    };
    expect(await calls(0)).toEqual(['Authorizer', 'Orders']);
    expect(await calls(ttl - 1)).toEqual(['Orders']);
    expect(event().requestContext).toMatchObject({ authorizer: { lambda: { user: 'ann' } } });
    expect(await calls(ttl)).toEqual(['Authorizer', 'Orders']);
    expect(await calls(2 * ttl - 1)).toEqual(['Orders']);
  });

  type Case = [what: string, changes: Partial<LambdaAuthorizerSpec>, targets: string[], calls: number];
  test.each<[...Case, statuses?: number[], Authorizer?: object]>([
    ['not without a TTL', { ttl: 0 }, ['/a?user=1', '/a?user=1'], 2],
    ['for the same values', {}, ['/a?user=1&x=1', '/a?user=1&x=2'], 1],
    ['for each combination of values', {}, ['/a?user=1', '/a?user=2'], 2],
    ['also for other routes', {}, ['/a?user=1', '/b?user=1'], 1],
    ['for each route with $context.routeKey', withRouteKey, ['/a?user=1', '/b?user=1'], 2],
    ['without mixing up two values', twoValues, ['/a?user=1,2&v=3', '/a?user=1&v=2,3'], 2],
    ['for refusals, too', { isSimple: true }, ['/a?user=1', '/a?user=1'], 1, [403, 403], { isAuthorized: false }],
    // A policy for a single path refuses every other path.
    ['for policies', {}, ['/a?user=1', '/b?user=1'], 1, [200, 403], policy([statement('Allow', arn('*/GET/a'))])],
  ])('is used %s: with %j, the requests %j take %d calls', async (_, changes, targets, calls, ...others) => {
    const [statuses = [200, 200], Authorizer = policy([all])] = others;
    const api = guarded({ ttl, identitySources: [user], ...changes }, ['GET /a', 'GET /b']);
    const { send, called } = await start({ Authorizer }, api);
    for (const [index, target] of targets.entries()) expect((await send(`GET ${target}`)).status).toBe(statuses[index]);
    expect(called.filter((name) => name === 'Authorizer')).toHaveLength(calls);
  });

  test('keeps no failures', async () => {
    const failure = { failure: 'keys gone', log: [] };
    const outcomes = [failure, asJson({}), asJson(policy([all])), asJson({ statusCode: 204 })];
    const { send } = await start({ invoke: async () => outcomes.shift() ?? asJson(null) }, guarded({ ttl }));
    for (const status of [500, 500, 204]) expect((await send('GET /a', [token])).status).toBe(status);
  });

  test('belongs to one authorizer', async () => {
    const routes = ['Authorizer', 'Other'].map((name) => ({
      ...openRoute(`GET /${name}`),
      authorizer: { ...authorizer, target: targetOf(name), ttl },
    }));
    const { send } = await start({ Other: { isAuthorized: false } }, { routes });
    expect((await send('GET /Authorizer', [token])).status).toBe(200);
    expect((await send('GET /Other', [token])).status).toBe(403);
  });
});
