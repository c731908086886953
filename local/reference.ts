/** Serves an interactive page of the contract at /docs of the local service. A deployment has no such page. */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';

type Content = { type: string; body: string | Buffer };
type Source = (origin: string, newToken: () => Promise<string>) => Promise<Content>;

/**
 * Serves GET and HEAD requests for the page's paths; the emulator handles all others, as in a deployment.
 * @param newToken is called at each load of the page: the page contains a new access token
 * @returns a function that returns whether it responds to the request
 */
export const referencePage =
  (newToken: () => Promise<string>) =>
  (request: IncomingMessage, response: ServerResponse): boolean => {
    const { method = '', url = '', headers, socket } = request;
    const source = sources.get(url.replace(/\?.*/, ''));
    if (source === undefined || !['GET', 'HEAD'].includes(method)) return false;
    request.resume();
    // A website may point its own name at 127.0.0.1 (DNS rebinding) to read the token: refuse foreign names in Host.
    // Without CORS headers, no other website can read the page; any program on this machine can.
    const host = ['127.0.0.1', 'localhost'].map((name) => new URL(`http://${name}:${socket.localPort}`).host);
    if (!host.includes(headers.host ?? '')) {
      send(response, 421, { type: 'text/plain', body: `Use the address http://${host[0]} for this server.\n` });
      return true;
    }
    source(`http://${headers.host}`, newToken).then(
      (content) => send(response, 200, content),
      (error: unknown) => send(response, 500, { type: 'text/plain', body: `${error}\n` }),
    );
    return true;
  };

const send = (response: ServerResponse, status: number, { type, body }: Content): void => {
  response.writeHead(status, {
    'content-type': `${type}; charset=utf-8`,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    // The page may load from and connect to this service only, and no other page may frame it.
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
};

/** Reads the file at each request, not at the start, so that the start stays fast. */
const file =
  (type: string, path: string): Source =>
  async () => ({ type, body: await readFile(new URL(path, import.meta.url)) });

/** The token is in the HTML, not in a script: a page of any origin could run the script and read the token. */
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
  // Escape every `<`, so that no text of the contract can close the script element around the data.
  return { type: 'text/html', body: html.replace('"DATA"', () => data.replaceAll('<', '\\u003c')) };
};

const openapi: Source = async (origin) => ({
  type: 'application/json',
  body: toJson(await readContract(origin)),
});

/** Every path that is served. The list is fixed, so no file name is built from a client's request. */
const sources = new Map<string, Source>([
  ['/docs', page],
  ['/docs/page.css', file('text/css', 'reference/page.css')],
  ['/docs/page.js', file('text/javascript', 'reference/page.js')],
  ['/docs/swagger-ui.css', file('text/css', '../node_modules/swagger-ui-dist/swagger-ui.css')],
  ['/docs/swagger-ui-bundle.js', file('text/javascript', '../node_modules/swagger-ui-dist/swagger-ui-bundle.js')],
  ['/openapi.json', openapi],
]);

/** Reads schemas/openapi.yaml, with `origin` as its server. Integers become bigints, since one example exceeds 2^53. */
const readContract = async (origin: string): Promise<Record<string, unknown>> => {
  // yaml is imported here, not at the top, so that the start does not wait for it.
  const { parse } = await import('yaml');
  const contract = parse(await readFile(new URL('../schemas/openapi.yaml', import.meta.url), 'utf8'), {
    intAsBigInt: true,
  }) as Record<string, unknown>;
  return { ...contract, servers: [{ url: origin }] };
};

declare global {
  interface JSON {
    /** Node.js has had JSON.rawJSON since version 21; TypeScript does not declare it yet. */
    rawJSON: (text: string) => unknown;
  }
}

const exact = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? JSON.rawJSON(`${value}`) : value);

const toJson = (value: unknown, change = exact): string => JSON.stringify(value, change);

/** Turns examples into text: Swagger UI would round their numbers, but shows and sends text unchanged. */
const examplesAsText = (key: string, value: unknown): unknown =>
  key === 'value' ? JSON.stringify(value, exact, 2) : exact(key, value);
