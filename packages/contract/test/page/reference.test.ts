import { type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { contract } from '@lambda-service/testing/data';
import { startServer } from '@lambda-service/testing/servers';
import { defaultAccount, gateway, httpApi } from 'http-api-emulator/testing';
import { expect, test } from 'vitest';
import { readContract, referencePage, toJson } from '../../page/index.ts';
import { render } from '../../page/render.ts';

const readOurs = () => readContract('schemas/openapi.yaml');

type Answer = { status: number | undefined; headers: IncomingHttpHeaders; body: string };

/**
 * Serves the page in front of a gateway without routes. By default, the page's tokens are token-1, token-2 and so on.
 */
const start = async (changes: Partial<Parameters<typeof referencePage>[0]> = {}) => {
  let tokens = 0;
  const newToken = async () => `token-${++tokens}`;
  const api = gateway({
    respond: httpApi({ account: defaultAccount, stages: ['$default'], routes: [] }, () =>
      Promise.reject(new Error('nobody')),
    ),
    onRequest: () => {},
    intercept: referencePage({
      readContract: readOurs,
      newToken,
      tokenCommand: `print "a token"`,
      client: 'shop-client',
      requests: () => [],
      routeKeys: () => ['POST /plants'],
      ...changes,
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

const notFound = { status: 404, body: '{"message":"Not Found"}' };

test('GET / redirects to /docs, unless the API has such a route', async () => {
  expect(await (await start()).ask('/')).toMatchObject({ status: 302, headers: { location: '/docs' } });
  for (const route of ['GET /', 'ANY /'])
    expect(await (await start({ routeKeys: () => [route] })).ask('/')).toMatchObject(notFound);
});

test('GET /docs returns a page that contains the title of the contract and a new token, and GET /docs/token.json another', async () => {
  const { ask } = await start();
  const first = await ask('/docs');
  expect(first).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
  for (const text of ['on your machine only', contract.info.title, 'token-1', 'print &#34;a token&#34;'])
    expect(first.body).toContain(text);
  expect((await ask('/docs?again')).body).toContain('token-2');
  const { 'content-length': length } = first.headers;
  expect(await ask('/docs', 'HEAD')).toMatchObject({ status: 200, body: '', headers: { 'content-length': length } });
  expect(await ask('/docs/token.json')).toMatchObject({ status: 200, body: '"token-4"' });
});

/** The page of a contract with one operation, which has everything that the page treats specially. */
const pageOf = (operation: object, components = {}): string =>
  render(
    {
      ...contract,
      paths: { '/things/{id}': { put: { operationId: 'putThing', responses: {}, ...operation } } },
      components: { schemas: {}, ...components },
    },
    { token: '', tokenCommand: '', client: '' },
  );

test('the page at /docs has each example as it is in the contract, without rounding a number', () => {
  const id = 2n ** 53n + 1n;
  const items = { type: 'string' };
  const page = pageOf(
    {
      parameters: [
        { $ref: '#/components/parameters/Id' },
        { name: 'tag', in: 'query', schema: { type: 'array', items }, example: ['a', 'b & c'] },
      ],
      requestBody: { content: { 'application/json': { examples: { one: { value: { id } }, other: { value: 1n } } } } },
      responses: { 200: { content: { 'application/json': { example: [id] } } } },
    },
    { parameters: { Id: { name: 'id', in: 'path', schema: { type: 'integer' }, examples: { big: { value: id } } } } },
  );
  expect(page).toContain('<input data-name="id" data-in="path" data-type="integer" value="9007199254740993" required');
  expect(page).toContain(
    '<textarea data-name="tag" data-in="query" data-type="string" rows="2">a\nb &#38; c</textarea>',
  );
  expect(page).toMatch(/<textarea class="sent".*>\{\n {2}&#34;id&#34;: 9007199254740993\n\}<\/textarea>/);
  expect(page).toContain('<option value="1">other</option>');
  expect(page).toContain('<pre>[\n  9007199254740993\n]</pre>');
});

test('the page at /docs lists the fields of combined schemas, items and references, with what they accept', () => {
  const schema = {
    allOf: [
      { $ref: '#/components/schemas/Key' },
      { properties: { tags: { type: 'array', items: { type: 'string' } } } },
    ],
  };
  const Key = { required: ['id'], properties: { id: { type: 'integer', format: 'int64', minimum: 1n } } };
  const inner = { type: ['array', 'null'], items: { type: 'object', properties: { deep: { type: 'string' } } } };
  const error = { anyOf: [{ properties: { code: { const: 'x' } } }, { properties: { list: inner } }] };
  const page = pageOf(
    {
      requestBody: { content: { 'application/json': { schema } } },
      responses: {
        'x-note': null,
        400: { description: 'No `id`', content: { 'application/json': { schema: error } } },
      },
    },
    { schemas: { Key } },
  );
  const fields = [...page.matchAll(/<dt><code>(.*?)<\/code> <small>(.*?)<\/small>/g)].map(([, ...field]) => field);
  expect(fields).toEqual([
    ['id', 'integer, int64, minimum 1, required'],
    ['tags', 'array, of string'],
    ['code', 'const &#34;x&#34;'],
    ['list', 'array or null, of object'],
    ['deep', 'string'],
  ]);
  expect(page).toContain('<b class="s4">400 Bad Request</b>: No <code>id</code></summary>');
});

test('the page at /docs names a schema that refers to itself where its fields would repeat', () => {
  const Tree = { properties: { parent: { $ref: '#/components/schemas/Tree' }, twigs: { type: 'array', items: {} } } };
  Tree.properties.twigs.items = { $ref: '#/components/schemas/Tree', description: 'A twig' };
  const schema = { $ref: '#/components/schemas/Tree' };
  const page = pageOf({ requestBody: { content: { 'application/json': { schema } } } }, { schemas: { Tree } });
  expect(page.match(/<small>.*?<\/small><\/dt>/g)).toEqual([
    '<small>Tree</small></dt>',
    '<small>array, of Tree</small></dt>',
  ]);
});

test('the page at /docs refers only to files that the local service serves', async () => {
  const { ask } = await start();
  const { body } = await ask('/docs');
  const addresses = [...body.matchAll(/(?:src|href)="(?!data:|#)([^"]+)"/g)].map(([, address = '']) => address);
  expect(addresses).toHaveLength(3);
  for (const address of addresses) expect(await ask(address), address).toMatchObject({ status: 200 });
});

test("GET /openapi.json returns the contract with the request's host as the server, and rounds no number", async () => {
  const { port, ask } = await start();
  const { body } = await ask('/openapi.json', 'GET', { host: `localhost:${port}` });
  expect(JSON.parse(body)).toEqual({ ...contract, servers: [{ url: `http://localhost:${port}` }] });
  expect(body).toContain(toJson((await readOurs()).paths));
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

test('the page at /docs escapes the token and the texts of the contract, so that none can add an element or attribute', async () => {
  const bad = '" onfocus="alert(1)"><script>alert(1)</script>';
  const { ask } = await start({ newToken: async () => bad });
  const texts = {
    summary: bad,
    description: `${bad}\n\n${bad}`,
    parameters: [{ name: bad, in: 'query', example: bad }],
  };
  for (const page of [(await ask('/docs')).body, pageOf(texts)]) {
    expect(page).toContain('alert(1)');
    expect(page).not.toMatch(/<script>|" onfocus="/);
  }
});
