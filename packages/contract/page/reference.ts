/** Serves the interactive documentation of an API at /docs of the local service. A deployment does not serve it. */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Contract } from '../document.ts';
import { toJson } from './contract.ts';

/** The content of a response. If `location` is set, the response redirects there. */
type Content = { type: string; body: string | Buffer; location?: string };
type Source = (origin: string, own: Own) => Promise<Content>;

/** What the pages need from the local service. */
type Own = {
  /** Is called for each page, so that a changed contract needs no restart. */
  readContract: () => Promise<Contract>;
  newToken: () => Promise<string>;
  /** A shell command that prints a token: the page's curl commands contain it. */
  tokenCommand: string;
  /** The npm package of the API's client, such as order-store-client, if there is one. */
  client: string | undefined;
  /** The latest requests. The command `request` reads them at /docs/requests.json. */
  requests: () => readonly object[];
  routeKeys: () => readonly string[];
};

/**
 * Returns a function that responds to GET and HEAD requests for the reference page and the other paths in `sources`. It
 * leaves all other requests to the emulator, which responds as a deployed gateway would.
 * @param own.newToken is called each time the reference page loads, because the page contains a new access token
 * @returns a function that returns true if it responds to a request, and false if the emulator must respond
 */
export const referencePage =
  (own: Own) =>
  (request: IncomingMessage, response: ServerResponse): boolean => {
    const { method = '', url = '', headers, socket } = request;
    const path = url.replace(/\?.*/, '');
    const source = sources.get(path);
    if (source === undefined || !['GET', 'HEAD'].includes(method)) return false;
    if (path === '/' && own.routeKeys().some((key) => key === 'GET /' || key === 'ANY /')) return false;
    request.resume();
    // Allow only two names in Host: otherwise, a website could point its name at 127.0.0.1 (DNS rebinding) and read the
    // page's token. Without CORS headers, browsers let no other website read it; programs on this machine can.
    const host = ['127.0.0.1', 'localhost'].map((name) => new URL(`http://${name}:${socket.localPort}`).host);
    if (!host.includes(headers.host ?? '')) {
      send(response, 421, { type: 'text/plain', body: `Use the address http://${host[0]} for this server.\n` });
      return true;
    }
    source(`http://${headers.host}`, own).then(
      (content) => send(response, 200, content),
      (error: unknown) => send(response, 500, { type: 'text/plain', body: `${error}\n` }),
    );
    return true;
  };

const send = (response: ServerResponse, status: number, { type, body, location }: Content): void => {
  response.writeHead(location === undefined ? status : 302, {
    ...(location !== undefined && { location }),
    'content-type': `${type}; charset=utf-8`,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    // Let the page load code from, and send requests to, this service only. Let no website show the page in a frame.
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
};

/** Serves a file. Reads the file at each request, not when the service starts, so that the start stays fast. */
const file =
  (type: string, path: string): Source =>
  async () => ({ type, body: await readFile(new URL(path, import.meta.url)) });

/**
 * The page at /docs. Its token is in the HTML, not in a script file, because any website could load such a script and
 * read the token.
 */
const page: Source = async (_, { readContract, newToken, tokenCommand, client }) => {
  // Import the renderer here, so that `npm start` need not wait for its packages.
  const [{ render }, contract, token] = await Promise.all([import('./render.ts'), readContract(), newToken()]);
  return { type: 'text/html', body: render(contract, { token, tokenCommand, client }) };
};

/** Every path that this module serves. The list is fixed, so that no request can make the service read another file. */
const sources = new Map<string, Source>([
  ['/', async () => ({ type: 'text/plain', body: '', location: '/docs' })],
  ['/docs', page],
  ['/docs/page.css', file('text/css', 'page.css')],
  ['/docs/page.js', file('text/javascript', 'page.js')],
  ['/docs/token.json', async (_, { newToken }) => ({ type: 'application/json', body: toJson(await newToken()) })],
  ['/docs/requests.json', async (_, { requests }) => ({ type: 'application/json', body: JSON.stringify(requests()) })],
  [
    '/openapi.json',
    async (origin, { readContract }) => ({
      type: 'application/json',
      body: toJson({ ...(await readContract()), servers: [{ url: origin }] }),
    }),
  ],
]);
