import { authorizerEvent } from '@lambda-service/testing/events';
import { claims, makeKey, sign } from '@lambda-service/testing/tokens';
import { SimpleFetcher } from 'aws-jwt-verify/https';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { startIssuer } from '../../../../tools/start/issuer.ts';
import { fetchToken } from '../../../../tools/start/session.ts';

const issuer = await startIssuer();
afterAll(issuer.close);
const token = await fetchToken(issuer, 'plants/create');

/** The gateway's request id, which is the same in all events of these tests. */
const gatewayRequestId = authorizerEvent('', 'POST /plants').requestContext.requestId;

let logged: unknown[];
beforeEach(() => {
  logged = [];
  for (const level of ['info', 'warn', 'error'] as const) {
    vi.spyOn(console, level).mockImplementation((...values) => {
      logged.push(...values);
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
    CLIENT_IDS: 'any',
    SCOPE_CLAIM: 'scope',
    ...environment,
  };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  const { handler } = await import('../../../../functions/authorizer.lambda.ts');
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
  const signed = await sign(
    key,
    claims({ iss: issuer.issuer, aud: issuer.audience, scope: 'plants/create', ...change }),
  );
  return handler({ ...authorizerEvent(`Bearer ${signed}`, 'POST /plants'), ...event });
};

describe('the authorizer', () => {
  test("accepts a valid token, and passes on the token's subject, client and scope as strings", async () => {
    const handler = await load();
    expect(await handler(authorizerEvent(`Bearer ${token}`, 'POST /plants'))).toEqual({
      isAuthorized: true,
      context: { sub: issuer.clientId, clientId: issuer.clientId, scope: 'plants/create' },
    });
    expect(logged).toEqual([{ outcome: 'allowed', gatewayRequestId }]);
  });

  test.each([
    ['no bearer token', { authorization: 'Basic dXNlcjpwYXNz' }],
    ['malformed', { authorization: 'Bearer a.b.c' }],
  ])('logs the reason "%s" why it refuses the headers %j', async (reason, headers) => {
    const handler = await load();
    expect(await handler({ ...authorizerEvent('', 'POST /plants'), headers } as never)).toEqual({
      isAuthorized: false,
    });
    expect(logged).toEqual([{ outcome: 'refused', reason, gatewayRequestId }]);
  });

  test.each<[change: Record<string, unknown>, context: object]>([
    [{ client_id: undefined, azp: 'app' }, { clientId: 'app' }],
    [{ client_id: undefined, cid: 'okta' }, { clientId: 'okta' }],
    [{ client_id: undefined, appid: 'entra' }, { clientId: 'entra' }],
    // RFC 9068 section 2.2 names the client in `client_id`. `azp` is from OpenID Connect and may name another party.
    [{ client_id: 'client', azp: 'app' }, { clientId: 'client' }],
    [{ client_id: undefined, appid: 'entra', cid: 'okta', azp: 'app' }, { clientId: 'app' }],
    [{ client_id: undefined, appid: 'entra', cid: 'okta' }, { clientId: 'okta' }],
    [{ client_id: ['x'], azp: 7, cid: null }, { clientId: '' }],
    [
      { sub: undefined, client_id: '' },
      { sub: '', clientId: '' },
    ],
  ])('passes only strings on to the function: %j becomes %j', async (change, context) => {
    expect(await responseTo(change)).toMatchObject({ isAuthorized: true, context });
  });

  test('passes on the scopes of all claims that SCOPE_CLAIM names, as one string with spaces between them', async () => {
    const claimed = { scope: 'other', scp: 'plants/read', roles: ['plants/create'] };
    const response = await responseTo(claimed, { SCOPE_CLAIM: 'scp,roles' });
    expect(response).toMatchObject({ context: { scope: 'plants/read plants/create' } });
  });

  describe('for a route', () => {
    beforeEach(() => {
      const scopes = { 'GET /open': [], 'PUT /two': ['a/read', 'a/write'] };
      vi.doMock('../../../../functions/generated/contract.ts', () => ({ scopes }));
    });
    afterEach(() => {
      vi.doUnmock('../../../../functions/generated/contract.ts');
    });

    test.each([
      ['GET /open', 'anything', undefined],
      ['PUT /two', 'a/write a/read', undefined],
      ['PUT /two', 'a/read', 'scope'],
      ['$default', 'a/read a/write', 'unknown route'],
      ['constructor', 'a/read a/write', 'unknown route'],
    ])('%s, judges a token with the scope "%s" by the route: %s', async (routeKey, scope, reason) => {
      const { isAuthorized } = await responseTo({ scope }, {}, { routeKey });
      const outcome = reason === undefined ? { outcome: 'allowed' } : { outcome: 'refused', reason };
      expect({ isAuthorized, logged }).toEqual({
        isAuthorized: reason === undefined,
        logged: [{ ...outcome, gatewayRequestId }],
      });
    });

    test('that needs no scope, still refuses an invalid token', async () => {
      const handler = await load();
      const response = await handler({ ...authorizerEvent('Bearer a.b.c', 'POST /plants'), routeKey: 'GET /open' });
      expect(response).toEqual({ isAuthorized: false });
    });
  });

  test.each<[setting: string, aud: string | undefined, isAuthorized: boolean]>([
    ['urn:other', undefined, false],
    ['none', 'urn:payroll', true],
    ['none', undefined, true],
    // Only `none` itself turns the check off.
    ['None', 'urn:payroll', false],
  ])('with AUDIENCE=%s, accepts a token whose aud is %j: %j', async (setting, aud, isAuthorized) => {
    expect(await responseTo({ aud }, { AUDIENCE: setting })).toMatchObject({ isAuthorized });
  });

  test.each<[setting: string, isAuthorized: boolean]>([
    ['any', true],
    ['client-1', true],
    ['other,client-1', true],
    ['other', false],
    // Only `any` itself turns the check off.
    ['Any', false],
    ['other,any', false],
  ])('with CLIENT_IDS=%s, accepts a token for client-1: %j', async (setting, isAuthorized) => {
    expect(await responseTo({}, { CLIENT_IDS: setting })).toMatchObject({ isAuthorized });
  });

  test("throws instead of refusing the token if the issuer's keys cannot be fetched", async () => {
    const handler = await load({ JWKS_URI: `${issuer.issuer}/nothing-here`, BUNDLE_SHA256: 'hash' });
    const message = expect.stringContaining('cannot be fetched');
    // Lambda logs these fields of a thrown error. `gatewayRequestId` identifies the request; `bundle` identifies the
    // source map for the stack trace.
    const logged = { message, gatewayRequestId, bundle: 'hash' };
    await expect(handler(authorizerEvent(`Bearer ${token}`, 'POST /plants'))).rejects.toMatchObject(logged);
  });

  test.each(['ISSUER', 'JWKS_URI', 'AUDIENCE', 'CLIENT_IDS', 'SCOPE_CLAIM'])(
    'starts only if %s is not empty',
    async (name) => {
      for (const value of [undefined, '']) await expect(load({ [name]: value })).rejects.toThrow(name);
    },
  );
});
