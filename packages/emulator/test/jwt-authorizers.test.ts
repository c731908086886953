/** Tests JWT authorizers: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html */
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { exportJWK, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import type { JwtAuthorizerSpec } from '../served-stack.ts';
import { openRoute, start } from './kit/gateway.ts';
import { startServer } from './kit/temporary.ts';

const newKey = (): KeyObject => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const [privateKey, otherKey] = [newKey(), newKey()];
const jwk = { ...(await exportJWK(createPublicKey(privateKey))), kid: 'one' };

const spec: JwtAuthorizerSpec = {
  issuer: 'https://issuer.example',
  audience: ['shop', 'office'],
  identitySource: '$request.header.Authorization',
  jwks: { keys: [{ ...jwk, kid: 'two' }, jwk] },
};

type Claims = Record<string, unknown>;

/** The time of each request, in seconds. */
const now = 1_000;
const valid = { iss: spec.issuer, aud: 'shop', exp: now + 1, iat: now, sub: 'ann' };

const sign = (claims: Claims = {}, header: object = {}, key = privateKey): Promise<string> =>
  new SignJWT({ ...valid, ...claims }).setProtectedHeader({ alg: 'RS256', kid: 'one', ...header }).sign(key);

const startWith = async (authorizer = spec, scopes: string[] = []) => {
  const routes = [{ ...openRoute('GET /orders'), authorizer, scopes }];
  const started = await start({}, { routes }, { clock: () => now * 1000 });
  /** Sends a token in an Authorization header. */
  const ask = (token: string) => started.send('GET /orders', [`Authorization: ${token}`]);
  return { ...started, ask };
};

const body = '{"message":"Unauthorized"}';
const unauthorized = (challenge: string) => ({ status: 401, headers: { 'www-authenticate': challenge }, body });

const invalid = (description: string) =>
  unauthorized(`Bearer scope="" error="invalid_token" error_description="${description}"`);

describe('a JWT authorizer accepts a token', () => {
  test.each<[what: string, claims: Claims, header?: object]>([
    ['for its audience', {}],
    ['for several audiences', { aud: ['elsewhere', 'office'] }],
    ['without aud, for its client', { aud: undefined, client_id: 'office' }],
    ['that is valid from now on', { nbf: now }],
    ['without iat', { iat: undefined }],
    ['signed with RS384', {}, { alg: 'RS384' }],
    ['signed with RS512', {}, { alg: 'RS512' }],
  ])('%s: %j %j', async (_, claims, header) => {
    const { ask } = await startWith();
    const token = await sign(claims, header);
    for (const value of [`Bearer ${token}`, token]) expect((await ask(value)).status).toBe(200);
  });

  test('from a query parameter', async () => {
    const { send } = await startWith({ ...spec, identitySource: '$request.querystring.token' });
    expect((await send(`GET /orders?token=${await sign()}`)).status).toBe(200);
  });
});

const badAudience = 'the token does not have a valid audience';
const noKey = 'no applicable key found in the JSON Web Key Set';
const badAlgorithm = "'alg' (Algorithm) Header Parameter value not allowed";

describe('a JWT authorizer refuses a token', () => {
  test.each<[what: string, token: () => string | Promise<string>, description: string]>([
    ['that has expired', () => sign({ exp: now }), "'exp' claim timestamp check failed"],
    ['without exp', () => sign({ exp: undefined }), "missing required 'exp' claim"],
    ['that is not valid yet', () => sign({ nbf: now + 1 }), "'nbf' claim timestamp check failed"],
    ['from the future', () => sign({ iat: now + 1 }), 'the token was issued in the future'],
    ['of another issuer', () => sign({ iss: `${spec.issuer}/` }), "unexpected 'iss' claim value"],
    ['for another audience', () => sign({ aud: 'elsewhere' }), badAudience],
    ['for no audience, despite client_id', () => sign({ aud: [], client_id: 'shop' }), badAudience],
    ['without aud and client_id', () => sign({ aud: undefined }), badAudience],
    ['with an unknown key id', () => sign({}, { kid: 'three' }), noKey],
    ['without a key id', () => sign({}, { kid: undefined }), noKey],
    ['signed with another key', () => sign({}, {}, otherKey), 'signature verification failed'],
    ['signed with PS256', () => sign({}, { alg: 'PS256' }), badAlgorithm],
    ['with the public key as a secret', forged, badAlgorithm],
    ['without a signature', unsigned, badAlgorithm],
    ['that is none', () => 'not-a-token', 'token contains an invalid number of segments'],
    ['whose parts are not JSON', () => 'a.b.c', 'JWS Protected Header is invalid'],
  ])('%s, and says why', async (_, token, description) => {
    const { ask, called, log } = await startWith();
    expect(await ask(`Bearer ${await token()}`)).toMatchObject(invalid(description));
    expect(called).toEqual([]);
    expect(log).toMatchObject([{ status: 401, error: `JWT authorizer: ${description}` }]);
  });

  test('that is missing, as AWS does', async () => {
    const { send } = await startWith();
    expect(await send('GET /orders')).toMatchObject(unauthorized('Bearer'));
  });
});

const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** Signs a token with HMAC. The secret is the public key, which an attacker knows. */
function forged(): string {
  const content = `${encode({ alg: 'HS256', kid: 'one' })}.${encode(valid)}`;
  const secret = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' });
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
}

function unsigned(): string {
  return `${encode({ alg: 'none', kid: 'one' })}.${encode(valid)}.`;
}

test.each<[scopes: string[], claims: Claims, passed?: string[] | null]>([
  [['read', 'write'], { scope: 'x write' }, ['x', 'write']],
  [['read'], { scp: ['read', 'x'] }, ['read', 'x']],
  [['read'], { scp: 'read' }, ['read']],
  [[], { scope: 'read' }, null],
  [['read', 'write'], {}],
  [['read', 'write'], { scope: 'readonly' }],
  [['read', 'write'], { scp: [] }],
  [['read', 'write'], { scope: 7 }],
])('a route with the scopes %j, for a token with %j, passes on %j, or responds 403', async (scopes, claims, passed) => {
  const { ask, called, event } = await startWith(spec, scopes);
  const answer = await ask(await sign(claims));
  if (passed !== undefined) {
    expect(answer.status).toBe(200);
    return expect(event().requestContext).toMatchObject({ authorizer: { jwt: { scopes: passed } } });
  }
  const headers = { 'www-authenticate': 'Bearer scope="read write" error="insufficient_scope"' };
  expect(answer).toMatchObject({ status: 403, headers, body: '{"message":"Forbidden"}' });
  return expect(called).toEqual([]);
});

test('the function gets the claims as text', async () => {
  const { ask, event } = await startWith();
  const claims = { level: 1.5, admin: true, 'cognito:groups': ['a', 'b'], none: null, address: { country: 'DE' } };
  await ask(await sign(claims));
  const { authorizer } = event().requestContext as unknown as { authorizer: { jwt: { claims: Claims } } };
  expect(authorizer.jwt.claims).toEqual({
    ...valid,
    exp: '1001',
    iat: '1000',
    level: '1.5',
    admin: 'true',
    'cognito:groups': '[a b]',
    address: '{"country":"DE"}',
  });
});

describe('without jwks, a JWT authorizer', () => {
  const { jwks: _, ...remote } = spec;

  /** Starts an issuer, which responds with 500 to requests for the paths in `failing`. */
  const startIssuer = async (path = '') => {
    const requests: string[] = [];
    const failing = new Set<string>();
    const server = createServer(({ url = '' }, response: ServerResponse) => {
      requests.push(url);
      if (failing.has(url)) return response.writeHead(500).end();
      const keys = url === '/keys';
      return response.end(JSON.stringify(keys ? spec.jwks : { jwks_uri: `http://127.0.0.1:${port}/keys` }));
    });
    const port = await startServer(server);
    return { issuer: `http://127.0.0.1:${port}${path}`, requests, failing };
  };

  test.each(['', '/realm', '/realm/'])('fetches the keys of an issuer whose path is %j once', async (path) => {
    const { issuer, requests } = await startIssuer(path);
    const { ask } = await startWith({ ...remote, issuer });
    const token = await sign({ iss: issuer });
    for (const __ of [1, 2]) expect((await ask(token)).status).toBe(200);
    expect(requests).toEqual([`${path.replace(/\/$/, '')}/.well-known/openid-configuration`, '/keys']);
  });

  test.each([
    ['/.well-known/openid-configuration', 'OIDC discovery endpoint communication error'],
    ['/keys', 'JWKS communication error'],
  ])('refuses every token while %s fails, in the words of AWS', async (url, description) => {
    const { issuer, failing } = await startIssuer();
    const { ask, log } = await startWith({ ...remote, issuer });
    failing.add(url);
    expect(await ask(await sign({ iss: issuer }))).toMatchObject(invalid(description));
    expect(log[0]?.error).toMatch(new RegExp(`^JWT authorizer: ${description}: .`));
    failing.clear();
    expect((await ask(await sign({ iss: issuer }))).status).toBe(200);
  });
});
