// Applies the CORS configuration of an API.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html
import type { IncomingMessage } from 'node:http';
import type { CorsSpec } from '../served-stack.ts';
import type { HttpResponse } from './response.ts';

/** The headers that AWS lists for CORS. A function cannot set them if the API has a CORS configuration. */
const corsHeaders = new Set([
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-expose-headers',
  'access-control-max-age',
  'access-control-allow-methods',
  'access-control-allow-headers',
]);

/** The values of AllowOrigins that allow every https origin, or every http origin, as AWS documents. */
const schemes = ['https://*', 'http://*'];

export class Cors {
  readonly #spec: CorsSpec;

  constructor(spec: CorsSpec) {
    this.#spec = spec;
  }

  /**
   * Replaces the CORS headers of a response, whether of a function or of the gateway itself, with those of the API. If
   * the request's Origin is missing or not allowed, removes them and adds none.
   */
  apply({ method, headers }: IncomingMessage, response: HttpResponse): HttpResponse {
    const own = Object.entries(response.headers).filter(([name]) => !corsHeaders.has(name));
    const allowed = this.#allowedOrigin(headers.origin);
    const added = allowed === undefined ? [] : this.#headersFor(allowed, isPreflight({ method, headers }));
    return { ...response, headers: Object.fromEntries([...own, ...added]) };
  }

  /**
   * Chooses the value of Access-Control-Allow-Origin. @returns undefined if the configuration does not allow the origin
   */
  #allowedOrigin(origin: string | undefined): string | undefined {
    const { allowOrigins } = this.#spec;
    if (origin === undefined) return undefined;
    if (allowOrigins.includes('*')) return '*';
    const isAllowed =
      allowOrigins.includes(origin) ||
      schemes.some((scheme) => allowOrigins.includes(scheme) && origin.startsWith(scheme.slice(0, -1)));
    return isAllowed ? origin : undefined;
  }

  /**
   * Returns the CORS headers. Only preflights get Allow-Methods, Allow-Headers and Max-Age; only other requests get
   * Expose-Headers.
   */
  #headersFor(origin: string, preflight: boolean): [name: string, value: string][] {
    const { allowCredentials, allowMethods, allowHeaders, exposeHeaders, maxAge } = this.#spec;
    const lists: [string, string[]][] = preflight
      ? [
          ['access-control-allow-methods', allowMethods],
          ['access-control-allow-headers', allowHeaders],
        ]
      : [['access-control-expose-headers', exposeHeaders]];
    return [
      ['access-control-allow-origin', origin],
      ...(allowCredentials ? [['access-control-allow-credentials', 'true'] as [string, string]] : []),
      ...lists.flatMap(([name, values]): [string, string][] => (values.length > 0 ? [[name, values.join(',')]] : [])),
      ...(preflight && maxAge !== undefined ? [['access-control-max-age', String(maxAge)] as [string, string]] : []),
    ];
  }
}

/** Whether AWS treats a request as a preflight: an OPTIONS request with Origin and Access-Control-Request-Method. */
export const isPreflight = ({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
