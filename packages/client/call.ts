/**
 * Makes the typed function that calls an operation. Each call gets the access token, sends the request, and retries it
 * if a retry may help.
 */
// Unlike openapi-fetch, ky handles Retry-After, bounded retries, time-outs and abort. And openapi-typescript needs a
// compiler API that TypeScript 7 lacks, so packages/contract/main.ts makes the types.
import ky, { isHTTPError, isTimeoutError, type RetryOptions } from 'ky';
import { isEqual, parseJson } from './json.ts';
import { type HttpRequest, type Operation, requestOf } from './request.ts';

/**
 * An access token, or a function that returns one. The client calls the function for every call of an operation, so the
 * function should cache its token. If the service refuses the token (`token refused`), the client calls the function
 * once more, with `refused: true`; the function should then get a new token. The operation throws whatever the function
 * throws.
 * @example
 * let cached: Promise<string> | undefined;
 * const token: Token = ({ refused }) => {
 *   if (refused) cached = undefined;
 *   return (cached ??= fetchToken());
 * };
 */
export type Token = string | ((hint: { refused: boolean }) => string | Promise<string>);

/**
 * How a client sends requests. All options are optional.
 * @example
 * const traced: ClientOptions = {
 *   headers: { 'user-agent': 'shop/1.0' },
 *   fetch: (request) => {
 *     console.log(request.method, request.url);
 *     return fetch(request);
 *   },
 * };
 */
export type ClientOptions = {
  /**
   * Sends each attempt, by default with the global `fetch`. It must stop when `request.signal` is aborted. If it throws,
   * the attempt has no answer.
   */
  fetch?: (request: Request) => Promise<Response>;
  /**
   * Headers to send with every request, none by default. They cannot replace the client's own headers: `authorization`,
   * `content-type` and the operation's header parameters.
   */
  headers?: Readonly<Record<string, string>>;
  /**
   * How long an attempt may take until its whole response is there, in milliseconds: 10,000 by default. A call may have
   * several attempts; to limit the call, use `signal`.
   */
  attemptTimeout?: number;
  /** How often to send a request again, at most: 2 by default, 0 for never. Sending it again is always safe. */
  retries?: number;
};

/**
 * The optional last argument of each call. Its options replace those of the client; headers of other names are added.
 * If the signal is aborted, the call ends and throws the signal's reason.
 * @example
 * const options: Options = { signal: AbortSignal.timeout(20_000), retries: 5 };
 */
export type Options = ClientOptions & { signal?: AbortSignal };

/**
 * The outcome of an operation. Failures are values, not exceptions, because every caller has to expect them. `ok` means
 * that the status is one of the operation's 2xx statuses, the body has every field that the contract requires, and
 * the fields that the service returns unchanged, such as a new item's name, are as sent. `error` tells failures apart:
 * - a number: the service refused the request or failed; its contract explains each number;
 * - `token refused`: the gateway's 401 or 403: the token is not valid there, or lacks the operation's scope;
 * - `gateway`: any other response, usually from the gateway in front of the service (404, 429, 431, 5xx), or from another
 *   server at that address. This includes redirects (3xx), which the client does not follow;
 * - `no answer`: no response, or only part of one, or a redirect, which browsers hide. It has no `status`. The service
 *   may or may not have handled the request; sending the request again is safe. `cause` is the underlying error.
 *
 * `requestId` is the response's header `apigw-requestid`, which identifies the request in the service's logs. It is
 * undefined if there was no response, if another server responded, or if a browser hides the header. After retries,
 * `requestId` is the id of the last response. `headers` has all headers of a successful response. For example,
 * `headers.get('idempotent-replayed')` is `'true'` if the service found the same item already stored.
 * @example
 * const isTemporary = ({ ok, error }: Outcome<unknown, number> & { error?: unknown }) => !ok && error === 'no answer';
 */
export type Outcome<Body, ErrorCode> =
  | { ok: true; status: number; headers: Headers; requestId: string | undefined; body: Body }
  | Failure<ErrorCode>;

type Failure<ErrorCode> =
  | { ok: false; error: ErrorCode; status: number; requestId: string | undefined; message: string }
  | { ok: false; error: 'token refused' | 'gateway'; status: number; requestId: string | undefined; message: string }
  | { ok: false; error: 'no answer'; requestId?: undefined; message: string; cause: unknown };

/** The types of one operation's arguments and results. The code generated from a contract has them for each operation. */
export type OperationTypes = { parameters: object; body: unknown; response: unknown; errorCode: number };

export type Call<Types extends OperationTypes> = (
  ...args: [
    ...parameters: ParametersArgument<Types['parameters']>,
    ...body: BodyArgument<Types['body']>,
    options?: Options,
  ]
) => Promise<Outcome<Types['response'], Types['errorCode']>>;

type ParametersArgument<Parameters> = keyof Parameters extends never
  ? []
  : Partial<Parameters> extends Parameters
    ? [parameters?: OrUndefined<Parameters>]
    : [parameters: OrUndefined<Parameters>];

/**
 * Allows undefined for optional parameters: callers may write `{ after: page.next }` even if `page.next` is undefined.
 */
type OrUndefined<Parameters> = {
  [Name in keyof Parameters]: Partial<Pick<Parameters, Name>> extends Pick<Parameters, Name>
    ? Parameters[Name] | undefined
    : Parameters[Name];
};

type BodyArgument<Body> = [Body] extends [undefined] ? [] : [body: Body];

/**
 * Returns a function that calls an operation of the service at `baseUrl`. The type `Call` describes the function's
 * arguments.
 */
export const callOf =
  (operation: Operation, baseUrl: string, token: Token, defaults: ClientOptions = {}) =>
  async (...args: unknown[]): Promise<Outcome<unknown, number>> => {
    const parameters = operation.parameters.length > 0 ? args.shift() : {};
    const body = operation.body && args.shift();
    const [options = {}] = args as [Options?];
    const { signal } = options;
    // Build the request now, because that copies the arguments: the caller may change them before the request is sent.
    const request = requestOf(operation, baseUrl, parameters ?? {}, body);
    const sendWith = (accessToken: string) => send(operation, request, accessToken, defaults, options);
    if (typeof token !== 'function') return sendWith(token);
    const result = await sendWith(await untilAborted(() => token({ refused: false }), signal));
    if (result.ok || result.error !== 'token refused') return result;
    return sendWith(await untilAborted(() => token({ refused: true }), signal));
  };

/** Runs `work` and waits for its result. @throws `signal.reason` as soon as the signal is aborted */
const untilAborted = async <T>(work: () => T | Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
  if (signal === undefined) return work();
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const done = (async () => work())().then(resolve, reject);
    void done.finally(() => signal.removeEventListener('abort', abort));
  });
};

const send = async (
  operation: Operation,
  request: HttpRequest,
  token: string,
  defaults: ClientOptions,
  { signal, ...options }: Options,
): Promise<Outcome<unknown, number>> => {
  // A function of plain JavaScript may return undefined, which must not become the token `undefined`.
  if (typeof token !== 'string' || token === '')
    throw new TypeError('The access token must be a string, and not be empty.');
  // Check the token here, because fetch's error message would quote an invalid token, which is secret.
  if (!/^[\x21-\x7e]*$/.test(token))
    throw new TypeError('The access token contains a character that tokens cannot contain.');
  const headers = new Headers();
  // Set the client's own headers last, so that they win, whatever the case of the names.
  for (const each of [defaults.headers, options.headers, request.headers, { authorization: `Bearer ${token}` }])
    for (const [name, value] of Object.entries(each ?? {})) {
      // A header's value may be secret, too.
      if (!/^[\t -~\x80-\xff]*$/.test(value))
        throw new TypeError(`The header ${name} has a character that headers cannot contain.`);
      headers.set(name, value);
    }
  const { body } = request;
  const timeout = options.attemptTimeout ?? defaults.attemptTimeout ?? 10_000;
  if (!(timeout >= 1 && timeout < 2 ** 31))
    throw new TypeError('`attemptTimeout` must be a number of milliseconds from 1 to 2,147,483,647.');
  try {
    const response = await ky(request.url, {
      method: operation.method,
      headers,
      ...(body !== undefined && { body }),
      // Do not follow redirects: a redirect could turn a POST into a GET, or send the token to another address.
      redirect: 'manual',
      fetch: fetchWhole(options.fetch ?? defaults.fetch ?? fetch),
      timeout,
      retry: retry(operation, options.retries ?? defaults.retries ?? 2),
      ...(signal && { signal }),
    });
    return outcome(operation, response, await response.text(), body);
  } catch (error) {
    signal?.throwIfAborted();
    if (isHTTPError(error)) return failure(operation, error.response, error.data);
    if (error instanceof NoAnswer) return noAnswer(error.cause);
    if (isTimeoutError(error))
      return noAnswer(new DOMException(`no answer within ${timeout / 1_000} seconds`, 'TimeoutError'));
    throw error;
  }
};

/** Thrown if fetch failed or the response body ended too early. `cause` is what fetch threw. */
class NoAnswer extends Error {}

const retry = (operation: Operation, limit: number): RetryOptions => ({
  limit,
  // Retry any method, because every operation of the service is safe to send again.
  methods: [operation.method.toLowerCase()],
  statusCodes: [429, 500, 502, 503, 504],
  afterStatusCodes: [429, 500, 502, 503, 504],
  maxRetryAfter: 10_000,
  backoffLimit: 10_000,
  retryOnTimeout: true,
  jitter: true,
  shouldRetry: ({ error }) => {
    if (error instanceof NoAnswer) return true;
    if (!isHTTPError(error) || error.response.status !== 500) return undefined;
    // Do not retry a 500 that has an error number: it comes from a bug in the service, so the same request would fail
    // again.
    return failure(operation, error.response, error.data).error === 'gateway' ? undefined : false;
  },
});

/** Waits for the whole response body, so that ky's time-out and retries cover the body too. */
const fetchWhole = (send: NonNullable<ClientOptions['fetch']>) => async (input: Request | URL | string) => {
  try {
    const response = await send(input instanceof Request ? input : new Request(input));
    await response.clone().arrayBuffer();
    return response;
  } catch (cause) {
    // ky recognizes network errors by their messages, but not all of Bun's. This class lets `shouldRetry` recognize
    // them on every runtime.
    throw new NoAnswer('no answer', { cause });
  }
};

/**
 * Returns the outcome of a response. A 2xx from another server, such as a captive portal, must not count as a success.
 */
const outcome = (operation: Operation, received: Response, text: string, sent = ''): Outcome<unknown, number> => {
  const { status, headers } = received;
  const body = parseJson(text);
  const response = operation.responses.find((each) => each.status === status);
  const { types = [], requires, repeats = [] } = response ?? {};
  const sentFields = Object(parseJson(sent));
  // A PATCH sends only the fields to change, so in the response, a field that was not sent may have any value.
  const isFree = (field: string) => operation.method === 'PATCH' && !Object.hasOwn(sentFields, field);
  const hasFields = () =>
    body !== undefined &&
    (types.length === 0 || types.some((type) => isOfType(type, body))) &&
    requires?.every((field) => Object.hasOwn(Object(body), field)) &&
    repeats.every(
      (field) => isFree(field) || isEqual(Reflect.get(Object(body), field), Reflect.get(sentFields, field)),
    );
  const isSuccess = response && (requires === undefined ? text === '' : hasFields());
  return isSuccess ? { ok: true, status, headers, ...idOf(received), body } : failure(operation, received, body);
};

/** Whether a value has the given JSON Schema type. `integer` accepts any number, even 1.5, as `number` does. */
const isOfType = (type: string, value: unknown): boolean => {
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  if (type === 'object') return value instanceof Object && !Array.isArray(value);
  if (type === 'string' || type === 'boolean') return typeof value === type;
  return typeof value === 'number' || typeof value === 'bigint';
};

/** `cause` must not be one of ky's own errors: they contain the request with its token, and callers may log them. */
const noAnswer = (cause: unknown): Failure<number> => ({
  ok: false,
  error: 'no answer',
  message: innermost(cause),
  cause,
});

/** Returns the message of the innermost cause, because Node's own message is only "fetch failed". */
const innermost = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if (error.cause !== undefined) return innermost(error.cause);
  // If Node.js tried several addresses, its error has an empty message, so return the error's code.
  return error.message || ('code' in error ? String(error.code) : error.name);
};

const failure = ({ errorCodes }: Operation, received: Response, body: unknown): Failure<number> => {
  const { status } = received;
  if (status === 0) return noAnswer(new Error('a redirect, which browsers hide'));
  const { error, message } = body instanceof Object ? (body as { error?: unknown; message?: unknown }) : {};
  const foreign = 'the response is not from this service';
  if (status < 400 || typeof message !== 'string')
    return { ok: false, error: 'gateway', status, ...idOf(received), message: foreign };
  const code = errorCodes.find((each) => each === error && Math.floor(each / 100) === status);
  const other = error === undefined && [401, 403].includes(status) ? 'token refused' : 'gateway';
  return { ok: false, error: code ?? other, status, ...idOf(received), message };
};

/** The gateway gives each request an id, by which the service's operators find the request in their logs. */
const idOf = ({ headers }: Response) => ({ requestId: headers.get('apigw-requestid') ?? undefined });
