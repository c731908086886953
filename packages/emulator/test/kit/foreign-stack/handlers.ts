/** The handlers of the foreign stack: one that may read and write orders, one that may not, and an authorizer. */
import { DynamoDBClient, GetItemCommand, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import type { APIGatewayProxyEventV2WithLambdaAuthorizer, APIGatewayRequestAuthorizerEventV2 } from 'aws-lambda';

type Event = APIGatewayProxyEventV2WithLambdaAuthorizer<{ user: string }>;

const client = new DynamoDBClient();
const TableName = process.env['ORDERS'];

export const orders = async (event: Event) => {
  const { id = '', customer = '' } = event.pathParameters ?? {};
  if (event.routeKey === 'PUT /orders/{id}') {
    const Item = { id: { S: id }, customer: { S: event.body ?? '' } };
    await client.send(new PutItemCommand({ TableName, Item }));
    return { statusCode: 204 };
  }
  const query = new QueryCommand({
    TableName,
    IndexName: 'by-customer',
    KeyConditionExpression: 'customer = :customer',
    ExpressionAttributeValues: { ':customer': { S: customer } },
  });
  const { Items = [] } = await client.send(query);
  return Items.map((item) => item['id']?.S);
};

export const admin = async (event: Event) => {
  const { user } = event.requestContext.authorizer.lambda;
  const id = event.pathParameters?.['id'] ?? '';
  if (event.routeKey.startsWith('GET')) await client.send(new GetItemCommand({ TableName, Key: { id: { S: id } } }));
  return { user, id };
};

export const authorize = async ({ identitySource }: APIGatewayRequestAuthorizerEventV2) => ({
  isAuthorized: identitySource?.[0] === 'secret',
  context: { user: 'ann' },
});
