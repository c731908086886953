// Applies the CORS configuration of an API.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html
import type { IncomingMessage } from 'node:http';
import type { CorsSpec } from '../served-stack.ts';
import type { HttpResponse } from './response.ts';

/** The headers that AWS lists for CORS. A function cannot set them if the API has a CORS configuration. */
const corsHeader = /^access-control-(allow-(origin|credentials|methods|headers)|expose-headers|max-age)$/;

/** The values of AllowOrigins that allow every https origin, or every http origin, as AWS documents. */
const schemes = ['https://*', 'http://*'];

/**
 * Replaces the CORS headers of a response, whether of a function or of the gateway itself, with those of the API. If
 * the request's Origin is missing or not allowed, removes them and adds none.
 */
export const applyCors = (spec: CorsSpec, request: IncomingMessage, response: HttpResponse): HttpResponse => {
  const own = Object.entries(response.headers).filter(([name]) => !corsHeader.test(name));
  const origin = allowedOrigin(spec, request.headers.origin);
  const added = origin === undefined ? {} : headersFor(spec, origin, isPreflight(request));
  return { ...response, headers: { ...Object.fromEntries(own), ...added } };
};

/** Returns the Origin of a page that CORS does not allow to read the response, so that browsers hide it. */
export const refusedOrigin = (spec: CorsSpec | undefined, { headers }: IncomingMessage): string | undefined => {
  const { origin, host } = headers;
  const isAllowed = origin === `http://${host}` || (spec !== undefined && allowedOrigin(spec, origin) !== undefined);
  return isAllowed ? undefined : origin;
};

/** Chooses the value of Access-Control-Allow-Origin. @returns undefined if the API does not allow the origin */
const allowedOrigin = ({ allowOrigins }: CorsSpec, origin: string | undefined): string | undefined => {
  if (origin === undefined) return undefined;
  if (allowOrigins.includes('*')) return '*';
  const isAllowed =
    allowOrigins.includes(origin) ||
    schemes.some((scheme) => allowOrigins.includes(scheme) && origin.startsWith(scheme.slice(0, -1)));
  return isAllowed ? origin : undefined;
};

/**
 * Returns the CORS headers. Only preflights get Allow-Methods, Allow-Headers and Max-Age; only other requests get
 * Expose-Headers.
 */
const headersFor = (spec: CorsSpec, origin: string, preflight: boolean): Record<string, string> => {
  const { allowCredentials, allowMethods, allowHeaders, exposeHeaders, maxAge } = spec;
  const headers = {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': allowCredentials ? 'true' : '',
    'access-control-allow-methods': preflight ? allowMethods.join() : '',
    'access-control-allow-headers': preflight ? allowHeaders.join() : '',
    'access-control-max-age': preflight ? String(maxAge ?? '') : '',
    'access-control-expose-headers': preflight ? '' : exposeHeaders.join(),
  };
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
};

/** Whether AWS treats a request as a preflight: an OPTIONS request with Origin and Access-Control-Request-Method. */
export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
