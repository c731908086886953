import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  type DynamoDBClientConfig,
  PutItemCommand,
  type PutItemCommandInput,
  type PutItemCommandOutput,
} from '@aws-sdk/client-dynamodb';
import { itemBytes, type NewPlant } from './plant.ts';

/** The id belongs to a plant with different content, which is left unchanged. */
export class PlantConflict extends Error {
  override readonly name = 'PlantConflict';
}

/** The plant exceeds DynamoDB's item limit and was not sent. */
export class PlantTooLarge extends Error {
  override readonly name = 'PlantTooLarge';
}

/** DynamoDB gave no final response: the plant may or may not be stored. Adding it again is safe. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/**
 * `created`: the plant is new. `repeated`: it was already stored. `stored`: either of these, because an earlier attempt
 * whose response was lost may have created it.
 */
export type Outcome = 'created' | 'repeated' | 'stored';

/**
 * Adds a plant to the store.
 * @param deadline aborts attempts, the waits between them, and a slow response body, which no SDK time-out covers
 * @throws PlantConflict, PlantTooLarge, StoreUnavailable, or the SDK's error if the fault is ours
 */
export type AddPlant = (plant: NewPlant, deadline: AbortSignal) => Promise<Outcome>;

/**
 * One call and two retries, for broken connections, lost responses and throttling. After about 17 failing requests in a
 * row, an instance has used up the SDK's retry quota (docs/operate/runbook.md) and no longer retries.
 */
const maxAttempts = 3;

/** Milliseconds to wait for a connection. TCP resends a lost packet only after a second, so a new attempt is faster. */
const connectionTimeout = 500;

/** Milliseconds from an attempt to its response headers: 100 times the usual, yet three attempts fit the deadline. */
const requestTimeout = 700;

/** Limits for the DynamoDB client. By default the SDK waits forever, and `requestTimeout` alone only logs a warning. */
export const storeLimits = {
  maxAttempts,
  requestHandler: { connectionTimeout, requestTimeout, throwOnRequestTimeout: true },
} satisfies DynamoDBClientConfig;

/**
 * DynamoDB's limit for an item, in bytes.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-items
 */
const maxItemBytes = 400 * 1024;

/** Adds plants to a table keyed by the number `id`. @example addPlantTo('plants', new DynamoDBClient(storeLimits)) */
export const addPlantTo =
  (tableName: string, client: DynamoDBClient): AddPlant =>
  async (plant, deadline) => {
    if (itemBytes(plant) > maxItemBytes) throw new PlantTooLarge();
    const put = new PutItemCommand({ TableName: tableName, ...putUnlessOther(plant) });
    try {
      const { Attributes, $metadata } = await client.send(put, { abortSignal: deadline });
      assertDynamoDB($metadata);
      if (Attributes === undefined) return 'created';
      return $metadata.attempts === 1 ? 'repeated' : 'stored';
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) {
        assertDynamoDB(error.$metadata);
        throw new PlantConflict();
      }
      if (isTemporary(error)) throw new StoreUnavailable('DynamoDB did not answer', { cause: error });
      throw error;
    }
  };

/** Every DynamoDB response has a request id. A response without one does not prove what happened to the plant. */
const assertDynamoDB = ({ requestId }: PutItemCommandOutput['$metadata']): void => {
  if (requestId === undefined) throw new StoreUnavailable('The response is not from DynamoDB');
};

/**
 * Puts the plant, in one atomic call, if the id is free or already has this same plant. A retry by the SDK or by the
 * client therefore succeeds, and a different plant is never overwritten.
 */
export const putUnlessOther = ({ id, name, tag }: NewPlant): Omit<PutItemCommandInput, 'TableName'> => ({
  Item: { id: { N: String(id) }, name: { S: name }, ...(tag !== undefined && { tag: { S: tag } }) },
  ConditionExpression:
    tag === undefined
      ? 'attribute_not_exists(id) OR (#name = :name AND attribute_not_exists(tag))'
      : 'attribute_not_exists(id) OR (#name = :name AND tag = :tag)',
  ExpressionAttributeNames: { '#name': 'name' },
  ExpressionAttributeValues: { ':name': { S: name }, ...(tag !== undefined && { ':tag': { S: tag } }) },
  // The old attributes tell a repeated plant from a new one. Returning them consumes no read capacity.
  ReturnValues: 'ALL_OLD',
});

/**
 * Names and codes of temporary errors, for which trying again may help. Errors that `isTemporary` does not recognize
 * are faults of ours: access denied, a missing table, an invalid request, no credentials, no region.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
 */
const temporaryErrors = new Set([
  // Our clock was wrong; the SDK has corrected it by the response's date. A wrong secret key would cause this error
  // too, but Lambda takes its keys from the function's role.
  'InvalidSignatureException',
  // DynamoDB returns the following errors with status 400, although they are temporary.
  'LimitExceededException',
  'ProvisionedThroughputExceededException',
  'ReplicatedWriteConflictException',
  'RequestLimitExceeded',
  'RequestTimeoutException',
  'Throttling',
  'ThrottlingException',
  'TransactionConflictException',
  // The deadline aborted the call to DynamoDB.
  'AbortError',
  // `connectionTimeout` or `requestTimeout`, or a broken connection, for which the SDK uses the same name.
  'TimeoutError',
  // Node's codes for connections that failed, or broke after the response headers.
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'EPROTO',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ETIMEDOUT',
]);

/** Node's codes for a response that is not HTTP, OpenSSL's for one that is not TLS. Certificate errors are not listed. */
const notHttp = /^(?:HPE|ERR_SSL)_/;

/** An error with status 200 means that the SDK could not read DynamoDB's response. */
const isTemporary = (error: unknown): boolean => {
  const { name, code = '', $response: { statusCode = 0 } = {} } = error as SdkError;
  return (
    statusCode === 200 ||
    statusCode === 429 ||
    statusCode >= 500 ||
    temporaryErrors.has(name) ||
    temporaryErrors.has(code) ||
    notHttp.test(code)
  );
};

/** The fields of an SDK error that `isTemporary` reads. */
type SdkError = { name: string; code?: string; $response?: { statusCode?: number } };
