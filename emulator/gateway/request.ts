/** What the gateway checks of a request before a route is selected, and how it reads the body. */
import type { IncomingMessage } from 'node:http';
import { Refused, responses } from './response.ts';

/** Quotas in bytes: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html */
const limits = { requestLineAndHeaderValues: 10_240, body: 10 * 1024 * 1024 };

/** @throws Refused if the gateway does not accept the request line and the headers */
export const checkHead = (request: IncomingMessage): void => {
  if (headBytes(request) > limits.requestLineAndHeaderValues) throw new Refused(responses.headersTooLarge);
};

/** Bytes of the request line and the header values: the gateway's quota counts these. */
const headBytes = (request: IncomingMessage): number => {
  const values = request.rawHeaders.filter((_, index) => index % 2 === 1);
  const requestLine = `${request.method} ${request.url} HTTP/${request.httpVersion}`;
  return [requestLine, ...values].reduce((sum, text) => sum + Buffer.byteLength(text, 'latin1'), 0);
};

/** The request target: the decoded path, the same split at its slashes before decoding, and the query as sent. */
export type RequestTarget = { rawPath: string; segments: string[]; rawQueryString: string };

/** @throws Refused if the path has an invalid %-escape */
export const readTarget = ({ url = '/' }: IncomingMessage): RequestTarget => {
  const { pathname, rawQueryString } = splitTarget(url);
  try {
    // RFC 3986 section 2.2: an encoded slash is data and separates nothing.
    const segments = pathname.split('/').map(decodeURIComponent);
    return { rawPath: segments.join('/'), segments, rawQueryString };
  } catch {
    throw new Refused(responses.badRequest, 'the path has an invalid escape sequence');
  }
};

/** Splits a request target into path and query. An absolute target (`POST http://host/orders`) is valid, too. */
export const splitTarget = (target: string): { pathname: string; rawQueryString: string } => {
  const [pathname = '', ...query] = target.replace(/^[a-z]+:\/\/[^/?]*/i, '').split('?');
  return { pathname: pathname || '/', rawQueryString: query.join('?') };
};

/** @throws Refused if the body is too large or does not arrive */
export const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let length = 0;
  // Keep the stream after a refusal: destroying it would close the socket before the response is sent.
  const body: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  try {
    for await (const chunk of body) {
      length += chunk.length;
      if (length > limits.body) throw new Refused(responses.bodyTooLarge);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof Refused
      ? error
      : new Refused(responses.badRequest, 'the client closed the connection before the body ended');
  }
  return Buffer.concat(chunks);
};
