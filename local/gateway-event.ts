/** A request -> payload format 2.0. https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { account } from './account.ts';

/** The part of an event that integration and authorizer share. */
export type RequestEvent = Omit<APIGatewayProxyEventV2, 'body' | 'isBase64Encoded'>;

export const apiId = 'local';

/** What the gateway makes of a request line and headers. @throws URIError where the path is no valid escape sequence */
export const requestEvent = (request: IncomingMessage, requestId: string): RequestEvent => {
  const { pathname, rawQueryString } = splitTarget(request.url ?? '/');
  const method = request.method ?? '';
  const { cookie, ...headers } = joinedHeaders(request);
  const rawPath = decodeURIComponent(pathname);
  const routeKey = `${method} ${rawPath}`;
  const now = new Date();
  const sourceIp = request.socket.remoteAddress ?? '127.0.0.1';
  const domainName = (headers['host'] ?? '').replace(/:\d+$/, '');
  return {
    version: '2.0',
    routeKey,
    rawPath,
    rawQueryString,
    ...(cookie !== undefined && { cookies: cookie.split(/; */) }),
    headers: {
      ...headers,
      'x-amzn-trace-id': `Root=1-${Math.floor(now.getTime() / 1000).toString(16)}-${randomBytes(12).toString('hex')}`,
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
      http: {
        method,
        path: rawPath,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp,
        userAgent: headers['user-agent'] ?? '',
      },
      requestId,
      routeKey,
      stage: '$default',
      time: commonLogTime(now),
      timeEpoch: now.getTime(),
    },
  };
};

/** An absolute-form target (`POST http://host/plants`) names a path, too. */
export const splitTarget = (target: string): { pathname: string; rawQueryString: string } => {
  const [pathname = '', ...query] = target.replace(/^[a-z]+:\/\/[^/]*/i, '').split('?');
  return { pathname: pathname || '/', rawQueryString: query.join('?') };
};

/** Names in lower case, repeated headers joined with commas. (Node's own `headers` would drop some repeated ones.) */
const joinedHeaders = (request: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(request.headersDistinct).map(([name, values = []]) => [
      name,
      values.join(name === 'cookie' ? ';' : ','),
    ]),
  );

const joinedQuery = (rawQueryString: string): Record<string, string> => {
  const query = new URLSearchParams(rawQueryString);
  return Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name).join(',')]));
};

/** 21/Nov/2026:13:05:09 +0000 */
const commonLogTime = (time: Date): string => {
  const [, day, month, year, clock] = time.toUTCString().split(' ');
  return [`${day}/${month}/${year}`, clock].join(':').concat(' +0000');
};

/**
 * The body as an event carries it: text or base64, by the content type alone. In text, bytes that are not UTF-8 become
 * U+FFFD. AWS documents neither; two independent captures of the real gateway show it.
 */
export const eventBody = (
  bytes: Buffer,
  contentType: string | undefined,
): { body?: string; isBase64Encoded: boolean } => {
  if (bytes.length === 0) return { isBase64Encoded: false };
  const isText = textContentType.test(contentType ?? '');
  return { body: bytes.toString(isText ? 'utf8' : 'base64'), isBase64Encoded: !isText };
};

const textContentType = /^\s*(?:text\/|application\/(?:json|xml|javascript)\s*(?:;|$))/i;
