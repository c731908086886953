import { type Call, type ClientOptions, callOf, type OperationTypes, type Token } from './call.ts';
import type { Operation } from './request.ts';

/**
 * A function for each operation of a contract. The arguments are, in this order: an object with the operation's
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
 * @throws TypeError if the token is not a string, is empty, or contains a space, a line break or another character that
 *   tokens cannot contain, if a header of `headers` cannot be sent, if `retries` is not a whole number from 0, or if
 *   `attemptTimeout` is not from 1 to 2,147,483,647
 * @throws `signal.reason` if the signal is aborted, even while waiting for the token; nothing is sent after that
 * @example
 * type Calls = keyof Client<Operations>;
 */
export type Client<Operations extends Typed<Operations>> = { [Id in keyof Operations]: Call<Operations[Id]> };

type Typed<Operations> = { [Id in keyof Operations]: OperationTypes };

/**
 * Makes a client of the service at `baseUrl`. `operations`, and their types, are in the code that is generated from a
 * contract.
 * @throws TypeError if baseUrl is not a URL
 */
export const createClient = <Operations extends Typed<Operations>>(
  operations: Readonly<Record<keyof Operations, Operation>>,
  { baseUrl, token, ...options }: { baseUrl: string; token: Token } & ClientOptions,
): Client<Operations> => {
  const base = new URL(baseUrl).href.replace(/\/+$/, '');
  const calls = Object.entries<Operation>(operations).map(([id, operation]) => [
    id,
    callOf(operation, base, token, options),
  ]);
  return Object.fromEntries(calls);
};
