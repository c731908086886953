import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';

/** Bigints in the body keep all their digits. */
export const jsonResponse = (
  statusCode: number,
  body: unknown,
  headers: Record<string, string> = {},
): APIGatewayProxyStructuredResultV2 => ({
  statusCode,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body, (_, value) => (typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value)),
});
