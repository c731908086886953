/**
 * The baseline of `npm run --prefix template bench`: a handler that only makes the service's conditional DynamoDB
 * update, without an authorizer, validation or error handling.
 */
import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { addUnlessOther } from '@lambda-service/runtime/dynamodb';
import { key, toItem } from '../../functions/plant-table.ts';

const client = new DynamoDBClient({});

export const handler = async (event: { body: string }) => {
  const { id, name, tag } = JSON.parse(event.body);
  await client.send(
    new UpdateItemCommand({ TableName: process.env['TABLE_NAME'], ...addUnlessOther(key, toItem({ id, name, tag })) }),
  );
  return {
    statusCode: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, tag }),
  };
};
