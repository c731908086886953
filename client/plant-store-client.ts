/** A typed client for the Plant Store. Runs on Node.js 20.3 and newer, Bun, Deno and browsers. */
import { type OperationId, type Operations, operations } from '../functions/generated/contract.ts';
import { type Call, callOf, type Options, type Outcome, type Token } from './call.ts';

export type * from '../functions/generated/contract.ts';
export type { Options, Token };

/**
 * The permanent error numbers of an operation, as listed in schemas/openapi.yaml.
 * @example
 * const taken: ErrorCode<'createPlant'> = 40901;
 */
export type ErrorCode<Id extends OperationId> = Operations[Id]['errorCode'];

/**
 * The outcome of an operation. Failures are values, not exceptions, because every caller has to expect them. `ok` means
 * a 2xx status of the operation, and a body with all fields that the contract requires; fields that the service returns
 * as they were sent, such as the name of a new plant, have the values that were sent. `error` tells failures apart:
 * - a number: the service refused the request or failed; schemas/openapi.yaml explains each number;
 * - `gateway`: any other response, usually from the gateway in front of the service (401, 403, 404, 429, 431, 5xx), or
 *   from something else at that address. Redirects are not followed, so a 3xx is one of these; browsers hide the status
 *   of a redirect, and `status` is then 0;
 * - `no answer`: no response, or only part of one. The service may or may not have done what it was asked to; sending
 *   the request again is safe. `cause` is what `fetch` threw.
 *
 * `requestId` is the response's header `apigw-requestid`, which identifies the request in the service's logs; it is
 * undefined if there was no response, if something else at that address responded, or if a browser hides the header.
 * After retries, it is the id of the last response. `headers` has all headers of a success, such as
 * `headers.get('idempotent-replayed')`, which is `'true'` if createPlant found the same plant already stored.
 * @example
 * const describe = (result: Result<'createPlant'>): string => {
 *   if (result.ok) return result.body.name;
 *   return result.error === 'no answer' ? result.message : `${result.status} ${result.error} ${result.message}`;
 * };
 */
export type Result<Id extends OperationId> = Outcome<Operations[Id]['response'], ErrorCode<Id>>;

/**
 * A function for each operation of the contract. Its arguments are the parameters in one object, if the operation has
 * parameters; then the body, if it has one; then the options. An int64 beyond ±(2^53 - 1) must be a bigint, which is
 * sent exactly. A response has a bigint for such an integer, but on Node.js 20 a rounded number.
 *
 * With one token, each request is sent up to three times: if no whole response arrives within 10 s, or after a 429, 502,
 * 503, 504 or a 500 from the gateway. The service's own 500 ends the attempts. Before each retry, the client waits less
 * than a second, or as long as Retry-After says, up to 10 s.
 * @throws RangeError if an int64 is a number that is not an integer, or too large to be exact. Such a large integer is
 *   refused anywhere in a body, except in a field of type number.
 * @throws RangeError if a path parameter is empty, `.` or `..`, or a parameter has characters that a URL or a header
 *   cannot contain
 * @throws TypeError if the token contains a space, a line break or another character that tokens cannot contain
 * @throws `signal.reason` if the signal is aborted, even while waiting for the token; nothing is sent after that
 * @example
 * const addAll = async ({ createPlant }: PlantStoreClient, all: NewPlant[]) => {
 *   for (const each of all) console.log(each.id, (await createPlant(each)).ok);
 * };
 */
export type PlantStoreClient = { [Id in keyof Operations]: Call<Operations[Id]> };

/**
 * Makes a client for the service at `baseUrl`: the stack's output `ApiUrl`, or the address that `npm start` prints.
 * @throws TypeError if baseUrl is not a URL
 * @example
 * const { createPlant } = createPlantStoreClient({ baseUrl: 'http://127.0.0.1:3000', token: accessToken });
 * const result = await createPlant({ id: 9007199254740993n, name: 'Swiss cheese plant', tag: 'climber' });
 * if (!result.ok) console.error(result.error, result.message, result.requestId);
 */
export const createPlantStoreClient = ({ baseUrl, token }: { baseUrl: string; token: Token }): PlantStoreClient => {
  const base = new URL(baseUrl).href.replace(/\/+$/, '');
  const calls = Object.entries(operations).map(([id, operation]) => [id, callOf(operation, base, token)]);
  return Object.fromEntries(calls);
};
