/** Invokes the functions of a route: its authorizer, and then the function of its integration. */
import type { LogLine, Outcome } from '../lambda/functions.ts';
import type { Account, AuthorizerSpec, RouteSpec, Target } from '../served-stack.ts';
import { apiId, type RequestEvent } from './request.ts';
import { type HttpResponse, Refused, responseOf, responses } from './response.ts';

export type Invoke = (target: Target, event: unknown) => Promise<Outcome>;

/**
 * Invokes a function for one request.
 * @returns its result as JSON, or undefined if it takes longer than `timeout` milliseconds
 * @throws Refused if the function fails
 */
export type Invoker = (target: Target, event: unknown, timeout: number) => Promise<string | undefined>;

/** Makes the invoker for one request. `log` receives the functions' log lines. With `debug`, nothing times out. */
export const makeInvoker =
  (invoke: Invoke, log: LogLine[], debug: boolean): Invoker =>
  async (target, event, timeout) => {
    const invoked = invoke(target, event);
    const outcome = await (debug ? invoked : withTimeout(invoked, timeout));
    if (outcome === undefined) return undefined;
    log.push(...outcome.log);
    if ('result' in outcome) return outcome.result;
    throw new Refused(
      outcome.tooLarge ? responses.bodyTooLarge : responses.serverError,
      `${target.functionName}: ${outcome.failure}`,
    );
  };

/** Returns the result of `promise`, or undefined if it takes longer than `milliseconds`. A later result is ignored. */
const withTimeout = async <T>(promise: Promise<T>, milliseconds: number): Promise<T | undefined> => {
  const timeout = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => timeout.resolve(undefined), milliseconds);
  return Promise.race([promise, timeout.promise]).finally(() => clearTimeout(timer));
};

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

/**
 * Calls the function of a route.
 * @returns the function's response
 * @throws Refused if the function returns no valid response
 */
export const integrate = async (
  { target, timeout }: RouteSpec,
  event: object,
  invoke: Invoker,
): Promise<HttpResponse> => {
  const result = await invoke(target, event, timeout);
  if (result === undefined) throw new Refused(responses.unavailable, `${target.functionName}: no response in time`);
  const response = responseOf(result);
  if (response === undefined) throw new Refused(responses.serverError, `${target.functionName}: malformed response`);
  return response;
};
