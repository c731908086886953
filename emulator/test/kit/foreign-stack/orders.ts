/** Reads and writes orders; each order is also written to a second table, the audit log. */
import { DynamoDBClient, GetItemCommand, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';

const client = new DynamoDBClient();
const { ORDERS, AUDIT } = process.env;

export const handler = async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
  const { id = '', customer = '' } = event.pathParameters ?? {};
  switch (event.routeKey) {
    case 'PUT /orders/{id}': {
      const item = { id: { S: id }, customer: { S: event.body ?? '' } };
      await client.send(new PutItemCommand({ TableName: ORDERS, Item: item }));
      await client.send(new PutItemCommand({ TableName: AUDIT, Item: { ...item, at: { N: String(Date.now()) } } }));
      return { statusCode: 204 };
    }
    case 'GET /orders/{id}': {
      const { Item } = await client.send(new GetItemCommand({ TableName: ORDERS, Key: { id: { S: id } } }));
      return Item === undefined ? { statusCode: 404 } : { statusCode: 200, body: Item['customer']?.S ?? '' };
    }
    default: {
      const query = new QueryCommand({
        TableName: ORDERS,
        IndexName: 'by-customer',
        KeyConditionExpression: 'customer = :customer',
        ExpressionAttributeValues: { ':customer': { S: customer } },
      });
      const { Items = [] } = await client.send(query);
      return { statusCode: 200, body: Items.map((item) => item['id']?.S).join() };
    }
  }
};
