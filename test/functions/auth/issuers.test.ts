/** Tests what docs/issuers.md says about well-known issuers, with imitations of their access tokens and ID tokens. */
import { beforeAll, describe, expect, test } from 'vitest';
import { type IssuerKey, usableKeys } from '../../../functions/auth/issuer-keys.ts';
import type { Refusal } from '../../../functions/auth/unverified-token.ts';
import { type TokenRules, verifyToken } from '../../../functions/auth/verify-token.ts';
import { inSeconds, makeKey, type SigningKey, sign } from '../../kit/access-tokens.ts';

type Shape = { header: Record<string, unknown>; claims: Record<string, unknown> };

const tenant = '9f1c2d6e-0000-4000-8000-000000000001';
const api = '9f1c2d6e-0000-4000-8000-000000000002';
const app = '9f1c2d6e-0000-4000-8000-000000000003';

let key: SigningKey;
let held: IssuerKey[];
beforeAll(async () => {
  key = await makeKey('RS256', 'issuer-key');
  held = usableKeys(new TextEncoder().encode(JSON.stringify({ keys: [key.jwk] })).buffer);
});

const verify = async ({ header, claims }: Shape, rules: TokenRules) => {
  const times = { iat: inSeconds(-5), exp: inSeconds(3_600) };
  const token = await sign(key, { ...times, ...claims }, header);
  return verifyToken(token, rules, { current: async () => held, renewed: async () => held });
};

/** Returns the token rules of a deployment with these settings. `scopeClaim` lists claims, separated by commas. */
const settings = (issuer: string, audience: string | null, scope: string, scopeClaim = 'scope'): TokenRules => ({
  issuer,
  audience,
  requiredScopes: [scope],
  scopeClaims: scopeClaim.split(','),
});

const noTyp = { typ: undefined };
const jwt = { typ: 'JWT' };
const rfc9068 = { typ: 'at+jwt' };

const cognitoIssuer = 'https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_EXAMPLE00';
const cognito = (change = {}): Shape => ({
  header: noTyp,
  claims: {
    iss: cognitoIssuer,
    sub: 'client',
    client_id: 'client',
    token_use: 'access',
    scope: 'plants/create',
    auth_time: inSeconds(-5),
    version: 2,
    jti: 'a',
    ...change,
  },
});

const oktaIssuer = 'https://example.okta.com/oauth2/default';
const okta = (change = {}): Shape => ({
  header: noTyp,
  claims: {
    iss: oktaIssuer,
    ver: 1,
    jti: 'AT.a',
    aud: 'api://default',
    cid: 'client',
    scp: ['plants.read', 'plants.create'],
    sub: 'client',
    ...change,
  },
});
const oktaIdToken = okta({ jti: 'ID.a', aud: 'client', cid: undefined, scp: undefined, at_hash: 'h', nonce: 'n' });

const entraIssuer = `https://login.microsoftonline.com/${tenant}/v2.0`;
const entraIssuerV1 = `https://sts.windows.net/${tenant}/`;
const entra = (change = {}): Shape => ({
  header: jwt,
  claims: { iss: entraIssuer, aud: api, azp: app, azpacr: '1', oid: 'o', sub: 's', tid: tenant, ver: '2.0', ...change },
});
const entraV1 = (change = {}): Shape => ({
  header: { ...jwt, x5t: 'issuer-key' },
  claims: { iss: entraIssuerV1, aud: `api://${api}`, appid: app, appidacr: '1', sub: 's', ver: '1.0', ...change },
});
const entraIdToken = (change = {}) => entra({ azp: undefined, azpacr: undefined, nonce: 'n', name: 'Ada', ...change });

const auth0Issuer = 'https://example.eu.auth0.com/';
const auth0 = (change = {}, header: Shape['header'] = jwt): Shape => ({
  header,
  claims: {
    iss: auth0Issuer,
    sub: 'client@clients',
    aud: 'https://plants.example',
    azp: 'client',
    gty: 'client-credentials',
    scope: 'create:plants',
    ...change,
  },
});
const auth0User = { sub: 'auth0|1', aud: ['https://plants.example', `${auth0Issuer}userinfo`], gty: undefined };

const keycloakIssuer = 'https://keycloak.example/realms/garden';
const keycloak = (change = {}): Shape => ({
  header: jwt,
  claims: {
    iss: keycloakIssuer,
    jti: 'trrtcc:a',
    aud: ['plant-store', 'account'],
    sub: 's',
    typ: 'Bearer',
    azp: 'client',
    acr: '1',
    realm_access: { roles: ['plants/create'] },
    resource_access: { account: { roles: ['view-profile'] } },
    scope: 'email profile plants/create',
    ...change,
  },
});

const duendeIssuer = 'https://identity.example';
const duende = (change = {}, header: Shape['header'] = rfc9068): Shape => ({
  header,
  claims: {
    iss: duendeIssuer,
    nbf: inSeconds(-5),
    aud: 'plants',
    client_id: 'client',
    jti: 'A',
    scope: ['plants.read', 'plants.create'],
    ...change,
  },
});

describe('verifyToken accepts an access token of', () => {
  test.each<[what: string, token: Shape, rules: TokenRules]>([
    ['Cognito', cognito(), settings(cognitoIssuer, null, 'plants/create')],
    ['Okta', okta(), settings(oktaIssuer, 'api://default', 'plants.create', 'scp')],
    [
      'Entra ID for a user',
      entra({ scp: 'Plants.Read Plants.Create' }),
      settings(entraIssuer, api, 'Plants.Create', 'scp,roles'),
    ],
    [
      'Entra ID for an application',
      entra({ roles: ['Plants.Create'] }),
      settings(entraIssuer, api, 'Plants.Create', 'scp,roles'),
    ],
    [
      'Entra ID, version 1, for a user',
      entraV1({ scp: 'Plants.Create', amr: ['pwd'] }),
      settings(entraIssuerV1, `api://${api}`, 'Plants.Create', 'scp,roles'),
    ],
    [
      'Entra ID, version 1, for an application',
      entraV1({ roles: ['Plants.Create'] }),
      settings(entraIssuerV1, `api://${api}`, 'Plants.Create', 'scp,roles'),
    ],
    ['Auth0', auth0(), settings(auth0Issuer, 'https://plants.example', 'create:plants')],
    [
      'Auth0 with its profile of RFC 9068',
      auth0({ azp: undefined, gty: undefined, client_id: 'client', jti: 'a' }, rfc9068),
      settings(auth0Issuer, 'https://plants.example', 'create:plants'),
    ],
    [
      'Auth0 with permissions (RBAC)',
      auth0({ ...auth0User, scope: 'openid profile', permissions: ['create:plants'] }),
      settings(auth0Issuer, 'https://plants.example', 'create:plants', 'permissions'),
    ],
    [
      'Auth0 with a custom claim',
      auth0({ scope: undefined, 'https://plants.example/roles': ['gardener'] }),
      settings(auth0Issuer, 'https://plants.example', 'gardener', 'https://plants.example/roles'),
    ],
    ['Keycloak', keycloak(), settings(keycloakIssuer, 'plant-store', 'plants/create')],
    [
      'Duende with all scopes in one string',
      duende({ scope: 'plants.read plants.create' }),
      settings(duendeIssuer, 'plants', 'plants.create'),
    ],
  ])('%s', async (_, token, rules) => {
    expect(await verify(token, rules)).toHaveProperty('claims');
  });
});

describe('verifyToken refuses', () => {
  const oktaRules = settings(oktaIssuer, 'api://default', 'plants.create', 'scp');
  const entraRules = settings(entraIssuer, api, 'Plants.Create', 'scp,roles');
  const auth0Rules = settings(auth0Issuer, 'https://plants.example', 'create:plants', 'scope,permissions');
  const keycloakRules = settings(keycloakIssuer, 'plant-store', 'plants/create');

  test.each<[Refusal, what: string, token: Shape, rules: TokenRules]>([
    ['not an access token', 'an ID token of Cognito', cognito({ token_use: 'id' }), settings(cognitoIssuer, null, 'x')],
    [
      'scope',
      'a token of Cognito for a user who signed in without a hosted page',
      cognito({ scope: 'aws.cognito.signin.user.admin' }),
      settings(cognitoIssuer, null, 'plants/create'),
    ],
    [
      'scope',
      'a token of Okta, if scopeClaim is not set',
      okta(),
      settings(oktaIssuer, 'api://default', 'plants.create'),
    ],
    ['audience', 'an ID token of Okta', oktaIdToken, oktaRules],
    ['scope', 'an ID token of Okta, with audience=none', oktaIdToken, { ...oktaRules, audience: null }],
    ['issuer', 'a token of the org authorization server of Okta', okta({ iss: 'https://example.okta.com' }), oktaRules],
    [
      'scope',
      'a token of Entra ID for an application, if scopeClaim names only scp',
      entra({ roles: ['Plants.Create'] }),
      { ...entraRules, scopeClaims: ['scp'] },
    ],
    [
      'issuer',
      'a token of Entra ID, version 1, if version 2 is trusted',
      entraV1({ scp: 'Plants.Create' }),
      entraRules,
    ],
    [
      'audience',
      'a token of Entra ID for Microsoft Graph',
      entra({ aud: '00000003-0000-0000-c000-000000000000' }),
      entraRules,
    ],
    ['audience', 'an ID token of Entra ID', entraIdToken({ aud: app, roles: ['Plants.Create'] }), entraRules],
    ['scope', 'an ID token of Entra ID, if client and API are one app registration', entraIdToken(), entraRules],
    [
      'scope',
      'an ID token of Entra ID with a role, if client and API are one app registration and scopeClaim names only scp',
      entraIdToken({ roles: ['Plants.Create'] }),
      { ...entraRules, scopeClaims: ['scp'] },
    ],
    [
      'audience',
      'an ID token of Auth0',
      auth0({ aud: 'client', azp: undefined, gty: undefined, scope: undefined, nonce: 'n' }),
      auth0Rules,
    ],
    [
      'scope',
      'a token of Auth0 without the permission',
      auth0({ ...auth0User, scope: 'openid', permissions: [] }),
      auth0Rules,
    ],
    ['audience', 'a token of Keycloak without an audience mapper', keycloak({ aud: 'account' }), keycloakRules],
    ['audience', 'a token of Keycloak without any audience', keycloak({ aud: undefined }), keycloakRules],
    ['audience', 'an ID token of Keycloak', keycloak({ aud: 'client', typ: 'ID', scope: undefined }), keycloakRules],
    [
      'scope',
      'a token of Keycloak with the scope among its nested roles, which scopeClaim cannot name',
      keycloak({ scope: 'email' }),
      { ...keycloakRules, scopeClaims: ['realm_access', 'resource_access', 'realm_access.roles'] },
    ],
    [
      'malformed',
      'a token of Duende with its default settings',
      duende(),
      settings(duendeIssuer, 'plants', 'plants.create'),
    ],
    [
      'audience',
      'an ID token of Duende',
      duende({ aud: 'client', scope: undefined }, jwt),
      settings(duendeIssuer, 'plants', 'plants.create'),
    ],
  ])('a token, and gives the reason "%s": %s', async (refused, _, token, rules) => {
    expect(await verify(token, rules)).toEqual({ refused });
  });
});

// An ID token of Entra ID that contains the required role cannot be told from an access token. docs/issuers.md says how
// to exclude ID tokens.
test('verifyToken accepts an ID token of Entra ID that has the required role if the client and the API share an app registration', async () => {
  const rules = settings(entraIssuer, api, 'Plants.Create', 'scp,roles');
  expect(await verify(entraIdToken({ roles: ['Plants.Create'] }), rules)).toHaveProperty('claims');
});
