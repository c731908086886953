/** The smoke test's events: API Gateway events (payload format 2.0) with only the fields that the functions read. */
import { type OperationId, operations, scopes } from '../../../functions/generated/contract.ts';
import type { Check } from './run-checks.ts';

export const operationEvent = (operation: OperationId, check: Check, requestId: string): object => {
  const { method, path } = operations[operation];
  const { pathParameters, rawQueryString = '', headers, body } = check;
  return {
    version: '2.0',
    routeKey: `${method} ${path}`,
    rawPath: path,
    rawQueryString,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    requestContext: { requestId },
    ...(pathParameters && { pathParameters }),
    ...(body !== undefined && { body: toJson(body) }),
    isBase64Encoded: false,
  };
};

export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? JSON.rawJSON(String(part)) : part));

/** Returns the event that the authorizer gets for a request with this token to the contract's first route. */
export const authorizerEvent = (token: string, requestId: string): object => {
  const [routeKey] = Object.keys(scopes);
  const headers = { authorization: `Bearer ${token}` };
  return { version: '2.0', type: 'REQUEST', routeKey, headers, requestContext: { requestId } };
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
