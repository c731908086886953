/** A typed client for the Plant Store. Runs on Node.js 20.3 and newer, Bun, Deno and browsers. */
import {
  type Client,
  type ClientOptions,
  createClient,
  type Options,
  type Outcome,
  type Token,
} from '@lambda-service/client';
import { type OperationId, type Operations, operations } from '../functions/generated/contract.ts';

export type * from '../functions/generated/contract.ts';
export type { Client, ClientOptions, Options, Outcome, Token };

/**
 * The error numbers of an operation, as listed in schemas/openapi.yaml. The meaning of a number never changes.
 * @example
 * const failures = new Map<ErrorCode<'createPlant'>, number>();
 */
export type ErrorCode<Id extends OperationId> = Operations[Id]['errorCode'];

/**
 * What a call of an operation returns. `Outcome` says what `ok`, `error` and the other fields mean.
 * @example
 * const describe = (result: Result<'createPlant'>): string => {
 *   if (result.ok) return `done (${result.status})`;
 *   return result.error === 'no answer' ? result.message : `${result.status} ${result.error} ${result.message}`;
 * };
 */
export type Result<Id extends OperationId> = Outcome<Operations[Id]['response'], ErrorCode<Id>>;

/**
 * A function for each operation of the contract. `Client` says what they take and throw, and when they send again.
 * @example
 * const addAll = async ({ createPlant }: PlantStoreClient, all: Operations['createPlant']['body'][]) => {
 *   for (const each of all) console.log((await createPlant(each)).ok);
 * };
 */
export type PlantStoreClient = Client<Operations>;

/**
 * Makes a client for the service at `baseUrl`: the stack's output `ApiUrl`, or the address that `npm start` prints.
 * @throws TypeError if baseUrl is not a URL
 * @example
 * const { createPlant } = createPlantStoreClient({ baseUrl: 'http://127.0.0.1:3000', token: accessToken });
 * const result = await createPlant(body);
 * if (!result.ok) console.error(result.error, result.message, result.requestId);
 */
export const createPlantStoreClient = (options: { baseUrl: string; token: Token } & ClientOptions): PlantStoreClient =>
  createClient<Operations>(operations, options);
