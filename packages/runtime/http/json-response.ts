import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { toExactJson } from '../exact-json.ts';

/** Bigints in the body keep all their digits. */
export const jsonResponse = (
  statusCode: number,
  body: unknown,
  headers: Record<string, string> = {},
): APIGatewayProxyStructuredResultV2 => ({
  statusCode,
  headers: { 'content-type': 'application/json', ...headers },
  body: toExactJson(body),
});
