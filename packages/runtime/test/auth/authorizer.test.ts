import { authorizerEvent } from '@lambda-service/testing/events';
import { audience, claims, issuer, makeKey, scope, sign } from '@lambda-service/testing/tokens';
import { SimpleFetcher } from 'aws-jwt-verify/https';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { tokenAuthorizer } from '../../auth/authorizer.ts';

const route = 'POST /items';
const scopes = { [route]: [scope], 'GET /open': [], 'PUT /two': ['a/read', 'a/write'] };

/** The gateway's request id, which is the same in all events of these tests. */
const gatewayRequestId = authorizerEvent('', route).requestContext.requestId;

const jwksUri = `${issuer}/jwks`;
const key = await makeKey('ES256', 'key');
let logged: unknown[];
beforeEach(() => {
  logged = [];
  for (const level of ['info', 'warn', 'error'] as const) {
    vi.spyOn(console, level).mockImplementation((...values) => {
      logged.push(...values);
    });
  }
  const keySet = new TextEncoder().encode(JSON.stringify({ keys: [key.jwk] })).buffer;
  vi.spyOn(SimpleFetcher.prototype, 'fetch').mockResolvedValue(keySet);
});
afterEach(() => {
  expect(JSON.stringify(logged)).not.toMatch(/Bearer|eyJ/);
});

const start = (environment: Record<string, string | undefined> = {}) => {
  const usual = { ISSUER: issuer, JWKS_URI: jwksUri, AUDIENCE: audience, CLIENT_IDS: 'any' };
  for (const [name, value] of Object.entries({ ...usual, SCOPE_CLAIM: 'scope', ...environment }))
    vi.stubEnv(name, value);
  return tokenAuthorizer(scopes);
};

/** Returns the authorizer's response to a valid token with the claims in `change`, as `claims` takes them. */
const responseTo = async (change: object, environment: Record<string, string> = {}, routeKey: string = route) =>
  start(environment)(authorizerEvent(`Bearer ${await sign(key, claims({ ...change }))}`, routeKey));

test.each<[passed: object, change: object, scopeClaim?: string]>([
  [{ sub: 'client-1', clientId: 'client-1', scope }, {}],
  [{ clientId: 'entra' }, { client_id: undefined, appid: 'entra' }],
  // RFC 9068 section 2.2 names the client in `client_id`. `azp` is from OpenID Connect and may name another party.
  [{ clientId: 'client' }, { client_id: 'client', azp: 'app' }],
  [{ clientId: 'app' }, { client_id: undefined, appid: 'entra', cid: 'okta', azp: 'app' }],
  [{ clientId: 'okta' }, { client_id: undefined, appid: 'entra', cid: 'okta' }],
  [{ clientId: '' }, { client_id: ['x'], azp: 7, cid: null }],
  [
    { sub: '', clientId: '' },
    { sub: undefined, client_id: '' },
  ],
  [{ scope: `items/read ${scope}` }, { scope: 'other', scp: 'items/read', roles: [scope] }, 'scp,roles'],
])('the authorizer passes %j on to the function, as strings only: %j', async (passed, change, scopeClaim = 'scope') => {
  const context = { sub: 'client-1', clientId: 'client-1', scope, ...passed };
  expect(await responseTo(change, { SCOPE_CLAIM: scopeClaim })).toEqual({ isAuthorized: true, context });
  expect(SimpleFetcher.prototype.fetch).toHaveBeenCalledWith(jwksUri);
  expect(logged).toEqual([{ outcome: 'allowed', gatewayRequestId }]);
});

test.each([
  [route, 'Basic dXNlcjpwYXNz', 'no bearer token'],
  [route, 'Bearer a.b.c', 'malformed'],
  ['GET /open', 'Bearer a.b.c', 'malformed'],
])(
  'for the route %s, the authorizer refuses "%s", and logs the reason: %s',
  async (routeKey, authorization, reason) => {
    expect(await start()(authorizerEvent(authorization, routeKey))).toEqual({ isAuthorized: false });
    expect(logged).toEqual([{ outcome: 'refused', reason, gatewayRequestId }]);
  },
);

test.each<[routeKey: string, change: object, environment: Record<string, string>, verdict: string]>([
  ['GET /open', { scope: 'anything' }, {}, 'allowed'],
  ['PUT /two', { scope: 'a/write a/read' }, {}, 'allowed'],
  ['PUT /two', { scope: 'a/read' }, {}, 'scope'],
  ['$default', {}, {}, 'unknown route'],
  ['constructor', {}, {}, 'unknown route'],
  [route, { aud: undefined }, { AUDIENCE: 'urn:other' }, 'audience'],
  [route, { aud: 'urn:payroll' }, { AUDIENCE: 'none' }, 'allowed'],
  [route, { aud: undefined }, { AUDIENCE: 'none' }, 'allowed'],
  // Only `none` itself turns the check off.
  [route, { aud: 'urn:payroll' }, { AUDIENCE: 'None' }, 'audience'],
  [route, {}, { CLIENT_IDS: 'client-1' }, 'allowed'],
  [route, {}, { CLIENT_IDS: 'other,client-1' }, 'allowed'],
  [route, {}, { CLIENT_IDS: 'other' }, 'client'],
  // Only `any` itself turns the check off.
  [route, {}, { CLIENT_IDS: 'Any' }, 'client'],
  [route, {}, { CLIENT_IDS: 'other,any' }, 'client'],
])('for the route %s, the authorizer judges a token with %j by the settings %j: %s', async (...row) => {
  const [routeKey, change, environment, verdict] = row;
  const isAuthorized = verdict === 'allowed';
  expect(await responseTo(change, environment, routeKey)).toMatchObject({ isAuthorized });
  const outcome = isAuthorized ? { outcome: 'allowed' } : { outcome: 'refused', reason: verdict };
  expect(logged).toEqual([{ ...outcome, gatewayRequestId }]);
});

test("the authorizer throws instead of refusing the token if the issuer's keys cannot be fetched", async () => {
  vi.mocked(SimpleFetcher.prototype.fetch).mockRejectedValue(new Error('down'));
  const message = expect.stringContaining('cannot be fetched');
  // Lambda logs these fields of a thrown error. `gatewayRequestId` identifies the request; `bundle` identifies the
  // source map for the stack trace.
  const thrown = { message, gatewayRequestId, bundle: 'hash' };
  await expect(responseTo({}, { BUNDLE_SHA256: 'hash' })).rejects.toMatchObject(thrown);
});

test.each(['ISSUER', 'JWKS_URI', 'AUDIENCE', 'CLIENT_IDS', 'SCOPE_CLAIM'])(
  'the authorizer starts only if %s is not empty',
  (name) => {
    for (const value of [undefined, '']) expect(() => start({ [name]: value })).toThrow(name);
  },
);
