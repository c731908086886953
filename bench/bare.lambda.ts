/** The plainest handler with the service's conditional put: no authorizer, no validation, no error handling. */
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { putUnlessOther, toItem } from '../functions/plants/plant-table.ts';

const client = new DynamoDBClient({});

export const handler = async (event: { body: string }) => {
  const { id, name, tag } = JSON.parse(event.body);
  await client.send(
    new PutItemCommand({ TableName: process.env['TABLE_NAME'], ...putUnlessOther(toItem({ id, name, tag })) }),
  );
  return {
    statusCode: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, tag }),
  };
};
