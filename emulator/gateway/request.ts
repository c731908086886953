/** What the gateway checks of a request before a route is selected, and how it reads the body. */
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { Refused, responses } from './response.ts';

/** Quotas in bytes: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html */
const limits = { requestLineAndHeaderValues: 10_240, body: 10 * 1024 * 1024 };

/** @throws Refused if the gateway does not accept the request line and the headers */
export const checkHead = (request: IncomingMessage): void => {
  if (headBytes(request) > limits.requestLineAndHeaderValues) throw new Refused(responses.headersTooLarge);
  const { httpVersion, url = '', headers, headersDistinct } = request;
  const { host: hosts = [], expect = [] } = headersDistinct;
  // RFC 9112 section 2.3 defines HTTP/1.1; RFC 9113 section 3.4: HTTP/2 begins with a preface, not with a request line.
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    throw new Refused(
      responses.badRequest,
      `the request is HTTP/${httpVersion}: only HTTP/1.0 and HTTP/1.1 are served`,
    );
  // RFC 9112 section 3.2: exactly one valid Host. Only HTTP/1.0 may omit it.
  const isOmitted = hosts.length === 0 && httpVersion === '1.0';
  if (!isOmitted && (hosts.length !== 1 || !isAuthority(headers.host ?? '')))
    throw new Refused(responses.badRequest, 'the request needs exactly one Host header, with a valid host');
  if (!url.startsWith('/')) checkTarget(url, headers.host);
  // RFC 9110 section 10.1.1: a server may refuse every expectation other than 100-continue.
  if (expect.some((value) => value.toLowerCase() !== '100-continue')) throw new Refused(responses.expectationFailed);
};

/** Whether `text` is a host and an optional port. RFC 9110 section 4.2.4 warns of a user name in it, so none is valid. */
const isAuthority = (text: string): boolean => {
  const [, ipv6, name, port = ''] = authority.exec(text) ?? [];
  return (ipv6 === undefined ? name !== undefined : isIPv6(ipv6)) && Number(port) <= 65_535;
};

const authority = /^(?:\[([\da-f:.]+)\]|((?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})+))(?::(\d*))?$/i;

/** RFC 9112 section 3.2: the Host of a request with an absolute target is the target's. */
const checkTarget = (url: string, host: string | undefined): void => {
  if (url === '*') return;
  const [, scheme = '', named = ''] = /^(https?):\/\/([^/?]*)/i.exec(url) ?? [];
  // RFC 9110 section 4.2.3: the case of a host and the scheme's usual port make no difference.
  const usualPort = scheme.toLowerCase() === 'https' ? /:(?:443)?$/ : /:(?:80)?$/;
  const normalized = (text: string): string => text.toLowerCase().replace(usualPort, '');
  if (normalized(named) !== normalized(host ?? named))
    throw new Refused(responses.badRequest, 'the request target names another host than the Host header');
};

/** Bytes of the request line and the header values: the gateway's quota counts these. Node reads each byte as one char. */
const headBytes = ({ method, url, httpVersion, rawHeaders }: IncomingMessage): number =>
  rawHeaders.reduce(
    (sum, text, index) => (index % 2 === 1 ? sum + text.length : sum),
    `${method} ${url} HTTP/${httpVersion}`.length,
  );

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
