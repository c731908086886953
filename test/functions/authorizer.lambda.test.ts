import { once } from 'node:events';
import { createServer } from 'node:net';
import { SimpleFetcher } from 'aws-jwt-verify/https';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type LocalIssuer, startIssuer } from '../../local/issuer.ts';
import { listen } from '../../local/listen.ts';
import { fetchToken } from '../../local/session.ts';
import { claims, makeKey, sign } from '../kit/access-tokens.ts';
import { authorizerEvent } from '../kit/gateway-events.ts';

let issuer: LocalIssuer;
let token: string;
beforeAll(async () => {
  issuer = await startIssuer();
  token = await fetchToken(issuer, 'plants/create');
});
afterAll(() => issuer.close());

/** The gateway's request id, which is the same in all events of these tests. */
const gatewayRequestId = authorizerEvent('').requestContext.requestId;

let logged: unknown[];
beforeEach(() => {
  logged = [];
  for (const level of ['info', 'warn', 'error'] as const) {
    vi.spyOn(console, level).mockImplementation((...entry) => {
      logged.push(...entry);
    });
  }
});
afterEach(() => {
  expect(JSON.stringify(logged)).not.toContain(token.split('.')[1]);
});

const load = async (environment: Record<string, string | undefined> = {}) => {
  vi.resetModules();
  const all = {
    ISSUER: issuer.issuer,
    JWKS_URI: issuer.jwksUri,
    AUDIENCE: issuer.audience,
    SCOPE_CLAIM: 'scope',
    ...environment,
  };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  const { handler } = await import('../../functions/authorizer.lambda.ts');
  return handler;
};

/**
 * Returns the authorizer's response to a valid token in which the claims in `change` replace the usual ones. A claim
 * that `change` sets to undefined is left out of the token.
 */
const responseTo = async (
  change: Record<string, unknown>,
  environment: Record<string, string> = {},
  event: { routeKey?: string } = {},
) => {
  const key = await makeKey('ES256', 'other');
  const keySet = new TextEncoder().encode(JSON.stringify({ keys: [key.jwk] })).buffer;
  vi.spyOn(SimpleFetcher.prototype, 'fetch').mockResolvedValue(keySet);
  const handler = await load(environment);
  const signed = await sign(key, claims({ iss: issuer.issuer, aud: issuer.audience, ...change }));
  return handler({ ...authorizerEvent(`Bearer ${signed}`), ...event });
};

describe('the authorizer', () => {
  test("accepts a valid token, and passes on the token's subject, client and scope as strings", async () => {
    const handler = await load();
    expect(await handler(authorizerEvent(`Bearer ${token}`))).toEqual({
      isAuthorized: true,
      context: { sub: issuer.clientId, clientId: issuer.clientId, scope: 'plants/create' },
    });
    expect(logged).toEqual([{ outcome: 'allowed', gatewayRequestId }]);
  });

  test.each([
    ['no bearer token', () => 'Basic dXNlcjpwYXNz'],
    ['no bearer token', () => `Bearer ${token},Bearer ${token}`],
    ['not a signed JWT', () => 'Bearer 2YotnFZFEjr1zCsicMWpAA'],
    ['encrypted token', () => 'Bearer eyJhbGciOiJkaXIifQ..aXY.Y2lwaGVydGV4dA.dGFn'],
    ['too long', () => `Bearer ${token}${'A'.repeat(8_192)}`],
    ['malformed', () => 'Bearer a.b.c'],
    ['signature', () => `Bearer ${token.slice(0, -2)}${token.endsWith('AA') ? 'BA' : 'AA'}`],
  ])('logs the reason why it refuses a token: %s', async (reason, authorization) => {
    const handler = await load();
    expect(await handler(authorizerEvent(authorization()))).toEqual({ isAuthorized: false });
    expect(logged).toEqual([{ outcome: 'refused', reason, gatewayRequestId }]);
  });

  test('passes only strings on to the function: clientId is empty if the claims client_id and azp are not strings', async () => {
    const contextFor = async (change: Record<string, unknown>) => {
      const response = await responseTo(change);
      return 'context' in response && response.context;
    };
    const scope = 'plants/create';
    expect(await contextFor({})).toEqual({ sub: 'client-1', clientId: 'client-1', scope });
    expect(await contextFor({ client_id: undefined, azp: 'app' })).toEqual({ sub: 'client-1', clientId: 'app', scope });
    // RFC 9068 section 2.2 names the client in `client_id`. `azp` is from OpenID Connect and may name another party.
    expect(await contextFor({ client_id: 'client', azp: 'app' })).toEqual({
      sub: 'client-1',
      clientId: 'client',
      scope,
    });
    expect(await contextFor({ client_id: '', azp: 'app' })).toEqual({ sub: 'client-1', clientId: 'app', scope });
    expect(await contextFor({ client_id: ['x'], azp: 7 })).toEqual({ sub: 'client-1', clientId: '', scope });
    expect(await contextFor({ sub: undefined, client_id: undefined })).toEqual({ sub: '', clientId: '', scope });
  });

  test('passes on the scopes of all claims that SCOPE_CLAIM names, as one string with spaces between them', async () => {
    const contextFor = async (change: Record<string, unknown>) => {
      const response = await responseTo({ scope: 'other', ...change }, { SCOPE_CLAIM: 'scp,roles' });
      return 'context' in response && response.context['scope'];
    };
    expect(await contextFor({ scp: ['plants/read', 'plants/create'] })).toBe('plants/read plants/create');
    expect(await contextFor({ scp: ' plants/read  plants/create' })).toBe('plants/read plants/create');
    expect(await contextFor({ scp: 'plants/read', roles: ['plants/create'] })).toBe('plants/read plants/create');
    // A list element is a single scope. An element with a space is not a scope, and must not be split into two scopes.
    expect(await contextFor({ roles: ['plants/create', 'plants/read admin'] })).toBe('plants/create');
    expect(await responseTo({ scope: 'plants/create' }, { SCOPE_CLAIM: 'scp,roles' })).toEqual({ isAuthorized: false });
  });

  test('refuses an event without headers', async () => {
    const handler = await load();
    const { headers: _, ...event } = authorizerEvent('');
    expect(await handler(event as never)).toEqual({ isAuthorized: false });
    expect(logged).toEqual([{ outcome: 'refused', reason: 'no bearer token', gatewayRequestId }]);
  });

  describe('for a route', () => {
    const scopes = { 'GET /open': [], 'GET /one': ['a/read'], 'PUT /two': ['a/read', 'a/write'] };
    beforeEach(() => {
      vi.doMock('../../functions/generated/contract.ts', () => ({ scopes }));
    });
    afterEach(() => {
      vi.doUnmock('../../functions/generated/contract.ts');
    });

    /** Returns whether the authorizer lets a token with this scope call the route, and what the authorizer logs. */
    const verdictFor = async (routeKey: string, scope: string) => {
      logged.length = 0;
      const { isAuthorized } = await responseTo({ scope }, {}, { routeKey });
      return { isAuthorized, logged };
    };
    const allowed = { isAuthorized: true, logged: [{ outcome: 'allowed', gatewayRequestId }] };
    const refused = (reason: string) => ({
      isAuthorized: false,
      logged: [{ outcome: 'refused', reason, gatewayRequestId }],
    });

    test('that needs one scope accepts only tokens with that scope', async () => {
      expect(await verdictFor('GET /one', 'a/read')).toEqual(allowed);
      expect(await verdictFor('GET /one', 'a/write')).toEqual(refused('scope'));
    });

    test('that needs two scopes accepts only a token with both', async () => {
      expect(await verdictFor('PUT /two', 'a/write a/read')).toEqual(allowed);
      expect(await verdictFor('PUT /two', 'a/read')).toEqual(refused('scope'));
      expect(await verdictFor('PUT /two', 'a/write')).toEqual(refused('scope'));
    });

    test('that needs no scope still refuses an invalid token', async () => {
      expect(await verdictFor('GET /open', 'anything')).toEqual(allowed);
      const handler = await load();
      expect(await handler({ ...authorizerEvent('Bearer a.b.c'), routeKey: 'GET /open' })).toEqual({
        isAuthorized: false,
      });
    });

    test.each(['$default', 'POST /plants', 'get /one', 'GET /one/', 'constructor', '__proto__', ''])(
      'that is not in the contract refuses every token: %j',
      async (routeKey) => {
        expect(await verdictFor(routeKey, 'a/read a/write')).toEqual(refused('unknown route'));
      },
    );
  });

  test('refuses a token without the audience that AUDIENCE names', async () => {
    const handler = await load({ AUDIENCE: 'urn:other' });
    expect(await handler(authorizerEvent(`Bearer ${token}`))).toEqual({ isAuthorized: false });
    expect(logged).toEqual([{ outcome: 'refused', reason: 'audience', gatewayRequestId }]);
  });

  describe('if AUDIENCE is the word none', () => {
    test.each(['urn:payroll', 'none', ['none'], undefined])('accepts a token whose aud is %j', async (aud) => {
      const response = await responseTo({ aud }, { AUDIENCE: 'none' });
      expect(response).toMatchObject({ isAuthorized: true });
    });
  });

  test.each(['none', ['none'], undefined, 'None'])(
    'refuses a token whose aud is %j if an audience is required',
    async (aud) => {
      expect(await responseTo({ aud })).toEqual({ isAuthorized: false });
      expect(logged).toEqual([{ outcome: 'refused', reason: 'audience', gatewayRequestId }]);
    },
  );

  test.each(['None', 'NONE', ' none', 'none,'])(
    'takes AUDIENCE=%j for the name of an audience, because only `none` itself has a special meaning',
    async (audience) => {
      expect(await responseTo({ aud: 'urn:payroll' }, { AUDIENCE: audience })).toEqual({ isAuthorized: false });
      expect(await responseTo({ aud: audience }, { AUDIENCE: audience })).toMatchObject({ isAuthorized: true });
    },
  );

  test("throws instead of refusing the token if the issuer's keys cannot be fetched", async () => {
    const handler = await load({ JWKS_URI: `${issuer.issuer}/nothing-here`, BUNDLE_SHA256: 'hash' });
    const message = expect.stringContaining('cannot be fetched');
    // Lambda logs these fields of a thrown error. `gatewayRequestId` identifies the request; `bundle` identifies the
    // source map for the stack trace.
    const logged = { message, gatewayRequestId, bundle: 'hash' };
    await expect(handler(authorizerEvent(`Bearer ${token}`))).rejects.toMatchObject(logged);
  });

  test('throws before Lambda times out if the issuer never responds', async () => {
    const silent = createServer(() => {});
    const port = await listen(silent, 0);
    onTestFinished(() => void silent.close());
    const handler = await load({ JWKS_URI: `https://127.0.0.1:${port}/jwks` });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let connections = once(silent, 'connection');
    const failure = handler(authorizerEvent(`Bearer ${token}`)).catch((error: Error) => error.message);
    // Both attempts to fetch the keys must end within 9 s, the function's time-out, which infra/ sets.
    await connections;
    connections = once(silent, 'connection');
    vi.advanceTimersByTime(4_499);
    await connections;
    vi.advanceTimersByTime(4_499);
    expect(await failure).toContain('cannot be fetched');
  });

  test('fetches keys over HTTPS only', async () => {
    const handler = await load({ JWKS_URI: issuer.jwksUri.replace('https:', 'http:') });
    await expect(handler(authorizerEvent(`Bearer ${token}`))).rejects.toThrow('cannot be fetched');
  });

  test.each(['ISSUER', 'JWKS_URI', 'AUDIENCE', 'SCOPE_CLAIM'])(
    'does not start if the environment variable %s is missing or empty',
    async (name) => {
      for (const value of [undefined, '']) await expect(load({ [name]: value })).rejects.toThrow(name);
    },
  );
});
