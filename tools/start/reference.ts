/** Serves the interactive documentation of the API at /docs of the local service. A deployment does not serve it. */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AccessLogEntry } from 'http-api-emulator';
import { type Contract, readContract, toJson } from './contract.ts';

/** The content of a response. If `location` is set, the response redirects there. */
type Content = { type: string; body: string | Buffer; location?: string };
type Source = (origin: string, own: Own) => Promise<Content>;

/**
 * What the local service's pages need from it. `requests` returns the latest requests, which /docs/requests.json lists
 * for `npm run request`.
 */
type Own = {
  newToken: () => Promise<string>;
  requests: () => readonly AccessLogEntry[];
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
const page: Source = async (origin, { newToken }) => {
  const [html, contract, token] = await Promise.all([
    readFile(new URL('reference/page.html', import.meta.url), 'utf8'),
    contractOf(origin),
    newToken(),
  ]);
  const data = toJson({ token, contract: forSwaggerUi(contract) });
  // Escape every `<`, so that no text of the contract can close the script element around the data.
  return { type: 'text/html', body: html.replace('"DATA"', () => data.replaceAll('<', '\\u003c')) };
};

/** Every path that this module serves. The list is fixed, so that no request can make the service read another file. */
const sources = new Map<string, Source>([
  ['/', async () => ({ type: 'text/plain', body: '', location: '/docs' })],
  ['/docs', page],
  ['/docs/page.css', file('text/css', 'reference/page.css')],
  ['/docs/page.js', file('text/javascript', 'reference/page.js')],
  ['/docs/swagger-ui.css', file('text/css', '../../node_modules/swagger-ui-dist/swagger-ui.css')],
  ['/docs/swagger-ui-bundle.js', file('text/javascript', '../../node_modules/swagger-ui-dist/swagger-ui-bundle.js')],
  ['/docs/requests.json', async (_, { requests }) => ({ type: 'application/json', body: JSON.stringify(requests()) })],
  ['/openapi.json', async (origin) => ({ type: 'application/json', body: toJson(await contractOf(origin)) })],
]);

const contractOf = async (origin: string): Promise<Contract & { servers: object[] }> => ({
  ...(await readContract()),
  servers: [{ url: origin }],
});

type WithExamples = { in?: string; schema: object; example?: unknown; examples?: Record<string, { value: unknown }> };

/**
 * Returns whether an object of the contract, such as a parameter, has examples beside its schema. `forSwaggerUi`
 * changes only these examples, not those inside the schema.
 */
const hasExamples = (value: unknown): value is WithExamples =>
  value instanceof Object && 'schema' in value && ('example' in value || 'examples' in value);

/**
 * Changes the contract for Swagger UI. Examples become text, because Swagger UI would round their numbers. References
 * to parameters become the parameters, because Swagger UI does not follow references in a path's own `parameters`.
 */
export const forSwaggerUi = (contract: Contract): unknown => {
  const change = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(change);
    if (!(value instanceof Object)) return value;
    const { $ref } = value as { $ref?: string };
    const [, parameter] = /^#\/components\/parameters\/(.+)$/.exec($ref ?? '') ?? [];
    if (parameter !== undefined) return change(contract.components?.parameters?.[parameter]);
    const fields = Object.fromEntries(Object.entries(value).map(([key, field]) => [key, change(field)]));
    return hasExamples(value) ? { ...fields, ...examplesAsText(value) } : fields;
  };
  return change(contract);
};

const examplesAsText = ({ in: place, example, examples = {} }: WithExamples): Partial<WithExamples> => {
  const asText = place === undefined ? (each: unknown) => toJson(each, 2) : parameterText;
  const texts = Object.entries(examples).map(([name, each]) => [name, { ...each, value: asText(each.value) }]);
  return {
    ...(example !== undefined && { example: asText(example) }),
    ...(texts.length > 0 && { examples: Object.fromEntries(texts) }),
  };
};

/**
 * A parameter's example as a string. A list becomes a list of strings, because Swagger UI shows an input for each
 * element.
 */
const parameterText = (value: unknown): unknown => (Array.isArray(value) ? value.map(String) : String(value));
