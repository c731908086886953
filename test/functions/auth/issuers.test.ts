/** Tests what docs/issuers.md says about well-known issuers, with imitations of their access tokens and ID tokens. */
import { beforeAll, expect, test } from 'vitest';
import { type IssuerKey, usableKeys } from '../../../functions/auth/issuer-keys.ts';
import type { Refusal } from '../../../functions/auth/unverified-token.ts';
import { verifyToken } from '../../../functions/auth/verify-token.ts';
import { inSeconds, makeKey, type SigningKey, sign } from '../../kit/access-tokens.ts';

type Settings = { issuer: string; audience: string | null; scope: string; scopeClaim?: string };
type Shape = { header: Record<string, unknown>; claims: Record<string, unknown> };

const api = '9f1c2d6e-0000-4000-8000-000000000002';

let key: SigningKey;
let held: IssuerKey[];
beforeAll(async () => {
  key = await makeKey('RS256', 'issuer-key');
  held = usableKeys(new TextEncoder().encode(JSON.stringify({ keys: [key.jwk] })).buffer);
});

const verify = async ({ header, claims }: Shape, { issuer, audience, scope, scopeClaim = 'scope' }: Settings) => {
  const times = { iat: inSeconds(-5), exp: inSeconds(3_600) };
  const token = await sign(key, { iss: issuer, ...times, ...claims }, header);
  const rules = { issuer, audience, requiredScopes: [scope], scopeClaims: scopeClaim.split(',') };
  return verifyToken(token, rules, { current: async () => held, renewed: async () => held });
};

const noTyp = { typ: undefined };
const jwt = { typ: 'JWT' };
const rfc9068 = { typ: 'at+jwt' };

/** For each issuer, the settings of a deployment that trusts it, and a token as the issuer makes it. */
const cognito: Settings = {
  issuer: 'https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_EXAMPLE00',
  audience: null,
  scope: 'plants/create',
};
const cognitoToken = (change = {}): Shape => ({
  header: noTyp,
  claims: { sub: 'client', client_id: 'client', token_use: 'access', scope: 'plants/create', version: 2, ...change },
});

const okta: Settings = {
  issuer: 'https://example.okta.com/oauth2/default',
  audience: 'api://default',
  scope: 'plants.create',
  scopeClaim: 'scp',
};
const oktaToken = (change = {}): Shape => ({
  header: noTyp,
  claims: { ver: 1, aud: 'api://default', cid: 'client', scp: ['plants.read', 'plants.create'], sub: 'c', ...change },
});
const oktaIdToken = oktaToken({ aud: 'client', cid: undefined, scp: undefined, at_hash: 'h', nonce: 'n' });

const entra: Settings = {
  issuer: 'https://login.microsoftonline.com/9f1c2d6e-0000-4000-8000-000000000001/v2.0',
  audience: api,
  scope: 'Plants.Create',
  scopeClaim: 'scp,roles',
};
const entraToken = (change = {}): Shape => ({
  header: jwt,
  claims: { aud: api, azp: 'app', azpacr: '1', oid: 'o', sub: 's', ver: '2.0', ...change },
});
const entraIdToken = (change = {}) => entraToken({ azp: undefined, azpacr: undefined, nonce: 'n', ...change });

const auth0: Settings = {
  issuer: 'https://example.eu.auth0.com/',
  audience: 'https://plants.example',
  scope: 'create:plants',
};
const auth0Token = (change = {}, header: Shape['header'] = jwt): Shape => ({
  header,
  claims: { sub: 'client@clients', aud: 'https://plants.example', azp: 'client', scope: 'create:plants', ...change },
});
const auth0User = { sub: 'auth0|1', aud: ['https://plants.example', `${auth0.issuer}userinfo`], scope: 'openid' };

const keycloak: Settings = {
  issuer: 'https://keycloak.example/realms/garden',
  audience: 'plant-store',
  scope: 'plants/create',
};
const keycloakToken = (change = {}): Shape => ({
  header: jwt,
  claims: {
    aud: ['plant-store', 'account'],
    sub: 's',
    typ: 'Bearer',
    azp: 'client',
    realm_access: { roles: ['plants/create'] },
    scope: 'email profile plants/create',
    ...change,
  },
});

const duende: Settings = { issuer: 'https://identity.example', audience: 'plants', scope: 'plants.create' };
const duendeToken = (change = {}, header: Shape['header'] = rfc9068): Shape => ({
  header,
  claims: {
    nbf: inSeconds(-5),
    aud: 'plants',
    client_id: 'client',
    scope: ['plants.read', 'plants.create'],
    ...change,
  },
});

test.each<[what: string, token: Shape, settings: Settings]>([
  ['Cognito', cognitoToken(), cognito],
  ['Okta', oktaToken(), okta],
  ['Entra ID for a user', entraToken({ scp: 'Plants.Read Plants.Create' }), entra],
  ['Entra ID for an application', entraToken({ roles: ['Plants.Create'] }), entra],
  ['Auth0', auth0Token(), auth0],
  ['Auth0 with its profile of RFC 9068', auth0Token({ azp: undefined, client_id: 'client' }, rfc9068), auth0],
  [
    'Auth0 with permissions (RBAC)',
    auth0Token({ ...auth0User, permissions: ['create:plants'] }),
    { ...auth0, scopeClaim: 'permissions' },
  ],
  ['Keycloak', keycloakToken(), keycloak],
  ['Duende with all scopes in one string', duendeToken({ scope: 'plants.read plants.create' }), duende],
])('verifyToken accepts an access token of %s', async (_, token, settings) => {
  expect(await verify(token, settings)).toHaveProperty('claims');
});

test.each<[Refusal, what: string, token: Shape, settings: Settings]>([
  ['not an access token', 'an ID token of Cognito', cognitoToken({ token_use: 'id' }), cognito],
  [
    'scope',
    'a token of Cognito without a hosted page',
    cognitoToken({ scope: 'aws.cognito.signin.user.admin' }),
    cognito,
  ],
  ['scope', 'a token of Okta, if scopeClaim is not set', oktaToken(), { ...okta, scopeClaim: 'scope' }],
  ['audience', 'an ID token of Okta', oktaIdToken, okta],
  ['scope', 'an ID token of Okta, with audience=none', oktaIdToken, { ...okta, audience: null }],
  ['issuer', "a token of Okta's org authorization server", oktaToken({ iss: 'https://example.okta.com' }), okta],
  [
    'scope',
    'a token of Entra ID for an application, if scopeClaim names only scp',
    entraToken({ roles: ['Plants.Create'] }),
    { ...entra, scopeClaim: 'scp' },
  ],
  ['issuer', 'a token of Entra ID, version 1', entraToken({ iss: 'https://sts.windows.net/9f1c2d6e/' }), entra],
  ['audience', 'a token of Entra ID for Microsoft Graph', entraToken({ aud: '00000003-0000-0000-c000-0' }), entra],
  ['audience', 'an ID token of Entra ID', entraIdToken({ aud: 'app', roles: ['Plants.Create'] }), entra],
  ['scope', 'an ID token of Entra ID, if client and API are one app registration', entraIdToken(), entra],
  ['audience', 'an ID token of Auth0', auth0Token({ aud: 'client', scope: undefined, nonce: 'n' }), auth0],
  [
    'scope',
    'a token of Auth0 without the permission',
    auth0Token({ ...auth0User, permissions: [] }),
    { ...auth0, scopeClaim: 'scope,permissions' },
  ],
  ['audience', 'a token of Keycloak without an audience mapper', keycloakToken({ aud: 'account' }), keycloak],
  [
    'scope',
    'a token of Keycloak with the scope among its nested roles, which scopeClaim cannot name',
    keycloakToken({ scope: 'email' }),
    { ...keycloak, scopeClaim: 'realm_access,realm_access.roles' },
  ],
  ['malformed', 'a token of Duende with its default settings', duendeToken(), duende],
])('verifyToken refuses a token with the reason "%s": %s', async (refused, _, token, settings) => {
  expect(await verify(token, settings)).toEqual({ refused });
});

// An ID token of Entra ID that contains the required role cannot be told from an access token. docs/issuers.md says how
// to exclude ID tokens.
test('verifyToken accepts an ID token of Entra ID that has the required role if the client and the API share an app registration', async () => {
  expect(await verify(entraIdToken({ roles: ['Plants.Create'] }), entra)).toHaveProperty('claims');
});
