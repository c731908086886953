// Turns a function's result into an HTTP response.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';

export type HttpResponse = { status: number; headers: Record<string, string | string[]>; body: string | Buffer };

const gatewayResponse = (status: number, message: string): HttpResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ message }),
});

/**
 * The gateway's own responses. AWS documents the 429 (http-api-throttling.html). It does not document the 413, 431 and
 * 503, so these three are not checked against AWS.
 */
export const responses = {
  /** The response to a preflight request. AWS documents its headers, but not its status. */
  noContent: { status: 204, headers: {}, body: '' },
  badRequest: gatewayResponse(400, 'Bad Request'),
  unauthorized: gatewayResponse(401, 'Unauthorized'),
  forbidden: gatewayResponse(403, 'Forbidden'),
  notFound: gatewayResponse(404, 'Not Found'),
  bodyTooLarge: gatewayResponse(413, 'Request Entity Too Large'),
  headersTooLarge: gatewayResponse(431, 'Request Header Fields Too Large'),
  serverError: gatewayResponse(500, 'Internal Server Error'),
  unavailable: gatewayResponse(503, 'Service Unavailable'),
};

/** The response of a route that the emulator leaves out. AWS has no such response. */
export const notServed = (reason: string): HttpResponse => gatewayResponse(501, reason);

/** The response to a request to another host. AWS has no such response: its API Gateway is not on the client's machine. */
export const otherHost = (port = 0): HttpResponse => gatewayResponse(421, `Use the address http://127.0.0.1:${port}.`);

/** Thrown if the gateway itself responds, instead of a function. The message goes to the access log. */
export class Refused extends Error {
  readonly response: HttpResponse;

  constructor(response: HttpResponse, message = '') {
    super(message);
    this.response = response;
  }
}

/** Converts a function's result (JSON text) to a response. @throws Error that names an invalid field of the result */
export const responseOf = (functionName: string, result: string): HttpResponse => {
  const value: unknown = JSON.parse(result);
  if (!isObject(value) || !('statusCode' in value)) {
    // AWS sends a text itself, and all else as JSON.
    const body = typeof value === 'string' ? value : result;
    return { status: 200, headers: { 'content-type': 'application/json' }, body };
  }
  if (isStructured(value)) return structuredResponse(value);
  throw new Error(`${functionName}: malformed response: its ${invalidField(value)} is invalid`);
};

const structuredResponse = ({ statusCode: status, headers, cookies, ...rest }: StructuredResult): HttpResponse => ({
  status,
  headers: {
    'content-type': 'text/plain; charset=utf-8',
    ...Object.fromEntries(
      Object.entries(headers ?? {})
        .map(([name, value]) => [name.toLowerCase(), String(value)] as const)
        .filter(([name]) => !connectionHeaders.includes(name)),
    ),
    ...(cookies !== undefined && { 'set-cookie': cookies }),
  },
  body: Buffer.from(rest.body ?? '', rest.isBase64Encoded === true ? 'base64' : 'utf8'),
});

/**
 * Headers about the gateway's connection with the client, and about the length of a message (RFC 9112). A function
 * cannot set them.
 */
const connectionHeaders = ['connection', 'content-length', 'keep-alive', 'trailer', 'transfer-encoding', 'upgrade'];

type StructuredResult = APIGatewayProxyStructuredResultV2 & { statusCode: number };

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether each field that the gateway reads is valid. */
const checks: Record<'statusCode' | 'headers' | 'cookies' | 'body', (value: unknown) => boolean> = {
  statusCode: (value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599,
  headers: (value) => isAbsent(value) || (isObject(value) && Object.entries(value).every(isHeader)),
  cookies: (value) =>
    value === undefined ||
    (Array.isArray(value) && value.every((item) => typeof item === 'string' && isHeader(['set-cookie', item]))),
  body: (value) => isAbsent(value) || typeof value === 'string',
};

const invalidField = (value: Record<string, unknown>): string | undefined =>
  Object.entries(checks).find(([field, isValid]) => !isValid(value[field]))?.[0];

const isStructured = (value: Record<string, unknown>): value is Record<string, unknown> & StructuredResult =>
  invalidField(value) === undefined;

/**
 * Whether a field of a function's response is absent. Null counts as absent; AWS does not document what null means.
 */
const isAbsent = (value: unknown): boolean => value === undefined || value === null;

const isHeader = ([name, value]: [string, unknown]): boolean => {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, String(value));
    return typeof value !== 'object';
  } catch {
    return false;
  }
};
