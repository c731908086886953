/** A typed client for the Plant Store. Runs on Node.js 20.3 and newer, Bun, Deno and browsers. */
import { type OperationId, type Operations, operations } from '../../functions/generated/contract.ts';
import { type Call, type ClientOptions, callOf, type Options, type Outcome, type Token } from './call.ts';

export type * from '../../functions/generated/contract.ts';
export type { ClientOptions, Options, Token };

/**
 * The error numbers of an operation, as listed in schemas/openapi.yaml. The meaning of a number never changes.
 * @example
 * const failures = new Map<ErrorCode<'createPlant'>, number>();
 */
export type ErrorCode<Id extends OperationId> = Operations[Id]['errorCode'];

/**
 * The outcome of an operation. Failures are values, not exceptions, because every caller has to expect them. `ok` means
 * that the status is one of the operation's 2xx statuses, the body has every field that the contract requires, and
 * the fields that the service returns unchanged, such as a new plant's name, are as sent. `error` tells failures apart:
 * - a number: the service refused the request or failed; schemas/openapi.yaml explains each number;
 * - `token refused`: the gateway's 401 or 403: the token is not valid there, or lacks the operation's scope;
 * - `gateway`: any other response, usually from the gateway in front of the service (404, 429, 431, 5xx), or from another
 *   server at that address. This includes redirects (3xx), which the client does not follow;
 * - `no answer`: no response, or only part of one, or a redirect, which browsers hide. It has no `status`. The service
 *   may or may not have handled the request; sending the request again is safe. `cause` is the underlying error.
 *
 * `requestId` is the response's header `apigw-requestid`, which identifies the request in the service's logs. It is
 * undefined if there was no response, if another server responded, or if a browser hides the header. After retries,
 * `requestId` is the id of the last response. `headers` has all headers of a successful response. For example,
 * `headers.get('idempotent-replayed')` is `'true'` if createPlant found the same plant already stored.
 * @example
 * const describe = (result: Result<'createPlant'>): string => {
 *   if (result.ok) return `done (${result.status})`;
 *   return result.error === 'no answer' ? result.message : `${result.status} ${result.error} ${result.message}`;
 * };
 */
export type Result<Id extends OperationId> = Outcome<Operations[Id]['response'], ErrorCode<Id>>;

/**
 * A function for each operation of the contract. The arguments are, in this order: an object with the operation's
 * parameters (if it has any), the body (if it has one), and the options. An int64 beyond ±(2^53 - 1) must be a bigint,
 * which is sent exactly. In responses, it is a bigint, too, except on Node.js 20, which rounds it to a number.
 *
 * The client retries a request at most twice (`retries`), with the same token, if no whole response arrives within 10 s
 * (`attemptTimeout`), or after a 429, 502, 503, 504 or a 500 from the gateway. It does not retry after a 500 from the
 * service itself. Before the first retry, the client waits up to 0.3 s, before each further one up to twice as long, or
 * as long as Retry-After says: at most 10 s.
 * @throws RangeError if an int64 is given as a JavaScript number that is not an integer or is too large to be exact.
 *   In a body, a JavaScript number that is too large to be exact is refused in every field that the contract does not
 *   declare as `type: number`.
 * @throws RangeError if a path parameter is empty, `.` or `..`, or a parameter has characters that a URL or a header
 *   cannot contain
 * @throws TypeError if the token contains a space, a line break or another character that tokens cannot contain, if a
 *   header of `headers` cannot be sent, if `retries` is not a whole number from 0, or if `attemptTimeout` is not from 1
 *   to 2,147,483,647
 * @throws `signal.reason` if the signal is aborted, even while waiting for the token; nothing is sent after that
 * @example
 * const addAll = async ({ createPlant }: PlantStoreClient, all: Operations['createPlant']['body'][]) => {
 *   for (const each of all) console.log((await createPlant(each)).ok);
 * };
 */
export type PlantStoreClient = { [Id in keyof Operations]: Call<Operations[Id]> };

/**
 * Makes a client for the service at `baseUrl`: the stack's output `ApiUrl`, or the address that `npm start` prints.
 * @throws TypeError if baseUrl is not a URL
 * @example
 * const { createPlant } = createPlantStoreClient({ baseUrl: 'http://127.0.0.1:3000', token: accessToken });
 * const result = await createPlant(body);
 * if (!result.ok) console.error(result.error, result.message, result.requestId);
 */
export const createPlantStoreClient = ({
  baseUrl,
  token,
  ...options
}: { baseUrl: string; token: Token } & ClientOptions): PlantStoreClient => {
  const base = new URL(baseUrl).href.replace(/\/+$/, '');
  const calls = Object.entries(operations).map(([id, operation]) => [id, callOf(operation, base, token, options)]);
  return Object.fromEntries(calls);
};
