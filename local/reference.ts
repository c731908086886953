/** The contract as a page to read and to try, at /docs of the local service. What is deployed has no such page. */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

type Content = { type: string; body: string | Buffer };
type Source = (origin: string, newToken: () => Promise<string>) => Promise<Content>;

/**
 * Puts the page in front of the gateway, which answers all but GET and HEAD of these paths as it does in a deployment.
 * Each load of the page holds a token of its own, from `newToken`.
 */
export const withReference = (gateway: Server, newToken: () => Promise<string>): Server => {
  const [answer] = gateway.listeners('request');
  gateway.removeAllListeners('request');
  return gateway.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', headers, socket } = request;
    const source = sources.get(url.replace(/\?.*/, ''));
    if (source === undefined || !['GET', 'HEAD'].includes(method)) {
      answer?.call(gateway, request, response);
      return;
    }
    request.resume();
    // A page elsewhere may have its name lead to 127.0.0.1 (DNS rebinding): it would be of one origin with this one, and
    // read the token. Its name in Host gives it away. All other pages are kept off by the lack of CORS headers; who else can
    // reach 127.0.0.1 of this machine is given a token.
    const host = ['127.0.0.1', 'localhost'].map((name) => new URL(`http://${name}:${socket.localPort}`).host);
    if (!host.includes(headers.host ?? '')) {
      send(response, 421, { type: 'text/plain', body: `This is http://${host[0]}, and nothing else.\n` });
      return;
    }
    source(`http://${headers.host}`, newToken).then(
      (content) => send(response, 200, content),
      (error: unknown) => send(response, 500, { type: 'text/plain', body: `${error}\n` }),
    );
  });
};

const send = (response: ServerResponse, status: number, { type, body }: Content): void => {
  response.writeHead(status, {
    'content-type': `${type}; charset=utf-8`,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    // Nothing comes from, goes to, or is shown inside of anything but this service.
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
};

/** Read when it is asked for, which keeps the start as quick as it is. */
const file =
  (type: string, path: string): Source =>
  async () => ({ type, body: await readFile(new URL(path, import.meta.url)) });

/** The token stands in the page, not in a script: a script can be run by a page of any origin. */
const page: Source = async (origin, newToken) => {
  const [html, contract, token] = await Promise.all([
    readFile(new URL('reference/page.html', import.meta.url), 'utf8'),
    readContract(origin),
    newToken(),
  ]);
  const data = toJson({
    token,
    contract: { ...contract, paths: JSON.parse(toJson(contract['paths'], examplesAsText)) },
  });
  // No text of the contract ends the element that the data stand in.
  return { type: 'text/html', body: html.replace('"DATA"', () => data.replaceAll('<', '\\u003c')) };
};

const openapi: Source = async (origin) => ({
  type: 'application/json',
  body: toJson(await readContract(origin)),
});

/** All there is, by path: no file's name is made of what a client sends. */
const sources = new Map<string, Source>([
  ['/docs', page],
  ['/docs/page.css', file('text/css', 'reference/page.css')],
  ['/docs/page.js', file('text/javascript', 'reference/page.js')],
  ['/docs/swagger-ui.css', file('text/css', '../node_modules/swagger-ui-dist/swagger-ui.css')],
  ['/docs/swagger-ui-bundle.js', file('text/javascript', '../node_modules/swagger-ui-dist/swagger-ui-bundle.js')],
  ['/openapi.json', openapi],
]);

/** schemas/openapi.yaml, with `origin` as its server. Its integers are bigints: an example is beyond 2^53. */
const readContract = async (origin: string): Promise<Record<string, unknown>> => {
  // The start does without it.
  const { parse } = await import('yaml');
  const contract = parse(await readFile(new URL('../schemas/openapi.yaml', import.meta.url), 'utf8'), {
    intAsBigInt: true,
  }) as Record<string, unknown>;
  return { ...contract, servers: [{ url: origin }] };
};

declare global {
  interface JSON {
    /** Node.js has it since version 21, TypeScript not yet. */
    rawJSON: (text: string) => unknown;
  }
}

const exact = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? JSON.rawJSON(`${value}`) : value);

const toJson = (value: unknown, change = exact): string => JSON.stringify(value, change);

/** The viewer would round the numbers of an example; text it shows, and sends, as it is. */
const examplesAsText = (key: string, value: unknown): unknown =>
  key === 'value' ? JSON.stringify(value, exact, 2) : exact(key, value);
