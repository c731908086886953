/** The plainest handler that does the same conditional put: no authorizer, no validation, no error handling. */
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';

const client = new DynamoDBClient({});

export const handler = async (event: { body: string }) => {
  const { id, name, tag } = JSON.parse(event.body);
  await client.send(
    new PutItemCommand({
      TableName: process.env['TABLE_NAME'],
      Item: { id: { N: String(id) }, name: { S: name }, ...(tag !== undefined && { tag: { S: tag } }) },
      ConditionExpression: 'attribute_not_exists(id)',
    }),
  );
  return {
    statusCode: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, tag }),
  };
};
