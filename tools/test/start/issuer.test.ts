import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { scopes } from '../../../functions/generated/contract.ts';
import { type LocalIssuer, startIssuer } from '../../start/issuer.ts';
import { fetchToken } from '../../start/session.ts';

let issuer: LocalIssuer;
beforeAll(async () => {
  issuer = await startIssuer();
});
afterAll(() => issuer.close());

test('the local issuer gives its client an RFC 9068 access token, valid for an hour', async () => {
  const token = await fetchToken(issuer);
  const { iat = 0, ...claims } = decodeJwt(token);
  expect(claims).toMatchObject({
    iss: issuer.issuer,
    aud: issuer.audience,
    client_id: issuer.clientId,
    sub: issuer.clientId,
    scope: issuer.scope,
    exp: iat + 3_600,
  });
  expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) });
});

test('the local issuer grants all its scopes by default, fewer if a client asks for fewer, and never an unknown scope', async () => {
  expect(issuer.scope.split(' ')).toEqual([...new Set(Object.values(scopes).flat())]);
  // This process has trusted another local issuer before, so this also tests that it can trust the next one.
  const garden = await startIssuer('plants/create plants/read');
  onTestFinished(garden.close);
  expect(decodeJwt(await fetchToken(garden))).toMatchObject({ scope: 'plants/create plants/read' });
  expect(decodeJwt(await fetchToken(garden, 'plants/read'))).toMatchObject({ scope: 'plants/read' });
  expect(decodeJwt(await fetchToken(garden, 'plants/delete'))).not.toHaveProperty('scope');
});

test('if the scopes that the local issuer may grant change, it grants the new ones to the same client as before, in tokens signed by the same key as before', async () => {
  const garden = await startIssuer('plants/create');
  onTestFinished(garden.close);
  const keys = createRemoteJWKSet(new URL(garden.jwksUri));
  const before = await fetchToken(garden);
  garden.setScope('plants/create plants/read');
  const after = await fetchToken(garden);
  expect(decodeJwt(after)).toMatchObject({ scope: 'plants/create plants/read' });
  for (const token of [before, after])
    await jwtVerify(token, keys, { issuer: garden.issuer, audience: garden.audience });
});
