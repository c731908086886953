/** A typed client of the Plant Store, for Node.js 20.3 and newer, Bun, Deno and browsers. */
// ky, not openapi-fetch: what this client needs of one is Retry-After, bounded tries, time-outs and abort, which ky has
// and openapi-fetch leaves to its caller. openapi-typescript, which makes types for the latter, needs the compiler API
// that TypeScript 7 has not; `npm ci` makes the types from the contract all the same.
import ky, { isHTTPError, isTimeoutError, type RetryOptions } from 'ky';
import type { NewPlant, Plant } from './generated/contract.ts';
import { errorCodes } from './generated/error-codes.ts';

export type { NewPlant, Plant };

/** The permanent numbers of the service's errors, as schemas/openapi.yaml shows them. */
export type ErrorCode = (typeof errorCodes)[number];

/**
 * What became of a plant. `ok` means that the service answered 200 with the very name and tag that were sent. `error`
 * tells the failures apart:
 * - a number: the service said so, see the contract;
 * - `gateway`: another answer, mostly of the gateway in front of the service (401, 403, 404, 429, 431, 5xx), or of
 *   whatever else answers at that address. Redirects are not followed, so a 3xx is one of these; a browser hides its
 *   status from the client, which then gives 0;
 * - `no answer`: nothing came back, or only a part. The plant may be stored or not; sending it again is safe. A value
 *   and not an exception, because every caller has to expect it, as it has to expect the others. `cause` is what `fetch`
 *   threw.
 */
export type CreatePlantResult =
  | { ok: true; plant: Plant }
  | { ok: false; error: ErrorCode; status: number; message: string }
  | { ok: false; error: 'gateway'; status: number; message: string }
  | { ok: false; error: 'no answer'; message: string; cause: unknown };

/**
 * An access token, or a function that gives one. The function is called for every plant, so it should keep its token
 * for as long as that lives; if the token is refused (401 or 403), it is called once more, with `refused: true`, and
 * should then get a new one. What it throws, createPlant throws.
 */
export type Token = string | ((hint: { refused: boolean }) => string | Promise<string>);

export type PlantStoreClient = {
  /**
   * Adds a plant. An `id` beyond 2^53 must be a bigint, and arrives exact. Sent up to three times with one token: again
   * after no answer (10 s are allowed for a whole one), a 429, a 502, a 503, a 504, and a 500 of the gateway, but not
   * after the service's own 500 (50001). Before it sends again it waits less than a second, or as long as Retry-After
   * says, but at most 10 s.
   * @throws RangeError if `id` is a number that is no integer, or too large to be exact
   * @throws TypeError if the token has a space, a line break or another character that no token has
   * @throws `signal.reason` if the signal is aborted, while it waits for the token too; nothing is sent after that
   */
  createPlant: (plant: NewPlant, options?: { signal?: AbortSignal }) => Promise<CreatePlantResult>;
};

/**
 * @param options.baseUrl the address that the stack gives as `ApiUrl`, or that `npm start` prints
 * @throws TypeError if baseUrl is not a URL
 */
export const createPlantStoreClient = ({ baseUrl, token }: { baseUrl: string; token: Token }): PlantStoreClient => {
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/plants`);
  return {
    createPlant: async ({ id, name, tag }, { signal } = {}) => {
      // The caller may change its object before the answer comes, which is compared with what was sent.
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
      `The id is the number ${plant.id}, which is no integer or not exact: give a bigint, such as 9007199254740993n.`,
    );
  }
  const fields = Object.entries(plant).flatMap(([field, value]: [string, unknown]) => {
    // JSON.stringify refuses a bigint, so its digits are put in. Whatever else a value is, JSON.stringify quotes it.
    const json = typeof value === 'bigint' ? String(value) : JSON.stringify(value);
    return json === undefined ? [] : [`"${field}":${json}`];
  });
  return `{${fields.join()}}`;
};

/** Runs `work` and waits for it, but no longer than until the signal is aborted. @throws `signal.reason` */
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

/** fetch failed, or the body of the answer ended too early. `cause` is what fetch threw. */
class NoAnswer extends Error {}

const retry: RetryOptions = {
  limit: 2,
  // Creating is idempotent, so a POST may be sent again.
  methods: ['post'],
  statusCodes: [429, 500, 502, 503, 504],
  afterStatusCodes: [429, 500, 502, 503, 504],
  maxRetryAfter: 10_000,
  retryOnTimeout: true,
  jitter: true,
  shouldRetry: ({ error }) => {
    if (error instanceof NoAnswer) return true;
    // The service's own 500 is a bug, which the same request would meet again.
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
  // fetch would refuse it too, and quote it.
  if (!/^[\x21-\x7e]*$/.test(token)) throw new TypeError('The access token has a character that no token has.');
  try {
    const response = await ky.post(url, {
      body,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      // A redirect could turn the POST into a GET, or take the token to another address.
      redirect: 'manual',
      fetch: fetchWhole,
      retry,
      ...(signal && { signal }),
    });
    const answer = parse(await response.text());
    const isStored = response.status === 200 && isSame(answer, plant);
    return isStored ? { ok: true, plant: answer } : failure(response.status, answer);
  } catch (error) {
    signal?.throwIfAborted();
    if (isHTTPError(error)) return failure(error.response.status, error.data);
    if (error instanceof NoAnswer) return noAnswer(error.cause);
    if (isTimeoutError(error)) return noAnswer(new DOMException('no answer within 10 seconds', 'TimeoutError'));
    throw error;
  }
};

/** The whole answer, so that ky's time-out and retries are for its body too. */
const fetchWhole: typeof fetch = async (...request) => {
  try {
    const response = await fetch(...request);
    await response.clone().arrayBuffer();
    return response;
  } catch (cause) {
    // ky knows a network error by its message, and does not know Bun's.
    throw new NoAnswer('no answer', { cause });
  }
};

/** ky's own errors are no `cause`: they hold the request, and so the token, which would be logged with them. */
const noAnswer = (cause: unknown): CreatePlantResult => ({
  ok: false,
  error: 'no answer',
  message: innermost(cause),
  cause,
});

/** Node's own message is "fetch failed"; its cause says why. */
const innermost = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if (error.cause !== undefined) return innermost(error.cause);
  // A connection that was tried under several addresses fails with no message at all.
  return error.message || ('code' in error ? String(error.code) : error.name);
};

const failure = (status: number, body: unknown): CreatePlantResult & { ok: false } => {
  const { error, message } = body instanceof Object ? (body as { error?: unknown; message?: unknown }) : {};
  if (status < 400 || typeof message !== 'string') {
    return { ok: false, error: 'gateway', status, message: 'the answer is not of the Plant Store' };
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

/** Whatever else may answer 200 at that address, a captive portal say, must not pass for a stored plant. */
const isSame = (body: unknown, { name, tag }: NewPlant): body is Plant =>
  body instanceof Object && 'name' in body && body.name === name && ('tag' in body ? body.tag : undefined) === tag;
