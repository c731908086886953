/** What the service answers instead of a success. */
export type ErrorResponse = { status: number; error: number; message: string; headers?: Record<string, string> };

/**
 * The errors that any operation may return, each with an example in schemas/openapi.yaml. The number `error` never
 * changes, and starts with the three digits of the HTTP status; `message` is for people.
 */
export const errors = {
  notJson: {
    status: 400,
    error: 40001,
    message:
      'the request body must be JSON in UTF-8 without a byte order mark, at most 2,000 levels deep, without __proto__ or ' +
      'constructor.prototype',
  },
  notValid: { status: 400, error: 40002, message: 'the request does not follow the contract' },
  tooLarge: { status: 413, error: 41301, message: 'the request body must be at most 1 MiB' },
  notJsonType: {
    status: 415,
    error: 41501,
    message: 'the Content-Type must be application/json or application/*+json',
  },
  encoded: {
    status: 415,
    error: 41502,
    message: 'the request body must not be compressed or otherwise encoded (Content-Encoding)',
    headers: { 'accept-encoding': 'identity' },
  },
  fault: { status: 500, error: 50001, message: 'the service failed; the fault is ours' },
  storeUnavailable: {
    status: 503,
    error: 50301,
    message: 'the store cannot answer now; sending the same request again is safe',
    headers: { 'retry-after': '1' },
  },
  noTimeLeft: {
    status: 503,
    error: 50302,
    message: 'the service had no time left to ask the store; sending the same request again is safe',
    headers: { 'retry-after': '1' },
  },
} as const satisfies Record<string, ErrorResponse>;

/**
 * An error that carries its response. `detail`, if given, replaces the response's message. `reason` goes to the log, so
 * it must not contain anything that the client has sent.
 */
export class CatalogueError extends Error {
  override readonly name = 'CatalogueError';
  readonly response: ErrorResponse;
  readonly reason: string;

  constructor(response: ErrorResponse, detail: string = response.message, reason: string = response.message) {
    super(detail);
    this.response = response;
    this.reason = reason;
  }
}
