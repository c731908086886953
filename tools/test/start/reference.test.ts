import { type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { HttpApi } from '../../../packages/emulator/gateway/api.ts';
import { gateway } from '../../../packages/emulator/gateway/server.ts';
import { contract } from '../../../test/kit/contract.ts';
import { startServer } from '../../../test/kit/servers.ts';
import { readContract, toJson } from '../../start/contract.ts';
import { forSwaggerUi, referencePage } from '../../start/reference.ts';

type Answer = { status: number | undefined; headers: IncomingHttpHeaders; body: string };

/**
 * Serves the page in front of a gateway without routes. By default, the page's tokens are token-1, token-2 and so on.
 */
const start = async (own: Partial<Parameters<typeof referencePage>[0]> = {}) => {
  let tokens = 0;
  const newToken = async () => `token-${++tokens}`;
  const api = gateway({
    respond: new HttpApi({ routes: [] }, () => Promise.reject(new Error('nobody'))).respond,
    onRequest: () => {},
    intercept: referencePage({ newToken, requests: () => [], routeKeys: () => ['POST /plants'], ...own }),
  });
  const port = await startServer(api);
  const ask = (path: string, method = 'GET', headers: Record<string, string> = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path, method, setHost: false };
      request({ ...options, headers: { host: `127.0.0.1:${port}`, ...headers } }, async (answer) =>
        resolve({ status: answer.statusCode, headers: answer.headers, body: await text(answer) }),
      )
        .on('error', reject)
        .end();
    });
  return { port, ask, tokens: () => tokens };
};

const dataOf = ({ body }: Answer): { token: string; contract: object } =>
  JSON.parse(/<script id="data" type="application\/json">(.*)<\/script>/.exec(body)?.[1] ?? '');

const notFound = { status: 404, body: '{"message":"Not Found"}' };

test('GET / redirects to /docs, unless the API has such a route', async () => {
  expect(await (await start()).ask('/')).toMatchObject({ status: 302, headers: { location: '/docs' } });
  for (const route of ['GET /', 'ANY /'])
    expect(await (await start({ routeKeys: () => [route] })).ask('/')).toMatchObject(notFound);
});

test("GET /docs returns a page that contains the contract, the local service's address and a new token", async () => {
  const { port, ask } = await start();
  const first = await ask('/docs');
  expect(first).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
  expect(first.body).toContain('on your machine only');
  expect(dataOf(first)).toMatchObject({
    token: 'token-1',
    contract: { info: contract.info, servers: [{ url: `http://127.0.0.1:${port}` }] },
  });
  expect(dataOf(await ask('/docs?again')).token).toBe('token-2');
  const { 'content-length': length } = first.headers;
  expect(await ask('/docs', 'HEAD')).toMatchObject({ status: 200, body: '', headers: { 'content-length': length } });
});

test('the page at /docs contains examples as text, because Swagger UI would round numbers, and parameters instead of a $ref', () => {
  const schema = { type: 'integer', examples: [1n] };
  const parameter = { name: 'id', in: 'path', schema };
  const id = 2n ** 53n + 1n;
  const get = {
    parameters: [
      { ...parameter, examples: { one: { value: id }, other: { value: 'Ann' } } },
      { ...parameter, in: 'query', example: [id, true] },
    ],
    requestBody: { content: { 'application/json': { schema, examples: { one: { summary: 'One', value: { id } } } } } },
  };
  const parameters = [{ $ref: '#/components/parameters/Id' }] as object;
  const components = { parameters: { Id: { ...parameter, example: 1n } } };
  expect(forSwaggerUi({ paths: { '/plants': { parameters, get } }, components })).toMatchObject({
    paths: {
      '/plants': {
        parameters: [{ ...parameter, example: '1' }],
        get: {
          parameters: [
            { ...parameter, examples: { one: { value: '9007199254740993' }, other: { value: 'Ann' } } },
            { ...parameter, in: 'query', example: ['9007199254740993', 'true'] },
          ],
          requestBody: {
            content: { 'application/json': { examples: { one: { value: '{\n  "id": 9007199254740993\n}' } } } },
          },
        },
      },
    },
  });
});

test('the page at /docs refers only to files that the local service serves', async () => {
  const { ask } = await start();
  const { body } = await ask('/docs');
  const addresses = [...body.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(([, address = '']) => address);
  expect(addresses).toHaveLength(5);
  for (const address of addresses) expect(await ask(address), address).toMatchObject({ status: 200 });
});

test("GET /openapi.json returns the contract with the request's host as the server, and rounds no number", async () => {
  const { port, ask } = await start();
  const { body } = await ask('/openapi.json', 'GET', { host: `localhost:${port}` });
  expect(JSON.parse(body)).toEqual({ ...contract, servers: [{ url: `http://localhost:${port}` }] });
  expect(body).toContain(toJson((await readContract()).paths));
});

test('only a web page of the same origin can read the page and its token', async () => {
  const { port, ask, tokens } = await start();
  const { headers } = await ask('/docs', 'GET', { origin: 'http://evil.example' });
  expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  expect(headers).toMatchObject({
    'cross-origin-resource-policy': 'same-origin',
    'content-security-policy': expect.stringMatching(/^default-src 'none';.*; frame-ancestors 'none'$/),
    'cache-control': 'no-store',
  });
  expect(headers['content-security-policy']).not.toMatch(/https?:|\*|unsafe/);
  // Other hosts are refused because of DNS rebinding: an attacker's host name may resolve to this server's address.
  for (const host of ['', 'evil.example', `127.0.0.1:${port}.evil.example`, '127.0.0.1:1'])
    expect(await ask('/docs', 'GET', { host })).toMatchObject({ status: 421, body: expect.stringContaining('Use') });
  expect(tokens(), 'tokens').toBe(1);
});

test.each([
  ['POST', '/docs'],
  ['OPTIONS', '/openapi.json'],
  ['GET', '/docs/../package.json'],
])('the local service passes the request %s %s on to the gateway', async (method, path) => {
  const { ask } = await start();
  expect(await ask(path, method)).toMatchObject(notFound);
});

test('the page at /docs escapes the data in its script element, so that no text can end that element', async () => {
  const token = '</script><script>alert(1)</script><!--';
  const { ask } = await start({ newToken: async () => token });
  const page = await ask('/docs');
  expect(dataOf(page).token).toBe(token);
  expect(page.body).not.toContain('alert(1)</script>');
});
