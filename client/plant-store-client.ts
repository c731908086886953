/** A typed client of the Plant Store, for Node.js 22 and newer, and for browsers that have JSON.rawJSON. */
// ky, not openapi-fetch: what this client needs of one is Retry-After, bounded tries, time-outs and abort, which ky has
// and openapi-fetch leaves to its caller. openapi-typescript, which makes types for the latter, needs the compiler API
// that TypeScript 7 has not; the types come from the contract all the same, by scripts/compile-contract.ts.
import ky, { isHTTPError, isNetworkError, isTimeoutError } from 'ky';
import type { NewPlant, Plant } from './generated/contract.ts';
import { errorCodes } from './generated/error-codes.ts';

export type { NewPlant, Plant };

/** The permanent numbers of the service's errors, as schemas/openapi.yaml shows them. */
export type ErrorCode = (typeof errorCodes)[number];

/**
 * What became of a plant. `error` tells the failures apart:
 * - a number: the service said so, see the contract;
 * - `gateway`: another answer, mostly of the gateway in front of the service (401, 403, 404, 429, 431, 5xx), or of
 *   whatever else answers at that address;
 * - `no answer`: nothing came back, or only a part. The plant may be stored or not; sending it again is safe. A value
 *   and not an exception, because every caller has to expect it, as it has to expect the others.
 */
export type CreatePlantResult =
  | { ok: true; plant: Plant }
  | { ok: false; error: ErrorCode; status: number; message: string }
  | { ok: false; error: 'gateway'; status: number; message: string }
  | { ok: false; error: 'no answer'; message: string; cause: unknown };

/**
 * An access token, or what gives one. A function is called for every plant, so it should keep its token for as long as
 * that lives; where the token was refused (401 or 403) it is called once more, with `refused: true`, and should then
 * get a new one. What it throws, createPlant throws.
 */
export type Token = string | ((hint: { refused: boolean }) => string | Promise<string>);

export type PlantStoreClient = {
  /**
   * Adds a plant. An `id` beyond 2^53 must be a bigint, and arrives exact. Sent up to three times with one token: after
   * no answer (10 s are allowed for one), a 429 and a 503, when Retry-After says, but within 10 s; else
   * within a second.
   * @throws RangeError where `id` is a number that is no integer, or too large to be exact
   * @throws `signal.reason` where the signal is aborted
   */
  createPlant: (plant: NewPlant, options?: { signal?: AbortSignal }) => Promise<CreatePlantResult>;
};

/**
 * @param options.baseUrl the address that the stack gives as `ApiUrl`, or that `npm start` prints
 * @throws TypeError where baseUrl is not a URL
 */
export const createPlantStoreClient = ({ baseUrl, token }: { baseUrl: string; token: Token }): PlantStoreClient => {
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/plants`);
  return {
    createPlant: async (plant, { signal } = {}) => {
      const body = toJson(plant);
      if (typeof token === 'string') return send(url, body, token, signal);
      const result = await send(url, body, await token({ refused: false }), signal);
      if (result.ok || result.error !== 'gateway' || ![401, 403].includes(result.status)) return result;
      return send(url, body, await token({ refused: true }), signal);
    },
  };
};

/** https://tc39.es/proposal-json-parse-with-source/, which TypeScript does not know yet. */
const { rawJSON } = JSON as typeof JSON & { rawJSON: (text: string) => unknown };

const toJson = (plant: NewPlant): string => {
  if (typeof plant.id === 'number' && !Number.isSafeInteger(plant.id)) {
    throw new RangeError(
      `The id is the number ${plant.id}, which is no integer or not exact: give a bigint, such as 9007199254740993n.`,
    );
  }
  return JSON.stringify(plant, (_, value) => (typeof value === 'bigint' ? rawJSON(String(value)) : value));
};

const send = async (
  url: URL,
  body: string,
  token: string,
  signal: AbortSignal | undefined,
): Promise<CreatePlantResult> => {
  const answer = ky.post(url, {
    body,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    // Creating is idempotent, so that a POST may be sent again.
    retry: {
      limit: 2,
      methods: ['post'],
      statusCodes: [429, 503],
      retryOnTimeout: true,
      jitter: true,
      maxRetryAfter: 10_000,
    },
    ...(signal && { signal }),
  });
  let status: number;
  try {
    ({ status } = await answer);
  } catch (error) {
    signal?.throwIfAborted();
    if (isHTTPError(error)) return failure(error.response.status, error.data);
    if (isNetworkError(error) || isTimeoutError(error)) return noAnswer(error);
    throw error;
  }
  let text: string;
  try {
    text = await answer.text();
  } catch (error) {
    signal?.throwIfAborted();
    return noAnswer(error);
  }
  const plant = parse(text);
  return isPlant(plant) ? { ok: true, plant } : failure(status, plant);
};

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

const failure = (status: number, body: unknown): CreatePlantResult => {
  const { error, message } = body instanceof Object ? (body as { error?: unknown; message?: unknown }) : {};
  const code = errorCodes.find((each) => each === error);
  const text = typeof message === 'string' ? message : 'an answer that is not of the Plant Store';
  return { ok: false, error: code ?? 'gateway', status, message: text };
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Whatever else may answer 200 at that address, a captive portal say, must not pass for a stored plant. */
const isPlant = (body: unknown): body is Plant =>
  body instanceof Object &&
  'name' in body &&
  typeof body.name === 'string' &&
  (!('tag' in body) || typeof body.tag === 'string');
