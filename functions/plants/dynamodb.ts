import { ConditionalCheckFailedException, DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import { fromEnvironment } from '../environment.ts';

/** DynamoDB gave no final response: a write may or may not have happened. Calling again is safe. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** A table, and the client that reaches it. */
export type Table = { name: string; client: DynamoDBClient };

/** Limits for the DynamoDB client. By default the SDK waits forever, and `requestTimeout` alone only logs a warning. */
export const storeLimits = {
  // One call and two retries, for broken connections, lost responses and throttling. After about 17 failing requests in
  // a row, an instance has used up the SDK's retry quota (docs/operate/runbook.md) and no longer retries.
  maxAttempts: 3,
  requestHandler: {
    // In milliseconds. TCP resends a lost packet only after a second, so a new attempt is faster.
    connectionTimeout: 500,
    // Milliseconds to the response headers: 100 times the usual, yet three attempts fit the request's deadline.
    requestTimeout: 700,
    throwOnRequestTimeout: true,
  },
} satisfies DynamoDBClientConfig;

/** Returns the table of this name, in the region of the environment. @example openTable(fromEnvironment('TABLE_NAME')) */
export const openTable = (name: string): Table => ({
  name,
  client: new DynamoDBClient({ region: fromEnvironment('AWS_REGION'), ...storeLimits }),
});

type Answer = { $metadata: { requestId?: string | undefined; attempts?: number | undefined } };

/**
 * The client's request for which the store is called. Its `signal` aborts attempts, the waits between them, and a slow
 * response body, which no SDK time-out covers. `storeCalls`, with times of performance.now(), are for the log.
 */
export type OngoingRequest = {
  signal: AbortSignal;
  storeCalls: { startedAt: number; endedAt?: number; attempts?: number | undefined }[];
};

/**
 * Sends a command and waits for DynamoDB's response.
 * @throws StoreUnavailable if there is no response, or a temporary error; else the SDK's error
 * @example await answered(request, (abortSignal) => client.send(command, { abortSignal }))
 */
export const answered = async <Output extends Answer>(
  { signal, storeCalls }: OngoingRequest,
  send: (abortSignal: AbortSignal) => Promise<Output>,
): Promise<Output> => {
  const call: OngoingRequest['storeCalls'][number] = { startedAt: performance.now() };
  storeCalls.push(call);
  try {
    const output = await send(signal);
    call.attempts = output.$metadata.attempts;
    assertDynamoDB(output);
    return output;
  } catch (error) {
    call.attempts ??= (error as SdkError).$metadata?.attempts;
    if (error instanceof ConditionalCheckFailedException) assertDynamoDB(error);
    if (isTemporary(error as SdkError)) throw new StoreUnavailable('DynamoDB did not answer', { cause: error });
    throw error;
  } finally {
    call.endedAt = performance.now();
  }
};

/** Every DynamoDB response has a request id. A response without one does not prove what happened to the item. */
const assertDynamoDB = ({ $metadata }: Answer): void => {
  if ($metadata.requestId === undefined) throw new StoreUnavailable('The response is not from DynamoDB');
};

/** Temporary errors, besides those that the SDK retries: the deadline aborted the call, a wrong clock, a busy item. */
const temporaryErrors = /^(?:AbortError|InvalidSignatureException|TransactionConflictException)$/;

/** Codes, besides those that the SDK retries, of a connection that failed or broke off, or was not HTTP or TLS. */
const connectionErrors =
  /^(?:E(?:ADDRNOTAVAIL|CONNABORTED|HOSTDOWN|NET(?:DOWN|RESET)|PROTO)|HPE_\w+|ERR_SSL_\w+|ERR_STREAM_PREMATURE_CLOSE)$/;

/** An error that the SDK may throw. Node.js's errors have a `code`, too. */
type SdkError = Parameters<typeof isTransientError>[0] & { code?: string };

/** Errors that are not temporary are faults of ours: access denied, a missing table, no credentials, EMFILE. */
const isTemporary = (error: SdkError): boolean =>
  isThrottlingError(error) ||
  isTransientError(error) ||
  isServerError(error) ||
  temporaryErrors.test(error.name) ||
  connectionErrors.test(error.code ?? '') ||
  // The status of an error is 200 if the SDK could not read DynamoDB's response.
  error.$metadata?.httpStatusCode === 200;
