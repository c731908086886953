/**
 * The handlers of an authorizer and of the function that it protects. For /admin/orders, the function tries to read the
 * table of orders, which its role does not allow.
 */
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { APIGatewayProxyEventV2WithLambdaAuthorizer, APIGatewayRequestAuthorizerEventV2 } from 'aws-lambda';

export const authorize = async ({ identitySource }: APIGatewayRequestAuthorizerEventV2) => ({
  isAuthorized: identitySource?.[0] === 'secret',
  context: { user: 'ann' },
});

export const handler = async (event: APIGatewayProxyEventV2WithLambdaAuthorizer<{ user: string }>) => {
  if (event.rawPath === '/admin/orders') {
    const command = new GetItemCommand({ TableName: process.env['ORDERS'], Key: { id: { S: '1' } } });
    return new DynamoDBClient().send(command).catch((error: Error) => `${error.name}: ${error.message}`);
  }
  return { user: event.requestContext.authorizer.lambda.user, ...event.pathParameters };
};
