import type { Account, AuthorizerSpec } from '../served-stack.ts';
import type { Invoker } from './invocation.ts';
import { apiId, type RequestEvent } from './request.ts';
import { Refused, responses } from './response.ts';

/**
 * How long API Gateway waits for an authorizer, in milliseconds:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
 */
const authorizerTimeout = 10_000;

/**
 * Calls a route's authorizer with payload format 2.0. It must return a simple response.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
 * @returns the authorizer's context
 * @throws Refused if the authorizer does not allow the request
 */
export const authorize = async (
  event: RequestEvent,
  { target, identitySources }: AuthorizerSpec,
  account: Account,
  invoke: Invoker,
): Promise<object> => {
  const { functionName } = target;
  const identitySource = identitySources.map((source) => identityOf(event, source));
  const { method, path } = event.requestContext.http;
  const routeArn = `arn:aws:execute-api:${account.region}:${account.id}:${apiId}/$default/${method}${path}`;
  const result = await invoke(target, { ...event, type: 'REQUEST', routeArn, identitySource }, authorizerTimeout);
  if (result === undefined) throw new Refused(responses.serverError, `${functionName}: no response within 10 s`);
  const verdict: unknown = JSON.parse(result);
  if (!isSimpleResponse(verdict)) throw new Refused(responses.serverError, `${functionName}: malformed response`);
  if (!verdict.isAuthorized) throw new Refused(responses.forbidden);
  return verdict.context ?? {};
};

const header = '$request.header.';
const query = '$request.querystring.';

/**
 * Returns the value of an identity source (a header or a query parameter). Header names are case-insensitive; query
 * parameter names are not.
 * @throws Refused if the value is missing or empty
 */
const identityOf = ({ headers, queryStringParameters }: RequestEvent, source: string): string => {
  const identity = source.startsWith(header)
    ? headers[source.slice(header.length).toLowerCase()]
    : queryStringParameters?.[source.slice(query.length)];
  if (identity === undefined || identity === '') throw new Refused(responses.unauthorized);
  return identity;
};

type SimpleResponse = { isAuthorized: boolean; context?: object };

const isSimpleResponse = (value: unknown): value is SimpleResponse =>
  typeof value === 'object' &&
  value !== null &&
  'isAuthorized' in value &&
  typeof value.isAuthorized === 'boolean' &&
  (!('context' in value) || (typeof value.context === 'object' && value.context !== null));
