/** Tests what packages/runtime/issuers.md says about well-known issuers, with imitations of their access tokens and ID tokens. */

import { inSeconds, issuer, makeKey, sign } from '@lambda-service/testing/tokens';
import { expect, test } from 'vitest';
import { usableKeys } from '../../auth/issuer-keys.ts';
import { verifyToken } from '../../auth/verify-token.ts';

type Settings = { audience: string | null; clientIds?: string[]; scope: string; scopeClaim?: string };

/** For each issuer, the settings of a deployment that trusts it, and the `typ` and claims of its access tokens. */
const issuers: Record<string, { settings: Settings; typ?: string; claims: object }> = {
  Cognito: {
    settings: { audience: null, clientIds: ['client'], scope: 'items/create' },
    claims: { sub: 'client', client_id: 'client', token_use: 'access', scope: 'items/create', version: 2 },
  },
  Okta: {
    settings: { audience: 'api://default', scope: 'items.create', scopeClaim: 'scp' },
    claims: { ver: 1, aud: 'api://default', cid: 'client', scp: ['items.read', 'items.create'], sub: 'client' },
  },
  'Entra ID, version 1': {
    settings: { audience: 'api://items', scope: 'Items.Create', scopeClaim: 'scp,roles' },
    typ: 'JWT',
    claims: { aud: 'api://items', appid: 'app', appidacr: '1', oid: 'o', sub: 's', ver: '1.0' },
  },
  'Entra ID': {
    settings: { audience: 'api-id', scope: 'Items.Create', scopeClaim: 'scp,roles' },
    typ: 'JWT',
    claims: { aud: 'api-id', azp: 'app', azpacr: '1', oid: 'o', sub: 's', ver: '2.0' },
  },
  Auth0: {
    settings: { audience: 'https://items.example', scope: 'create:items' },
    typ: 'JWT',
    claims: { sub: 'client@clients', aud: 'https://items.example', azp: 'client', scope: 'create:items' },
  },
  Keycloak: {
    settings: { audience: 'item-store', scope: 'items/create' },
    typ: 'JWT',
    claims: { aud: ['item-store', 'account'], typ: 'Bearer', scope: 'email profile items/create' },
  },
  Duende: {
    settings: { audience: 'items', scope: 'items.create' },
    typ: 'at+jwt',
    claims: { aud: 'items', client_id: 'client', scope: ['items.read', 'items.create'] },
  },
  UAA: {
    settings: { audience: 'items', scope: 'items.create' },
    typ: 'JWT',
    claims: {
      aud: ['items', 'client'],
      sub: 'client',
      azp: 'client',
      cid: 'client',
      client_id: 'client',
      scope: ['items.create'],
    },
  },
  'Spring Authorization Server': {
    settings: { audience: 'client', scope: 'items.create' },
    claims: { aud: 'client', sub: 'client', scope: ['items.create'] },
  },
};

const key = await makeKey('RS256', 'issuer-key');
const held = usableKeys(new TextEncoder().encode(JSON.stringify({ keys: [key.jwk] })).buffer);

const idTokenOfOkta = { aud: 'client', cid: undefined, scp: undefined, nonce: 'n' };
const idTokenOfEntra = { azp: undefined, azpacr: undefined, nonce: 'n' };
const auth0User = { sub: 'auth0|1', aud: ['https://items.example', 'https://example.eu.auth0.com/userinfo'] };

/** Each case changes the claims of an access token, and perhaps the settings. */
test.each<[string, issuer: string, what: string, change: object, settings?: Partial<Settings>]>([
  ['accepted', 'Cognito', 'an access token', {}],
  ['client', 'Cognito', 'an access token for another client', { client_id: 'other' }],
  ['not an access token', 'Cognito', 'an ID token', { token_use: 'id' }],
  ['accepted', 'Okta', 'an access token', {}],
  ['accepted', 'Okta', 'an access token for a client on the list', {}, { clientIds: ['client'] }],
  ['client', 'Okta', 'an access token for another client', { cid: 'other' }, { clientIds: ['client'] }],
  ['audience', 'Okta', 'an ID token', idTokenOfOkta],
  ['scope', 'Okta', 'an ID token, with audience=none', idTokenOfOkta, { audience: null }],
  [
    'accepted',
    'Entra ID, version 1',
    'a token for an application',
    { roles: ['Items.Create'] },
    { clientIds: ['app'] },
  ],
  ['accepted', 'Entra ID', 'a token for a user', { scp: 'Items.Read Items.Create' }],
  ['accepted', 'Entra ID', 'a token for an application', { roles: ['Items.Create'] }],
  ['audience', 'Entra ID', 'an ID token', { ...idTokenOfEntra, aud: 'app', roles: ['Items.Create'] }],
  ['scope', 'Entra ID', 'an ID token, if client and API are one app registration', idTokenOfEntra],
  // Such an ID token cannot be told from an access token. packages/runtime/issuers.md says how to exclude ID tokens.
  ['accepted', 'Entra ID', 'the same, with the required role', { ...idTokenOfEntra, roles: ['Items.Create'] }],
  ['accepted', 'Auth0', 'an access token', {}],
  ['accepted', 'Auth0', 'permissions', { ...auth0User, permissions: ['create:items'] }, { scopeClaim: 'permissions' }],
  ['audience', 'Auth0', 'an ID token', { aud: 'client', scope: undefined, nonce: 'n' }],
  ['accepted', 'Keycloak', 'an access token', {}],
  ['audience', 'Keycloak', 'a token without an audience mapper', { aud: 'account' }],
  ['accepted', 'Duende', 'an access token with all scopes in one string', { scope: 'items.read items.create' }],
  ['accepted', 'Duende', 'an access token with its default settings', {}],
  ['accepted', 'UAA', 'an access token', {}, { clientIds: ['client'] }],
  ['accepted', 'Spring Authorization Server', 'an access token', {}],
])('%s: %s, %s', async (expected, name, _, change, changedSettings) => {
  const { settings, claims, typ } = issuers[name] ?? {};
  const { audience = null, clientIds = null, scope = '', scopeClaim = 'scope' } = { ...settings, ...changedSettings };
  const times = { iat: inSeconds(-5), exp: inSeconds(3_600) };
  const token = await sign(key, { iss: issuer, ...times, ...claims, ...change }, { typ });
  const rules = { issuer, audience, clientIds, requiredScopes: [scope], scopeClaims: scopeClaim.split(',') };
  const verdict = await verifyToken(token, rules, { current: async () => held, renewed: async () => held });
  expect('refused' in verdict ? verdict.refused : 'accepted').toBe(expected);
});
