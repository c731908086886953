/** Tests the check from outside against a server that answers as each test says. */
import { createServer } from 'node:https';
import tls from 'node:tls';
import { makeCertificate, startServer } from '@lambda-service/testing/servers';
import { propertiesOf } from '@lambda-service/testing/stack';
import { beforeEach, expect, test, vi } from 'vitest';
import { outsideCheck, timeout } from '../../smoke-test/outside-check.ts';

const { key, certificate } = await makeCertificate();
const trusted = [...tls.getCACertificates('default'), certificate];
tls.setDefaultCACertificates(trusted);

const issuer = 'https://issuer.example';
beforeEach(() => {
  vi.stubEnv('ISSUER', issuer);
  vi.stubEnv('API_URL', 'https://api.example');
});

/** Makes a new function, because it reads the environment then. */
const start = () => outsideCheck({ 'PUT /orders/{id}': [], 'GET /orders': [] });

test.each(['API_URL', 'ISSUER'])('the function does not start without %s', (name) => {
  vi.stubEnv(name, undefined);
  expect(start).toThrow(`The environment variable ${name} must be set.`);
});

test('the function has time for both of its requests', () => {
  const { Timeout } = Object(propertiesOf('AWS::Lambda::Function')['OutsideCheck']);
  expect(Timeout).toBeGreaterThan((2 * timeout) / 1_000);
});

type Received = { line: string; authorization: string | undefined; port: number | undefined };

/** Starts an API that answers one request after the other with these statuses. @returns the requests it has received */
const startApi = async (...statuses: (number | (() => void))[]): Promise<Received[]> => {
  const received: Received[] = [];
  const server = createServer({ key, cert: certificate }, ({ method, url, headers, socket }, response) => {
    const { authorization } = headers;
    received.push({ line: `${method} ${url}`, authorization, port: socket.remotePort });
    const answer = statuses.shift();
    if (typeof answer === 'function') answer();
    else response.writeHead(answer ?? 500).end('{"message":"Forbidden"}');
  });
  vi.stubEnv('API_URL', `https://127.0.0.1:${await startServer(server)}`);
  return received;
};

test('succeeds if the first route of the API answers 401 without a token, and 403 to a forged one, each on a new connection, so it sees the DNS record and the certificate of the moment', async () => {
  const received = await startApi(401, 403, 401, 403);
  const handler = start();
  await handler();
  await handler();
  const line = 'PUT /orders/%7Bid%7D';
  const forged = expect.stringMatching(/^Bearer (\w+\.){2}AAAA$/);
  const authorizations = [undefined, forged, undefined, forged];
  const port = expect.any(Number);
  expect(received).toEqual(authorizations.map((authorization) => ({ line, authorization, port })));
  expect(new Set(received.map((each) => each.port)).size).toBe(4);
  const [, claims = ''] = received[1]?.authorization?.split('.') ?? [];
  const exp = expect.toSatisfy((time: number) => time * 1_000 > Date.now());
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toEqual({ iss: issuer, exp });
});

test.each([
  ['no authorizer stands before the API', [200], 'must answer 401. Instead: 200'],
  ['the domain name leads to no API', [403], 'must answer 401. Instead: 403'],
  ['the authorizer has no keys', [401, 500], 'must answer 403. Instead: 500'],
  ['the authorizer accepts the token', [401, 200], 'must answer 403. Instead: 200'],
])('fails with an error that has the status if %s', async (_, statuses, message) => {
  await startApi(...statuses);
  await expect(start()()).rejects.toThrow(message);
});

test('fails with an error that says why there was no answer', async () => {
  await startApi();
  const url = process.env['API_URL'] ?? '';
  vi.stubEnv('API_URL', url.replace('127.0.0.1', 'localhost'));
  await expect(start()()).rejects.toThrow("certificate's altnames");
  vi.stubEnv('API_URL', 'https://127.0.0.1:1');
  await expect(start()()).rejects.toThrow('must answer 401. Instead: connect ECONNREFUSED');
  tls.setDefaultCACertificates([]);
  vi.stubEnv('API_URL', url);
  await expect(start()())
    .rejects.toThrow('must answer 401. Instead: self-signed certificate')
    .finally(() => {
      tls.setDefaultCACertificates(trusted);
    });
});

test('fails if the API does not answer in time', async () => {
  const expiry = new AbortController();
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(expiry.signal);
  await startApi(401, () => expiry.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')));
  await expect(start()()).rejects.toThrow('must answer 403. Instead: The operation was aborted due to timeout');
});
