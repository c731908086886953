// Turns an HTTP request into a Lambda event of payload format 2.0.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { account } from '../served-stack.ts';
import type { RequestTarget } from './request.ts';
import type { Match } from './routes.ts';

/** The part of an event that both the integration and the authorizer receive. */
export type RequestEvent = Omit<APIGatewayProxyEventV2, 'body' | 'isBase64Encoded'>;

export const apiId = 'local';

/** Builds the event from the request line, the headers and the matching route. */
export const requestEvent = (
  request: IncomingMessage,
  requestId: string,
  { rawPath, rawQueryString }: RequestTarget,
  { route: { routeKey }, pathParameters }: Match,
): RequestEvent => {
  const method = request.method ?? '';
  const { cookie, ...headers } = joinedHeaders(request);
  const now = new Date();
  const sourceIp = request.socket.remoteAddress ?? '127.0.0.1';
  const domainName = (headers['host'] ?? '').replace(/:\d*$/, '');
  return {
    version: '2.0',
    routeKey,
    rawPath,
    rawQueryString,
    ...(cookie !== undefined && { cookies: cookie.split(/; */) }),
    headers: {
      ...headers,
      'x-amzn-trace-id': `Root=1-${Math.floor(now.getTime() / 1000).toString(16)}-${randomUUID().replaceAll('-', '').slice(0, 24)}`,
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
    ...(Object.keys(pathParameters).length > 0 && { pathParameters }),
  };
};

/**
 * Returns the headers with lower-case names. Joins repeated headers with commas (cookies with semicolons), because
 * Node's `headers` drops some repeated ones.
 */
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

/** Formats a time as in the Common Log Format: 21/Nov/2026:13:05:09 +0000. */
const commonLogTime = (time: Date): string => {
  const [, day, month, year, clock] = time.toUTCString().split(' ');
  return [`${day}/${month}/${year}`, clock].join(':').concat(' +0000');
};

/**
 * Returns the event's fields for the body. The content type alone decides whether `body` is text or base64; in text,
 * invalid UTF-8 becomes U+FFFD. AWS documents neither rule; two independent captures of the real gateway show both.
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
