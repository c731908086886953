/** Events in payload format 2.0, as an API Gateway HTTP API sends them, based on the samples in AWS's documentation. */
import type { APIGatewayProxyEventV2, APIGatewayRequestAuthorizerEventV2, Context } from 'aws-lambda';

const requestContext = {
  accountId: '123456789012',
  apiId: 'api-id',
  domainName: 'api-id.execute-api.us-east-1.amazonaws.com',
  domainPrefix: 'api-id',
  http: { method: 'POST', path: '/plants', protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'curl/8.5.0' },
  requestId: 'JKJaXmPLvHcESHA=',
  routeKey: 'POST /plants',
  stage: '$default',
  time: '21/Nov/2026:10:00:00 +0000',
  timeEpoch: 1795255200000,
};

const headers = {
  accept: '*/*',
  'content-type': 'application/json',
  host: 'api-id.execute-api.us-east-1.amazonaws.com',
  'user-agent': 'curl/8.5.0',
  'x-amzn-trace-id': 'Root=1-5e6722a7-cc56xmpl46db7ae02d4da47e',
  'x-forwarded-for': '192.0.2.1',
  'x-forwarded-port': '443',
  'x-forwarded-proto': 'https',
};

/** Returns an event for createPlant. A header that is undefined in `change` is omitted. */
export const proxyEvent = (
  body: string | undefined,
  change: { isBase64Encoded?: boolean; headers?: Record<string, string | undefined> } = {},
): APIGatewayProxyEventV2 => ({
  version: '2.0',
  routeKey: 'POST /plants',
  rawPath: '/plants',
  rawQueryString: '',
  headers: JSON.parse(JSON.stringify({ ...headers, ...change.headers })),
  requestContext,
  ...(body !== undefined && { body }),
  isBase64Encoded: change.isBase64Encoded ?? false,
});

/** Returns an event for the authorizer. */
export const authorizerEvent = (authorization: string): APIGatewayRequestAuthorizerEventV2 => ({
  version: '2.0',
  type: 'REQUEST',
  routeArn: 'arn:aws:execute-api:us-east-1:123456789012:api-id/$default/POST/plants',
  identitySource: [authorization],
  routeKey: 'POST /plants',
  rawPath: '/plants',
  rawQueryString: '',
  cookies: [],
  headers: { ...headers, authorization },
  requestContext,
  pathParameters: {},
  stageVariables: {},
});

export const lambdaContext: Context = {
  awsRequestId: 'c6af9ac6-7b61-11e6-9a41-93e8deadbeef',
  callbackWaitsForEmptyEventLoop: true,
  functionName: 'create-plant',
  functionVersion: '$LATEST',
  invokedFunctionArn: 'arn:aws:lambda:us-east-1:123456789012:function:create-plant',
  logGroupName: '/aws/lambda/create-plant',
  logStreamName: '2026/11/21/[$LATEST]abc',
  memoryLimitInMB: '256',
  getRemainingTimeInMillis: () => 5_000,
  done: () => {},
  fail: () => {},
  succeed: () => {},
};
