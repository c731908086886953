/** Events in payload format 2.0, as an API Gateway HTTP API sends them, based on the samples in AWS's documentation. */
import type { APIGatewayProxyEventV2, APIGatewayRequestAuthorizerEventV2, Context } from 'aws-lambda';

const requestContext = (routeKey: string, method: string, path: string) => ({
  accountId: '123456789012',
  apiId: 'api-id',
  domainName: 'api-id.execute-api.us-east-1.amazonaws.com',
  domainPrefix: 'api-id',
  http: { method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'curl/8.5.0' },
  requestId: 'JKJaXmPLvHcESHA=',
  routeKey,
  stage: '$default',
  time: '21/Nov/2026:10:00:00 +0000',
  timeEpoch: 1795255200000,
});

const headers = {
  accept: '*/*',
  host: 'api-id.execute-api.us-east-1.amazonaws.com',
  'user-agent': 'curl/8.5.0',
  'x-amzn-trace-id': 'Root=1-5e6722a7-cc56xmpl46db7ae02d4da47e',
  'x-forwarded-for': '192.0.2.1',
  'x-forwarded-port': '443',
  'x-forwarded-proto': 'https',
};

export type EventRequest = {
  routeKey: string;
  pathParameters?: Record<string, string>;
  /** The query parameters. A list becomes a repeated parameter: `tag=a&tag=b`. */
  queryStringParameters?: Record<string, string | string[]>;
  headers?: Record<string, string | undefined>;
  body?: string | undefined;
  isBase64Encoded?: boolean;
};

/**
 * Returns the event that the gateway would make of a request. A header that is undefined is left out, and names become
 * lower-case.
 * @example event({ routeKey: 'GET /orders/{id}', pathParameters: { id: '7' } })
 */
export const event = (request: EventRequest): APIGatewayProxyEventV2 => {
  const { routeKey, pathParameters, queryStringParameters, body, isBase64Encoded = false } = request;
  const query = Object.entries(queryStringParameters ?? {});
  const pairs = query.flatMap(([name, values]) => [values].flat().map((value): [string, string] => [name, value]));
  const [method = '', template = ''] = routeKey.split(' ');
  const rawPath = template.replaceAll(/\{(.*?)\}/g, (_, name) => pathParameters?.[name] ?? '');
  return {
    version: '2.0',
    routeKey,
    rawPath,
    rawQueryString: String(new URLSearchParams(pairs)),
    headers: JSON.parse(
      JSON.stringify({
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...Object.fromEntries(
          Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
        ),
      }),
    ),
    requestContext: requestContext(routeKey, method, rawPath),
    ...(pathParameters && { pathParameters }),
    // The gateway joins the values of a repeated query parameter with commas.
    ...(pairs.length > 0 && {
      queryStringParameters: Object.fromEntries(query.map(([name, value]) => [name, String(value)])),
    }),
    ...(body !== undefined && { body }),
    isBase64Encoded,
  };
};

/** Returns the event that the gateway would send to the authorizer for a request to the route. */
export const authorizerEvent = (authorization: string, routeKey: string): APIGatewayRequestAuthorizerEventV2 => {
  const [method = '', path = ''] = routeKey.split(' ');
  return {
    version: '2.0',
    type: 'REQUEST',
    routeArn: `arn:aws:execute-api:us-east-1:123456789012:api-id/$default/${method}${path}`,
    identitySource: [authorization],
    routeKey,
    rawPath: path,
    rawQueryString: '',
    cookies: [],
    headers: { ...headers, authorization },
    requestContext: requestContext(routeKey, method, path),
    pathParameters: {},
    stageVariables: {},
  };
};

/** The fields of Lambda's context that the functions read. */
export const lambdaContext = {
  awsRequestId: 'c6af9ac6-7b61-11e6-9a41-93e8deadbeef',
  getRemainingTimeInMillis: () => 5_000,
} as Context;
