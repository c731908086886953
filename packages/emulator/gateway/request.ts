/**
 * Checks a request before the gateway selects a route, reads the request's target and body, and makes the Lambda event
 * (payload format 2.0).
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 */
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { type Account, defaultStage, newTraceRoot } from '../served-stack.ts';
import { readBody } from '../servers.ts';
import { own } from '../template/template.ts';
import { Refused, responses } from './response.ts';
import type { Match } from './routes.ts';

/** API Gateway's quotas in bytes: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html */
const limits = { requestLineAndHeaderValues: 10_240, body: 10 * 1024 * 1024 };

/** Checks the request line and the headers. @throws Refused if the gateway does not accept them */
export const checkHead = (request: IncomingMessage): void => {
  if (headBytes(request) > limits.requestLineAndHeaderValues) throw new Refused(responses.headersTooLarge);
};

/**
 * Counts the bytes of the request line and the header values, as API Gateway's quota does. Node.js reads each byte as
 * one character.
 */
const headBytes = ({ method, url, httpVersion, rawHeaders }: IncomingMessage): number =>
  [`${method} ${url} HTTP/${httpVersion}`, ...rawHeaders.filter((_, index) => index % 2 === 1)].join('').length;

/**
 * A request target: the decoded path, its stage, the decoded segments between its slashes without the stage, and the
 * query string as it was sent.
 */
type RequestTarget = { rawPath: string; stage: string; segments: string[]; rawQueryString: string };

/**
 * Reads the path and the query string of a request.
 * @throws Refused if the path has an invalid %-escape, or begins with none of the stages
 */
export const readTarget = ({ url = '/' }: IncomingMessage, stages: string[]): RequestTarget => {
  const { pathname, rawQueryString } = splitTarget(url);
  const all = decodeSegments(pathname);
  return { rawPath: all.join('/'), ...inStage(stages, all), rawQueryString };
};

const decodeSegments = (pathname: string): string[] => {
  try {
    // RFC 3986 section 2.2: an encoded slash (%2F) is data, so split the path before decoding it.
    return pathname.split('/').map(decodeURIComponent);
  } catch {
    throw new Refused(responses.badRequest, 'the path has an invalid escape sequence');
  }
};

const inStage = (stages: string[], segments: string[]): { stage: string; segments: string[] } => {
  if (stages.includes(defaultStage)) return { stage: defaultStage, segments };
  const [root = '', stage = '', ...others] = segments;
  if (!stages.includes(stage)) throw new Refused(responses.notFound, `the path begins with no stage: ${stages.join()}`);
  return { stage, segments: [root, ...(others.length > 0 ? others : [''])] };
};

/** Splits a request target into path and query. An absolute target (`POST http://host/orders`) is valid, too. */
export const splitTarget = (target: string): { pathname: string; rawQueryString: string } => {
  const [pathname = '', ...query] = target.replace(/^[a-z]+:\/\/[^/?]*/i, '').split('?');
  return { pathname: pathname || '/', rawQueryString: query.join('?') };
};

/** Reads the body of a request. @throws Refused if the body is too large, or if the client does not send all of it */
export const readEventBody = async (request: IncomingMessage): Promise<Buffer> => {
  const body = await readBody(request, limits.body).catch(() => {
    throw new Refused(responses.badRequest, 'the connection closed before the body ended');
  });
  if (body === undefined) throw new Refused(responses.bodyTooLarge);
  return body;
};

/** The part of an event that both the integration and the authorizer receive. */
export type RequestEvent = Omit<APIGatewayProxyEventV2, 'body' | 'isBase64Encoded'>;

export const apiId = 'local';

/** Builds the event from the request line, the headers, the matching route and the length of the body. */
export const requestEvent = (
  request: IncomingMessage,
  requestId: string,
  account: Account,
  { rawPath, stage, rawQueryString }: RequestTarget,
  { route: { routeKey }, pathParameters }: Match,
  length: number,
): RequestEvent => {
  const method = request.method ?? '';
  // As on AWS, the body is not in chunks, and has a length even if there is none.
  const { cookie, trailer: _, 'transfer-encoding': __, ...headers } = joinedHeaders(request);
  const { host = '', 'user-agent': userAgent = '' } = headers;
  const now = new Date();
  const sourceIp = request.socket.remoteAddress ?? '127.0.0.1';
  const domainName = host.replace(/:\d*$/, '');
  return {
    version: '2.0',
    routeKey,
    rawPath,
    rawQueryString,
    ...(cookie !== undefined && { cookies: cookie.split(/; */) }),
    headers: {
      ...headers,
      'content-length': String(length),
      'x-amzn-trace-id': newTraceRoot(),
      'x-forwarded-for': sourceIp,
      'x-forwarded-port': String(request.socket.localPort),
      'x-forwarded-proto': 'http',
    },
    ...(rawQueryString !== '' && { queryStringParameters: joinedQuery(rawQueryString) }),
    requestContext: {
      accountId: account.id,
      apiId,
      domainName,
      domainPrefix: domainName.split('.')[0] ?? '',
      http: { method, path: rawPath, protocol: `HTTP/${request.httpVersion}`, sourceIp, userAgent },
      requestId,
      routeKey,
      stage,
      time: commonLogTime(now),
      timeEpoch: now.getTime(),
    },
    ...(Object.keys(pathParameters).length > 0 && { pathParameters }),
  };
};

/** The headers as the client has sent them: with the cookies, which format 2.0 keeps apart. */
export const headersOf = ({ headers, cookies }: RequestEvent): RequestEvent['headers'] =>
  cookies ? { ...headers, cookie: cookies.join('; ') } : headers;

/**
 * Returns the value of an identity source: a header, a query parameter or the key of the route. Header names are
 * case-insensitive; query parameter names are not. @returns undefined if the value is missing or empty
 */
export const identityOf = (event: RequestEvent, source: string): string | undefined => {
  const [, kind, name = ''] = /^\$(.*)\.(.*)$/.exec(source) ?? [];
  if (kind === 'request.header') return own(headersOf(event), name.toLowerCase()) || undefined;
  if (kind === 'request.querystring') return own(event.queryStringParameters, name) || undefined;
  return source === '$context.routeKey' ? event.routeKey : undefined;
};

/**
 * Returns the headers with lower-case names. Joins repeated headers with commas (cookies with semicolons), because
 * Node's `headers` drops some repeated ones.
 */
const joinedHeaders = ({ headersDistinct }: IncomingMessage): Record<string, string> => {
  const entries = Object.entries(headersDistinct);
  return Object.fromEntries(entries.map(([name, values = []]) => [name, values.join(name === 'cookie' ? ';' : ',')]));
};

const joinedQuery = (rawQueryString: string): Record<string, string> => {
  const query = new URLSearchParams(rawQueryString);
  return Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name).join(',')]));
};

/** Formats a time as in the Common Log Format: 21/Nov/2026:13:05:09 +0000. */
const commonLogTime = (time: Date): string => {
  const [, day, month, year, clock] = time.toUTCString().split(' ');
  return [`${day}/${month}/${year}`, clock].join(':').concat(' +0000');
};

/**
 * Returns the event's fields for the body. The content type alone decides whether `body` is text or base64; in text,
 * invalid UTF-8 becomes U+FFFD. AWS documents neither rule; two independent captures of the real gateway show both.
 */
export const eventBody = (bytes: Buffer, contentType = ''): { body?: string; isBase64Encoded: boolean } => {
  if (bytes.length === 0) return { isBase64Encoded: false };
  const isText = textContentType.test(contentType);
  return { body: bytes.toString(isText ? 'utf8' : 'base64'), isBase64Encoded: !isText };
};

const textContentType = /^\s*(?:text\/|application\/(?:json|xml|javascript)\s*(?:;|$))/i;
