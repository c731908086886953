import { readFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { HttpApi } from '../../emulator/gateway/api.ts';
import { type AccessLogEntry, gateway } from '../../emulator/gateway/server.ts';
import { forSwaggerUi, referencePage } from '../../local/reference.ts';
import { contract } from '../kit/contract.ts';
import { startServer } from '../kit/servers.ts';

type Answer = { status: number | undefined; headers: IncomingHttpHeaders; body: string };

/**
 * Serves the reference page in front of a gateway without routes. By default, the page's tokens are token-1, token-2
 * and so on.
 */
const start = async (
  newToken?: () => Promise<string>,
  requests: AccessLogEntry[] = [],
  routeKeys = ['POST /plants'],
) => {
  let tokens = 0;
  const api = gateway({
    respond: new HttpApi({ routes: [] }, () => Promise.reject(new Error('nobody'))).respond,
    onRequest: () => {},
    intercept: referencePage({
      newToken: newToken ?? (async () => `token-${++tokens}`),
      requests: () => requests,
      routeKeys: () => routeKeys,
    }),
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

test("GET / redirects a browser to /docs, and sends other clients a list of the local service's paths", async () => {
  const { ask } = await start();
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  expect(await ask('/', 'GET', { accept })).toMatchObject({ status: 302, headers: { location: '/docs' } });
  const { status, headers, body } = await ask('/', 'GET', { accept: '*/*' });
  expect({ status, location: headers.location }).toEqual({ status: 200, location: undefined });
  expect(JSON.parse(body)).toEqual({ docs: '/docs', openapi: '/openapi.json', routes: ['POST /plants'] });
});

test.each(['GET /', 'ANY /'])(
  'the local service passes GET / on to the gateway if the API has the route %s',
  async (route) => {
    expect(await (await start(undefined, [], [route])).ask('/')).toMatchObject(notFound);
  },
);

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
});

test('the page at /docs contains examples of parameters and bodies as text, because Swagger UI would round large numbers', () => {
  const schema = { type: 'integer', examples: [1n] };
  const parameter = { name: 'id', in: 'path', schema };
  const id = 2n ** 53n + 1n;
  const get = {
    parameters: [
      { ...parameter, example: id },
      { ...parameter, examples: { one: { value: id }, other: { value: 'Moss' } } },
      { ...parameter, in: 'query', example: [id, true] },
    ],
    requestBody: { content: { 'application/json': { schema, examples: { one: { summary: 'One', value: { id } } } } } },
  };
  expect(forSwaggerUi({ paths: { '/plants': { get } } })).toMatchObject({
    paths: {
      '/plants': {
        get: {
          parameters: [
            { ...parameter, example: '9007199254740993' },
            { ...parameter, examples: { one: { value: '9007199254740993' }, other: { value: 'Moss' } } },
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

test('the page at /docs contains each parameter itself instead of a $ref, because Swagger UI might not resolve the $ref', () => {
  const parameters = { Id: { name: 'id', in: 'path', example: 1n, schema: {} } };
  const item = { parameters: [{ $ref: '#/components/parameters/Id' }] as object };
  expect(forSwaggerUi({ paths: { '/plants/{id}': item }, components: { parameters } })).toMatchObject({
    paths: { '/plants/{id}': { parameters: [{ name: 'id', in: 'path', example: '1' }] } },
  });
});

test('the page at /docs refers only to files that the local service serves', async () => {
  const { ask } = await start();
  const { body } = await ask('/docs');
  const addresses = [...body.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(([, address = '']) => address);
  expect(addresses).toHaveLength(5);
  for (const address of addresses) expect(await ask(address)).toMatchObject({ status: 200 });
});

test.each([
  ['/docs/swagger-ui.css', 'text/css', 'node_modules/swagger-ui-dist/swagger-ui.css'],
  ['/docs/swagger-ui-bundle.js', 'text/javascript', 'node_modules/swagger-ui-dist/swagger-ui-bundle.js'],
  ['/docs/page.css', 'text/css', 'local/reference/page.css'],
  ['/docs/page.js', 'text/javascript', 'local/reference/page.js'],
])('GET %s responds with the content type %s and the content of %s', async (path, type, file) => {
  const { ask } = await start();
  const answer = await ask(path);
  expect(answer).toMatchObject({ status: 200, headers: { 'content-type': `${type}; charset=utf-8` } });
  expect(answer.body).toBe(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'));
});

test.each(['127.0.0.1', 'localhost'])(
  "GET /openapi.json returns the contract with the request's host as the server, and rounds no number: %s",
  async (name) => {
    const { port, ask } = await start();
    const answer = await ask('/openapi.json', 'GET', { host: `${name}:${port}` });
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } });
    expect(JSON.parse(answer.body)).toEqual({ ...contract, servers: [{ url: `http://${name}:${port}` }] });
    expect(answer.body).toContain('"id":-9223372036854775808,');
  },
);

test.each(['/docs', '/docs/page.js', '/docs/requests.json', '/openapi.json'])(
  'HEAD %s returns the same content-length as GET, but no body',
  async (path) => {
    const { ask } = await start();
    const [head, get] = [await ask(path, 'HEAD'), await ask(path)];
    expect(head).toMatchObject({ status: 200, body: '' });
    expect(head.headers).toMatchObject({ 'content-length': String(Buffer.byteLength(get.body)) });
  },
);

test.each(['/docs', '/docs/page.js', '/docs/requests.json', '/openapi.json'])(
  'only a web page of the same origin can read %s',
  async (path) => {
    const { port, ask } = await start();
    const { headers } = await ask(path, 'GET', { origin: 'http://evil.example' });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(headers).toMatchObject({
      'cross-origin-resource-policy': 'same-origin',
      'content-security-policy': expect.stringMatching(/^default-src 'none';.*; frame-ancestors 'none'$/),
      'cache-control': 'no-store',
    });
    expect(headers['content-security-policy']).not.toMatch(/https?:|\*|unsafe/);
    // Other hosts are refused because of DNS rebinding: an attacker's host name may resolve to this server's address.
    for (const host of [
      '',
      'evil.example',
      `evil.example:${port}`,
      `localhost.evil.example:${port}`,
      `127.0.0.1:${port}.evil.example`,
      '127.0.0.1:1',
    ]) {
      expect(await ask(path, 'GET', { host })).toMatchObject({
        status: 421,
        body: `Use the address http://127.0.0.1:${port} for this server.\n`,
      });
    }
  },
);

test('the local service gets a new token from its issuer only when it sends the page at /docs', async () => {
  const { ask, tokens } = await start();
  await ask('/docs', 'GET', { host: 'evil.example' });
  await ask('/docs', 'OPTIONS');
  await ask('/openapi.json');
  expect(tokens(), 'tokens').toBe(0);
});

test.each([
  ...['POST', 'PUT', 'DELETE', 'OPTIONS'].flatMap((method) => [
    [method, '/docs'] as const,
    [method, '/openapi.json'] as const,
  ]),
  ...[
    '/docs/',
    '/docs/page.html',
    '/docs/swagger-ui.js',
    '/docs//page.css',
    '//docs',
    '/Docs',
    '/docs/../package.json',
    '/docs/..%2fpackage.json',
    '/docs/%2e%2e/%2e%2e/package.json',
    '/docs/page.css/../../../package.json',
    '/docs/..\\package.json',
    '/docs/page.css%00',
    '/openapi.yaml',
  ].map((path) => ['GET', path] as const),
])('the local service passes the request %s %s on to the gateway', async (method, path) => {
  const { ask } = await start();
  expect(await ask(path, method)).toMatchObject(notFound);
});

test('GET /docs/requests.json returns the latest requests, each with its log lines', async () => {
  const log = [{ functionName: 'Authorizer', level: 'INFO', message: { outcome: 'refused' } }];
  const latest = { method: 'POST', path: '/plants', status: 403, milliseconds: 1, requestId: 'aBc=', log };
  const { ask } = await start(undefined, [latest]);
  expect(JSON.parse((await ask('/docs/requests.json')).body)).toEqual([latest]);
});

test('the page at /docs escapes the data in its script element, so that no text can end that element', async () => {
  const token = '</script><script>alert(1)</script><!--';
  const { ask } = await start(async () => token);
  const page = await ask('/docs');
  expect(dataOf(page).token).toBe(token);
  expect(page.body).not.toContain('alert(1)</script>');
});

test('GET /docs returns a 500 with a one-sentence message if the local service cannot get a token for the page', async () => {
  const { ask } = await start(() => Promise.reject(new Error('The token issuer does not answer')));
  expect(await ask('/docs')).toMatchObject({ status: 500, body: 'Error: The token issuer does not answer\n' });
});
