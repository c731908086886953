import {
  type $Command,
  ConditionalCheckFailedException,
  DynamoDBClient,
  type DynamoDBClientConfig,
  type DynamoDBClientResolvedConfig,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-dynamodb';
import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import { fromEnvironment } from '../environment.ts';
import type { StoreCall } from '../store-call.ts';
import { storeAttempts, storeAttemptTime } from '../time-budget.ts';

/** Thrown if DynamoDB gave no conclusive response: a write may or may not have happened. Calling again is safe. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

export type Table = { name: string; client: DynamoDBClient };

/** By default, the SDK waits forever; `requestTimeout` alone only logs a warning. */
export const storeLimits = {
  // After about 17 failing requests in a row, an instance has used up the SDK's retry quota (docs/operate/runbook.md).
  maxAttempts: storeAttempts,
  requestHandler: {
    // TCP resends a lost packet only after a second, so a new attempt is faster.
    connectionTimeout: 500,
    requestTimeout: storeAttemptTime,
    throwOnRequestTimeout: true,
  },
} satisfies DynamoDBClientConfig;

export const openTable = (name: string): Table => ({
  name,
  client: new DynamoDBClient({ region: fromEnvironment('AWS_REGION'), ...storeLimits }),
});

/**
 * The API request for which the store is called. `signal` also aborts the reading of a slow response from the store,
 * which no SDK time-out covers. Each call is added to `storeCalls`, for the log.
 */
export type OngoingRequest = {
  signal: AbortSignal;
  storeCalls: StoreCall[];
};

/** @throws StoreUnavailable if DynamoDB does not respond or the error is temporary; else the SDK's error */
export const callStore = async <Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
  { signal, storeCalls }: OngoingRequest,
  client: DynamoDBClient,
  command: $Command<Input, Output, DynamoDBClientResolvedConfig, ServiceInputTypes, ServiceOutputTypes>,
): Promise<Output> => {
  const call: StoreCall = { startedAt: performance.now() };
  storeCalls.push(call);
  // The low priority makes this middleware see the response before the SDK parses it.
  command.middlewareStack.add(
    (next) => async (args) => {
      try {
        const result = await next(args);
        await assertOutput(result.response as HttpResponse);
        return result;
      } catch (error) {
        // The SDK retries an error that has `$retryable`.
        if (isConnectionError(error as SdkError)) Object.assign(error as SdkError, { $retryable: {} });
        throw error;
      }
    },
    { step: 'deserialize', priority: 'low', name: 'assertOutput', override: true },
  );
  try {
    const output = await client.send(command, { abortSignal: signal });
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

/** A response without a request id is not from DynamoDB, and proves nothing about the item. */
const assertDynamoDB = ({ $metadata }: ServiceOutputTypes): void => {
  if (!requestId.test($metadata.requestId ?? '')) throw notDynamoDB();
};

/** DynamoDB's have 52 letters and digits, emulators' are often UUIDs. */
const requestId = /^[a-z\d][a-z\d-]*$/i;

const notDynamoDB = (): StoreUnavailable => new StoreUnavailable('The response is not from DynamoDB');

type HttpResponse = { statusCode: number; body: Buffer | AsyncIterable<Buffer> };

/**
 * Throws StoreUnavailable for a 2xx response that DynamoDB does not send. The SDK takes even an empty body, `null` or
 * `[1]` for success.
 */
const assertOutput = async (response: HttpResponse): Promise<void> => {
  if (response.statusCode >= 300) return;
  const chunks: Buffer[] = [];
  for await (const chunk of response.body as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  response.body = body;
  if (response.statusCode !== 200 || !isOutput(body.toString())) throw notDynamoDB();
};

const isOutput = (json: string): boolean => {
  try {
    const output: unknown = JSON.parse(json);
    return isObject(output) && (!('Attributes' in output) || isObject(output.Attributes));
  } catch {
    return false;
  }
};

const isObject = (value: unknown): value is object => value instanceof Object && !Array.isArray(value);

/** The deadline aborted the call, the clock is wrong, or another request is changing the item. */
const temporaryErrors = /^(?:AbortError|InvalidSignatureException|TransactionConflictException)$/;

/** Besides those that the SDK retries: the connection failed or was lost, or the other side spoke no HTTP or TLS. */
const connectionErrors =
  /^(?:E(?:ADDRNOTAVAIL|CANCELED|CONNABORTED|HOSTDOWN|NET(?:DOWN|RESET)|NONET|NOTCONN|OF|PROTO|SHUTDOWN)|HPE_\w+|ERR_(?:SOCKET_(?:CLOSED|CONNECTION_TIMEOUT)|SSL_\w+|STREAM_(?:DESTROYED|PREMATURE_CLOSE)|TLS_HANDSHAKE_TIMEOUT))$/;

/** Besides those that the SDK retries: DynamoDB's name did not resolve (codes of getaddrinfo and c-ares). */
const lookupErrors =
  /^E(?:AI_(?:ADDRFAMILY|CANCELED|FAIL|NODATA|NONAME|SYSTEM)|BADRESP|BUSY|CANCELLED|DESTRUCTION|FORMERR|INTR|IO|NODATA|NONAME|NOTIMP|REFUSED|SERVFAIL|TIMEOUT)$/;

type SdkError = Parameters<typeof isTransientError>[0] & { code?: string };

const isConnectionError = ({ code = '' }: SdkError): boolean => connectionErrors.test(code) || lookupErrors.test(code);

/** Other errors are our faults: denied access, no table, no credentials, a refused certificate, EMFILE, no memory. */
const isTemporary = (error: SdkError): boolean =>
  isThrottlingError(error) ||
  isTransientError(error) ||
  isServerError(error) ||
  temporaryErrors.test(error.name) ||
  isConnectionError(error) ||
  // The SDK could not read DynamoDB's response.
  error.$metadata?.httpStatusCode === 200;
