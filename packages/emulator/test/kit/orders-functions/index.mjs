/** The functions of usual-stack.e2e.ts: one may read and write orders, the others may not, and one is an authorizer. */
import { DynamoDB } from '@aws-sdk/client-dynamodb';

const dynamoDb = new DynamoDB();
const TableName = process.env['ORDERS'];

export const orders = async ({ routeKey, pathParameters: { id, customer }, headers }) => {
  if (routeKey === 'PUT /orders/{id}') {
    await dynamoDb.putItem({ TableName, Item: { id: { S: id }, customer: { S: headers.customer } } });
    return { statusCode: 204 };
  }
  const { Items } = await dynamoDb.query({
    TableName,
    IndexName: 'by-customer',
    KeyConditionExpression: 'customer = :customer',
    ExpressionAttributeValues: { ':customer': { S: customer } },
  });
  return Items.map((item) => item.id.S);
};

export const admin = async ({ routeKey, pathParameters: { id }, requestContext }) => {
  if (routeKey.startsWith('GET')) await dynamoDb.getItem({ TableName, Key: { id: { S: id } } });
  return { user: requestContext.authorizer.lambda.user, id };
};

export const hello = async ({ pathParameters: { name } }) => {
  console.log('asked', name, new Date(0).getHours());
  console.error(new Error('late'));
  const { GREETING, TITLE } = process.env;
  return { statusCode: 200, body: `${GREETING} ${TITLE} ${name}` };
};

export const mine = async ({ requestContext }) => requestContext.authorizer.jwt.claims.sub;

export const authorize = async ({ authorizationToken, methodArn }) => ({
  principalId: 'ann',
  policyDocument: {
    Version: '2012-10-17',
    Statement: [
      {
        Effect: authorizationToken === 'secret' ? 'Allow' : 'Deny',
        Action: 'execute-api:Invoke',
        Resource: methodArn.replace(/\/.*/, '/*'),
      },
    ],
  },
  context: { user: 'ann' },
});
