/** The smoke test's events: API Gateway events (payload format 2.0) with only the fields that the functions read. */
import { toExactJson } from '../exact-json.ts';

/** The route of an operation. */
export type Route = { method: string; path: string };

export type OperationRequest = {
  pathParameters?: Record<string, string>;
  rawQueryString?: string;
  headers?: Record<string, string>;
  body?: unknown;
};

export const operationEvent = ({ method, path }: Route, request: OperationRequest, requestId: string): object => {
  const { pathParameters, rawQueryString = '', headers, body } = request;
  return {
    version: '2.0',
    routeKey: `${method} ${path}`,
    rawPath: path,
    rawQueryString,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    requestContext: { requestId },
    ...(pathParameters && { pathParameters }),
    ...(body !== undefined && { body: toExactJson(body) }),
    isBase64Encoded: false,
  };
};

/** Returns the event that the authorizer gets for a request with this token. */
export const authorizerEvent = ({ method, path }: Route, token: string, requestId: string): object => {
  const headers = { authorization: `Bearer ${token}` };
  return { version: '2.0', type: 'REQUEST', routeKey: `${method} ${path}`, headers, requestContext: { requestId } };
};

/** Returns a forged token with an unknown key id, so the authorizer refuses it only after it has fetched the keys. */
export const forgedToken = (issuer: string): string => {
  const inAMinute = Math.floor(Date.now() / 1_000) + 60;
  const parts = [
    { alg: 'RS256', kid: 'forged' },
    { iss: issuer, exp: inAMinute },
  ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  return [...parts, 'AAAA'].join('.');
};
