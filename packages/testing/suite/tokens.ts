/**
 * Sends forged, damaged and unusual tokens to the deployed authorizer, and tokens in the wrong places to the gateway.
 */
import { connect, createServer } from 'node:net';
import { listen } from 'http-api-emulator/servers';
import { afterAll, expect, test } from 'vitest';
import { bodyOf, createOperation, createRoute, operations } from '../data/index.ts';
import { authorizerEvent } from '../events.ts';
import { sign } from '../tokens.ts';
import {
  claims,
  forgedTokens,
  makeTokenIssuer,
  mapConcurrently,
  progress,
  seed,
  startTrial,
  trialSize,
  validTokens,
} from '../trial/index.ts';
import { isUnavailable, retryWhile } from '../waiting.ts';
import { part } from './part.ts';

export const testTokens = part('tokens', async () => {
  const { method, path } = createOperation;

  const { stack } = await startTrial();
  let connections = 0;
  /** A server of the attacker, to which the fields of some tokens point, such as `jku`. */
  const decoy = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  afterAll(() => void decoy.close());
  const { issuer } = stack.issuer;
  const from = await makeTokenIssuer(issuer, `http://127.0.0.1:${await listen(decoy, 0)}/jwks`);
  const { stranger, ...keys } = from.keys;
  stack.issuer.publish(...Object.values(keys));
  const validToken = await sign(keys.es, claims({ iss: issuer }));

  /** Invokes the authorizer. @returns `isAuthorized` or the failure, and the logged reason */
  const atFunction = async (token: string): Promise<{ verdict: unknown; reason: unknown }> => {
    const outcome = await stack.invoke('authorizer', authorizerEvent(`Bearer ${token}`, createRoute));
    const [line] = outcome.log.map(({ message }) => message as { reason?: string });
    const verdict = 'result' in outcome ? JSON.parse(outcome.result).isAuthorized : outcome.failure;
    return { verdict, reason: line?.reason };
  };

  test.each(forgedTokens)('the authorizer refuses a token with the reason "%s": %s', async (reason, _, forge) => {
    expect(await atFunction(await forge(from))).toEqual({ verdict: false, reason });
  });

  test.each(validTokens)('the authorizer accepts a valid token with %s', async (_, make) => {
    expect(await atFunction(await make(from))).toEqual({ verdict: true, reason: undefined });
  });

  test('the authorizer follows no URL in these tokens', async () => {
    expect(connections, 'connections to the decoy').toBe(0);
    expect(new Set(stack.issuer.requests)).toEqual(new Set(['/jwks?appid=a1']));
    // Unless the decoy counts this request, the count of 0 above proves nothing.
    await expect(fetch(from.foreignUrl)).rejects.toThrow();
    expect(connections, 'connections to the decoy').toBe(1);
  });

  /**
   * Returns copies of a token with one error each: a character replaced, lost or doubled, the end cut, or a bit
   * flipped.
   */
  const damages = (token: string): string[] => {
    const characters = [...token].flatMap((character, at) => {
      const [before, after] = [token.slice(0, at), token.slice(at + 1)];
      const others = [...'AZaz09-_.=+/ ~\0é'].filter((letter) => letter !== character);
      return [
        ...others.map((letter) => before + letter + after),
        before + after,
        before + character + token.slice(at),
        before,
      ];
    });
    const parts = token.split('.');
    const bits = parts.flatMap((part, index) => {
      const bytes = Buffer.from(part, 'base64url');
      return Array.from({ length: bytes.length * 8 }, (_, bit) => {
        const flipped = Buffer.from(bytes);
        flipped.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        return parts.with(index, flipped.toString('base64url')).join('.');
      });
    });
    return [...characters, ...bits];
  };

  /** The short trial tries one damage in 53, a prime number, so that each kind of damage occurs. */
  const stride = trialSize(1, 53);

  test(`the authorizer refuses a token changed in one place (tries one in ${stride} of all changes, seed ${seed})`, async () => {
    const tokens = [validToken, await sign(from.keys.rs, claims({ iss: from.issuer }))];
    const damaged = tokens.flatMap(damages).filter((_, index) => (index + seed) % stride === 0);
    expect(damaged.filter((token) => tokens.includes(token))).toEqual([]);
    const tick = progress('damaged tokens', damaged.length);
    const verdicts = await mapConcurrently(damaged, 8, async (token) => {
      tick();
      return { token, ...(await atFunction(token)) };
    });
    expect(verdicts.filter(({ verdict }) => verdict !== false)).toEqual([]);
  });

  /** Sends raw bytes to the gateway, and expects one response. @returns its status */
  const sendBytes = async (bytes: string): Promise<number> => {
    const socket = connect(Number(new URL(stack.url).port), '127.0.0.1');
    socket.write(bytes);
    let response = '';
    for await (const chunk of socket.setEncoding('latin1')) response += chunk;
    const statuses = [...response.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
    expect(statuses, 'responses').toHaveLength(1);
    return statuses[0] ?? 0;
  };

  /** Returns the text of an HTTP request to create an item, with the header lines `lines`. */
  const request = (lines: string, target: string = path): string => {
    const body = bodyOf();
    const headers = `host: localhost\r\n${lines}\r\nconnection: close\r\ncontent-type: application/json`;
    return `${method} ${target} HTTP/1.1\r\n${headers}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  };

  test.each(operations)(
    '$routeKey refuses a request without a token with 401, and one with a forged token or without its scope with 403',
    async ({ security, ...route }) => {
      const statusWith = async (headers: Record<string, string>) =>
        (await fetch(stack.url + route.path.replaceAll(/\{.*?\}/g, '1'), { method: route.method, headers })).status;
      const bearer = (token: string) => statusWith({ authorization: `Bearer ${token}` });
      expect(await statusWith({})).toBe(401);
      expect(await bearer(await sign(stranger, claims({ iss: issuer })))).toBe(403);
      if (security.some((each) => Object.values(each).flat().length > 0))
        expect(await bearer(await sign(keys.es, claims({ iss: issuer, scope: 'other' })))).toBe(403);
    },
  );

  /** 403 is the authorizer's; the gateway answers with 401 if there is no authorization header. */
  test.each<[what: string, status: number, bytes: (token: string) => string]>([
    ['after a malformed scheme', 403, (token) => request(`authorization: Bearer: ${token}`)],
    ['after another token', 403, (token) => request(`authorization: Bearer x, Bearer ${token}`)],
    ['in two headers', 403, (token) => request(`authorization: Bearer ${token}\r\nauthorization: Bearer ${token}`)],
    ['after an empty header', 403, (token) => request(`authorization: \r\nauthorization: Bearer ${token}`)],
    ['in another header', 401, (token) => request(`x-authorization: Bearer ${token}`)],
    ['in a cookie', 401, (token) => request(`cookie: authorization=Bearer ${token}; access_token=${token}`)],
    ['in the query', 401, (token) => request('accept: */*', `${path}?access_token=${token}`)],
  ])('the service refuses a valid token %s with %i', async (_, status, bytes) => {
    expect(await sendBytes(bytes(validToken))).toBe(status);
  });

  test.each<[what: string, bytes: (token: string) => string]>([
    ['the word BEARER in capitals', (token) => request(`authorization: BEARER ${token}`)],
    // RFC 9110 section 5.5: white space around a header's value is not part of the value.
    ['white space around the header value', (token) => request(`authorization: \t Bearer ${token} \t`)],
    [
      'a request line with a whole URL',
      (token) => request(`authorization: Bearer ${token}`, `http://localhost${path}`),
    ],
  ])('the service accepts a valid token in an unusual request: %s', async (_, bytes) => {
    expect(await retryWhile(() => sendBytes(bytes(validToken)), isUnavailable), 'status').toBe(200);
  });
});
