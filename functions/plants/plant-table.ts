import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  type DynamoDBClientConfig,
  DynamoDBServiceException,
  PutItemCommand,
  type PutItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { itemBytes, type NewPlant } from './plant.ts';

/** The id belongs to a plant with other content, which stays untouched. */
export class PlantConflict extends Error {
  override readonly name = 'PlantConflict';
}

/** The plant is larger than DynamoDB's item limit. Nothing was sent. */
export class PlantTooLarge extends Error {
  override readonly name = 'PlantTooLarge';
}

/** The store gave no final answer: the plant may be stored or not, and adding it again is safe. `cause` says more. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** @throws PlantConflict, PlantTooLarge, StoreUnavailable, or the SDK's error where the fault is ours */
export type AddPlant = (plant: NewPlant) => Promise<void>;

/**
 * One attempt answers in single-digit milliseconds; these bounds are for the day it does not. The SDK's own defaults
 * wait without end, and its `requestTimeout` alone only warns.
 */
export const storeLimits = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 500, requestTimeout: 700, throwOnRequestTimeout: true },
} satisfies DynamoDBClientConfig;

/** Milliseconds for all attempts together. Also ends an answer that drips in, which no time-out of the SDK does. */
const totalTimeout = 2_000;

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-items */
const maxItemBytes = 400 * 1024;

/** Adds plants to the table, which has the number `id` as its partition key. `client` is made with `storeLimits`. */
export const addPlantTo =
  (tableName: string, client: DynamoDBClient): AddPlant =>
  async (plant) => {
    if (itemBytes(plant) > maxItemBytes) throw new PlantTooLarge();
    const put = new PutItemCommand({ TableName: tableName, ...putUnlessOther(plant) });
    try {
      await client.send(put, { abortSignal: AbortSignal.timeout(totalTimeout) });
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) throw new PlantConflict();
      if (isTemporary(error)) throw new StoreUnavailable('DynamoDB did not answer', { cause: error });
      throw error;
    }
  };

/**
 * "No plant with this id, or this very plant": so a retry, the SDK's own after a lost answer or the client's, meets its
 * own item and succeeds, while another plant is never overwritten. Atomic, with no read before the write.
 */
const putUnlessOther = ({ id, name, tag }: NewPlant): Omit<PutItemCommandInput, 'TableName'> => ({
  Item: { id: { N: String(id) }, name: { S: name }, ...(tag !== undefined && { tag: { S: tag } }) },
  ConditionExpression:
    tag === undefined
      ? 'attribute_not_exists(id) OR (#name = :name AND attribute_not_exists(tag))'
      : 'attribute_not_exists(id) OR (#name = :name AND tag = :tag)',
  ExpressionAttributeNames: { '#name': 'name' },
  ExpressionAttributeValues: { ':name': { S: name }, ...(tag !== undefined && { ':tag': { S: tag } }) },
});

/** What DynamoDB says with a status of 400 and takes back by itself. */
const temporaryAnswers = new Set([
  'LimitExceededException',
  'ProvisionedThroughputExceededException',
  'ReplicatedWriteConflictException',
  'RequestLimitExceeded',
  'RequestTimeoutException',
  'Throttling',
  'ThrottlingException',
  'TransactionConflictException',
]);

/** Node's words for a connection that was not made, or broke. */
const connectionFaults = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/**
 * Whether asking again may help: DynamoDB's answers that ask for patience, broken connections, time-outs, and answers
 * that cannot be read though their status is no refusal. What is left is a fault of ours: access denied, a missing table,
 * no credentials, no region.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
 */
const isTemporary = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const { name, code, $metadata, $response } = error as Error & SdkErrorFields;
  const status = $metadata?.httpStatusCode ?? $response?.statusCode;
  if (error instanceof DynamoDBServiceException) {
    return error.$retryable !== undefined || status === 429 || (status ?? 0) >= 500 || temporaryAnswers.has(name);
  }
  if (status !== undefined) return status < 300 || status >= 500;
  return name === 'AbortError' || name === 'TimeoutError' || (code !== undefined && connectionFaults.has(code));
};

type SdkErrorFields = {
  code?: string;
  $metadata?: { httpStatusCode?: number };
  $response?: { statusCode?: number };
};
