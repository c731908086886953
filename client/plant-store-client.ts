/** A typed client for the Plant Store. Runs on Node.js 20.3 and newer, Bun, Deno and browsers. */
// ky handles Retry-After, bounded retries, time-outs and abort; openapi-fetch leaves them to its caller. Its companion
// openapi-typescript needs a compiler API that TypeScript 7 lacks, so scripts/compile-contract.ts makes the types.
import ky, { isHTTPError, isTimeoutError, type RetryOptions } from 'ky';
import type { NewPlant, Plant } from './generated/contract.ts';
import { errorCodes } from './generated/error-codes.ts';

export type { NewPlant, Plant };

/** The service's permanent error numbers, as listed in schemas/openapi.yaml. */
export type ErrorCode = (typeof errorCodes)[number];

/**
 * The outcome of createPlant. `ok` means that the service responded 200 with exactly the name and tag that were sent.
 * Failures are values, not exceptions, because every caller has to expect them. `error` tells them apart:
 * - a number: the service refused the plant or failed; schemas/openapi.yaml explains each number;
 * - `gateway`: any other response, usually from the gateway in front of the service (401, 403, 404, 429, 431, 5xx), or
 *   from something else at that address. Redirects are not followed, so a 3xx is one of these; browsers hide the status
 *   of a redirect, and `status` is then 0;
 * - `no answer`: no response, or only part of one. The plant may or may not be stored; sending it again is safe.
 *   `cause` is what `fetch` threw.
 */
export type CreatePlantResult =
  | { ok: true; plant: Plant }
  | { ok: false; error: ErrorCode; status: number; message: string }
  | { ok: false; error: 'gateway'; status: number; message: string }
  | { ok: false; error: 'no answer'; message: string; cause: unknown };

/**
 * An access token, or a function that returns one. createPlant calls the function for every plant, so the function
 * should cache its token. If the service refuses the token (401 or 403), createPlant calls the function once more, with
 * `refused: true`; the function should then get a new token. createPlant throws whatever the function throws.
 */
export type Token = string | ((hint: { refused: boolean }) => string | Promise<string>);

export type PlantStoreClient = {
  /**
   * Stores a plant. An `id` beyond 2^53 must be a bigint, which is sent exactly. With one token the plant is sent up to
   * three times: if no whole response arrives within 10 s, or after a 429, 502, 503, 504 or a 500 from the gateway. The
   * service's own 500 (50001) ends the attempts. Before each retry, the client waits less than a second, or as
   * long as Retry-After says, up to 10 s.
   * @throws RangeError if `id` is a number that is not an integer, or too large to be exact
   * @throws TypeError if the token contains a space, a line break or another character that tokens cannot contain
   * @throws `signal.reason` if the signal is aborted, even while waiting for the token; nothing is sent after that
   */
  createPlant: (plant: NewPlant, options?: { signal?: AbortSignal }) => Promise<CreatePlantResult>;
};

/**
 * Makes a client for the service at `baseUrl`: the stack's output `ApiUrl`, or the address that `npm start` prints.
 * @throws TypeError if baseUrl is not a URL
 * @example
 * const { createPlant } = createPlantStoreClient({ baseUrl: 'http://127.0.0.1:3000', token: accessToken });
 * const result = await createPlant({ id: 9007199254740993n, name: 'Swiss cheese plant', tag: 'climber' });
 * if (!result.ok) console.error(result.error, result.message);
 */
export const createPlantStoreClient = ({ baseUrl, token }: { baseUrl: string; token: Token }): PlantStoreClient => {
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/plants`);
  return {
    createPlant: async ({ id, name, tag }, { signal } = {}) => {
      // Copy the plant: the caller may change its object before the response is compared with what was sent.
      const plant: NewPlant = { id, name, ...(tag !== undefined && { tag }) };
      const body = toJson(plant);
      const post = (accessToken: string) => send(url, plant, body, accessToken, signal);
      if (typeof token === 'string') return post(token);
      const result = await post(await untilAborted(() => token({ refused: false }), signal));
      if (result.ok || result.error !== 'gateway' || ![401, 403].includes(result.status)) return result;
      return post(await untilAborted(() => token({ refused: true }), signal));
    },
  };
};

const toJson = (plant: NewPlant): string => {
  if (typeof plant.id === 'number' && !Number.isSafeInteger(plant.id)) {
    throw new RangeError(
      `The id is the number ${plant.id}, which is not an integer, or too large to be exact: use a bigint, such as 9007199254740993n.`,
    );
  }
  const fields = Object.entries(plant).flatMap(([field, value]: [string, unknown]) => {
    // JSON.stringify throws for a bigint, so a bigint's digits are written directly.
    const json = typeof value === 'bigint' ? String(value) : JSON.stringify(value);
    return json === undefined ? [] : [`"${field}":${json}`];
  });
  return `{${fields.join()}}`;
};

/** Runs `work` and waits for its result, or until the signal is aborted. @throws `signal.reason` */
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

/** Thrown if fetch failed or the response body ended too early. `cause` is what fetch threw. */
class NoAnswer extends Error {}

const retry: RetryOptions = {
  limit: 2,
  // Creating a plant is idempotent, so a POST may be sent again.
  methods: ['post'],
  statusCodes: [429, 500, 502, 503, 504],
  afterStatusCodes: [429, 500, 502, 503, 504],
  maxRetryAfter: 10_000,
  retryOnTimeout: true,
  jitter: true,
  shouldRetry: ({ error }) => {
    if (error instanceof NoAnswer) return true;
    // The service's own 500 is a bug: the same request would fail again.
    if (isHTTPError(error) && failure(error.response.status, error.data).error === 50001) return false;
    return undefined;
  },
};

const send = async (
  url: URL,
  plant: NewPlant,
  body: string,
  token: string,
  signal: AbortSignal | undefined,
): Promise<CreatePlantResult> => {
  // fetch refuses a token with an invalid character too, but its error message quotes the token.
  if (!/^[\x21-\x7e]*$/.test(token))
    throw new TypeError('The access token contains a character that tokens cannot contain.');
  try {
    const response = await ky.post(url, {
      body,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      // A redirect could turn the POST into a GET, or send the token to another address.
      redirect: 'manual',
      fetch: fetchWhole,
      retry,
      ...(signal && { signal }),
    });
    const content = parse(await response.text());
    const isStored = response.status === 200 && isSame(content, plant);
    return isStored ? { ok: true, plant: content } : failure(response.status, content);
  } catch (error) {
    signal?.throwIfAborted();
    if (isHTTPError(error)) return failure(error.response.status, error.data);
    if (error instanceof NoAnswer) return noAnswer(error.cause);
    if (isTimeoutError(error)) return noAnswer(new DOMException('no answer within 10 seconds', 'TimeoutError'));
    throw error;
  }
};

/** Like fetch, but waits for the whole response body, so that ky's time-out and retries cover the body too. */
const fetchWhole: typeof fetch = async (...request) => {
  try {
    const response = await fetch(...request);
    await response.clone().arrayBuffer();
    return response;
  } catch (cause) {
    // ky recognizes network errors by their messages, and does not know Bun's.
    throw new NoAnswer('no answer', { cause });
  }
};

/** `cause` must not be one of ky's own errors: they contain the request with its token, and callers may log them. */
const noAnswer = (cause: unknown): CreatePlantResult => ({
  ok: false,
  error: 'no answer',
  message: innermost(cause),
  cause,
});

/** Returns the message of the innermost cause, because Node's own message is only "fetch failed". */
const innermost = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if (error.cause !== undefined) return innermost(error.cause);
  // If Node.js tried several addresses, its error has an empty message.
  return error.message || ('code' in error ? String(error.code) : error.name);
};

const failure = (status: number, body: unknown): CreatePlantResult & { ok: false } => {
  const { error, message } = body instanceof Object ? (body as { error?: unknown; message?: unknown }) : {};
  if (status < 400 || typeof message !== 'string') {
    return { ok: false, error: 'gateway', status, message: 'the response is not from the Plant Store' };
  }
  const code = errorCodes.find((each) => each === error && Math.floor(each / 100) === status);
  return { ok: false, error: code ?? 'gateway', status, message };
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** A 200 from anything else at that address, such as a captive portal, must not count as a stored plant. */
const isSame = (body: unknown, { name, tag }: NewPlant): body is Plant =>
  body instanceof Object && 'name' in body && body.name === name && ('tag' in body ? body.tag : undefined) === tag;
