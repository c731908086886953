/** Checks the store's address, which the user chose. DynamoDB, or an imitation of it, must respond at that address. */
import { type DynamoDBClient, DynamoDBServiceException, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { reason } from './data-folder.ts';

/**
 * Checks that an address is an http or https URL. With any other address, the SDK would call AWS, or fail with only the
 * message UnknownError.
 * @throws Error with a message for the user
 */
export const checkEndpoint = (endpoint: string): void => {
  const { protocol } = URL.parse(endpoint) ?? {};
  if (protocol === 'http:' || protocol === 'https:') return;
  throw new Error(
    'The store needs a folder, or an endpoint that is an http or https URL (such as http://localhost:8000), ' +
      `not ${JSON.stringify(endpoint)}.`,
  );
};

/**
 * Calls the store once to check that it responds.
 * @throws Error with a message that completes "The store cannot be used: "
 */
export const probe = async (client: DynamoDBClient): Promise<void> => {
  try {
    await client.send(new ListTablesCommand({ Limit: 1 }));
  } catch (error) {
    throw new Error(describe(error));
  }
};

const describe = (error: unknown): string => {
  // The SDK names its error SyntaxError if the response is not JSON, and Unknown if an error response has no __type.
  // DynamoDB sends neither response.
  if (error instanceof Error && ['SyntaxError', 'Unknown'].includes(error.name))
    return 'it does not respond as DynamoDB does. Correct its address.';
  return error instanceof DynamoDBServiceException
    ? reason(error)
    : `${reason(error)}. Start it, or correct its address.`;
};
