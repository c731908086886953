import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  type DynamoDBClientConfig,
  PutItemCommand,
  type PutItemCommandInput,
  type PutItemCommandOutput,
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

/**
 * What became of a plant: it is new, or was stored before. `stored` where that cannot be told, since an attempt whose
 * answer was lost may have made it.
 */
export type Outcome = 'created' | 'repeated' | 'stored';

/**
 * `deadline` ends all attempts, the waits between them, and an answer that drips in, which no time-out of the SDK ends.
 * @throws PlantConflict, PlantTooLarge, StoreUnavailable, or the SDK's error where the fault is ours
 */
export type AddPlant = (plant: NewPlant, deadline: AbortSignal) => Promise<Outcome>;

/**
 * The first call, and two more for what is over in a moment: a broken connection, a lost answer, throttling. After about
 * 17 failing requests in a row an instance has used up the SDK's retry quota (docs/operate/runbook.md): then it calls once.
 */
const maxAttempts = 3;

/** Milliseconds. A packet that is lost while connecting is sent again by TCP after a second: a new attempt is sooner. */
const connectionTimeout = 500;

/** Milliseconds from the start of an attempt to the head of its answer: a hundred times the usual, and room for three. */
const requestTimeout = 700;

/** By its own defaults the SDK waits without end, and its `requestTimeout` alone only warns. */
export const storeLimits = {
  maxAttempts,
  requestHandler: { connectionTimeout, requestTimeout, throwOnRequestTimeout: true },
} satisfies DynamoDBClientConfig;

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-items */
const maxItemBytes = 400 * 1024;

/** Adds plants to the table, which has the number `id` as its partition key. `client` is made with `storeLimits`. */
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

/** Every answer of DynamoDB has an id. What happened to a plant must not be told on the word of anything else. */
const assertDynamoDB = ({ requestId }: PutItemCommandOutput['$metadata']): void => {
  if (requestId === undefined) throw new StoreUnavailable('The answer is not from DynamoDB');
};

/**
 * "No plant with this id, or this very plant": so a retry, the SDK's own after a lost answer or the client's, meets its
 * own item and succeeds, while another plant is never overwritten. Atomic, with no read before the write.
 */
export const putUnlessOther = ({ id, name, tag }: NewPlant): Omit<PutItemCommandInput, 'TableName'> => ({
  Item: { id: { N: String(id) }, name: { S: name }, ...(tag !== undefined && { tag: { S: tag } }) },
  ConditionExpression:
    tag === undefined
      ? 'attribute_not_exists(id) OR (#name = :name AND attribute_not_exists(tag))'
      : 'attribute_not_exists(id) OR (#name = :name AND tag = :tag)',
  ExpressionAttributeNames: { '#name': 'name' },
  ExpressionAttributeValues: { ':name': { S: name }, ...(tag !== undefined && { ':tag': { S: tag } }) },
  // Tells a new plant from a repeated one, and consumes no read capacity.
  ReturnValues: 'ALL_OLD',
});

/**
 * The errors that pass by themselves, by name or code, so that asking again may help. So do a status of 429 or 5xx, an
 * unreadable answer of status 200, and an answer that is no HTTP or no TLS. All else is a fault of ours: access denied,
 * a missing table, a request that is not valid, no credentials, no region.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
 */
const temporaryErrors = new Set([
  // Our clock is off, or was: by the answer's date the SDK has set it right. (Lambda's keys, of which DynamoDB would say
  // the same where they were wrong, come from the function's role.)
  'InvalidSignatureException',
  // DynamoDB's, with a status of 400.
  'LimitExceededException',
  'ProvisionedThroughputExceededException',
  'ReplicatedWriteConflictException',
  'RequestLimitExceeded',
  'RequestTimeoutException',
  'Throttling',
  'ThrottlingException',
  'TransactionConflictException',
  // The deadline.
  'AbortError',
  // The time-outs above, and the SDK's name for a connection that broke.
  'TimeoutError',
  // Node's codes for a connection that was not made, or broke after the head of the answer.
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

/** Node's codes for what is no HTTP, and OpenSSL's for what is no TLS. Those for certificates have other names. */
const notHttp = /^(?:HPE|ERR_SSL)_/;

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

/** What the SDK throws, as far as it is looked at. */
type SdkError = { name: string; code?: string; $response?: { statusCode?: number } };
