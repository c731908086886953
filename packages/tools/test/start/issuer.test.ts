import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { testFolder } from '@lambda-service/testing/programs';
import { portMayBeTaken } from '@lambda-service/testing/servers';
import { listen } from 'http-api-emulator/servers';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type LocalIssuer, startIssuer } from '../../start/issuer.ts';
import { reserveIssuer } from '../../start/issuer-address.ts';
import { fetchToken } from '../../start/session.ts';

const startWith = async (scope: string, ...kept: Parameters<typeof reserveIssuer>) => {
  const reserved = await reserveIssuer(...kept);
  const local = await startIssuer(reserved);
  local.setScope(scope);
  return { ...local, scope, hasMoved: reserved.hasMoved };
};

const issuer = await startWith('plants/create plants/read');
afterAll(issuer.close);

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
  // This process has trusted another local issuer before, so this also tests that it can trust the next one.
  const garden = await startWith('plants/create plants/read');
  onTestFinished(garden.close);
  expect(decodeJwt(await fetchToken(garden))).toMatchObject({ scope: 'plants/create plants/read' });
  expect(decodeJwt(await fetchToken(garden, 'plants/read'))).toMatchObject({ scope: 'plants/read' });
  expect(decodeJwt(await fetchToken(garden, 'plants/delete'))).not.toHaveProperty('scope');
});

test('if the scopes that the local issuer may grant change, it grants the new ones to the same client as before, in tokens signed by the same key as before', async () => {
  const garden = await startWith('plants/create');
  onTestFinished(garden.close);
  const keys = createRemoteJWKSet(new URL(garden.jwksUri));
  const before = await fetchToken(garden);
  garden.setScope('plants/create plants/read');
  const after = await fetchToken(garden, 'plants/create plants/read');
  expect(decodeJwt(after)).toMatchObject({ scope: 'plants/create plants/read' });
  for (const token of [before, after])
    await jwtVerify(token, keys, { issuer: garden.issuer, audience: garden.audience });
});

describe('with a file', () => {
  let file: string;
  beforeEach(async () => {
    file = path.join(await testFolder(), 'issuer.json');
  });
  const start = (reserved?: number) => startWith('plants/create', file, reserved);
  const portOf = ({ issuer }: LocalIssuer): number => Number(new URL(issuer).port);
  /** Whether an issuer's keys verify a token. */
  const verifies = ({ issuer, audience, jwksUri }: LocalIssuer, token: string) =>
    jwtVerify(token, createRemoteJWKSet(new URL(jwksUri)), { issuer, audience }).then(
      () => true,
      () => false,
    );

  test('the local issuer keeps its address and key, so tokens stay valid after a restart', portMayBeTaken, async () => {
    const first = await start();
    const token = await fetchToken(first);
    await first.close();
    const second = await start();
    onTestFinished(second.close);
    await fetchToken(second);
    expect([second.issuer, second.hasMoved]).toEqual([first.issuer, false]);
    expect(await verifies(second, token)).toBe(true);
  });

  test('the local issuer takes and keeps another port if its own is taken', portMayBeTaken, async () => {
    const first = await start();
    await first.close();
    const other = createServer();
    await listen(other, portOf(first));
    const second = await start();
    other.close();
    await second.close();
    const third = await start();
    await third.close();
    const fourth = await start(portOf(third));
    onTestFinished(fourth.close);
    expect([first, second, third, fourth].map(({ hasMoved }) => hasMoved)).toEqual([false, true, false, true]);
    expect(third.issuer).toBe(second.issuer);
    expect([portOf(first), portOf(fourth)]).not.toContain(portOf(second));
  });

  test.each(['', '{}', '{"port":1,"signingKey":{}}'])('the issuer refuses the file %j, and leaves it', async (text) => {
    await writeFile(file, text);
    await expect(start()).rejects.toThrow(`${file} is damaged, or not from the local service.`);
    expect(await readFile(file, 'utf8')).toBe(text);
  });
});
