import { readPolicy } from '../policy.ts';
import type { Account, LambdaAuthorizerSpec, RouteSpec, Statement } from '../served-stack.ts';
import type { Invoker } from './invocation.ts';
import { identityOf, type RequestEvent } from './request.ts';
import { isObject, Refused, responses } from './response.ts';
import type { Clock } from './routes.ts';

/** Authorizes a request. @returns the `authorizer` of the event's request context @throws Refused */
export type Authorize = (event: RequestEvent, route: RouteSpec, invoke: Invoker) => Promise<object>;

/**
 * What a function has decided: whether it allows a request, by its ARN, and what it tells the route's function: null, if
 * it has returned no context. (AWS's Powertools for Lambda document the null in their schema of the event.)
 */
type Verdict = { allows: (arn: string) => boolean; context: object | null };

/**
 * How long API Gateway waits for an authorizer, in milliseconds:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
 */
const authorizerTimeout = 10_000;

/**
 * Asks a function about each request, and keeps its verdicts until their TTL is over. As on AWS, the identity sources
 * alone are the key, so a verdict also holds for other routes.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
 */
export const lambdaAuthorizer = (spec: LambdaAuthorizerSpec, { id, region }: Account, clock: Clock): Authorize => {
  const { target, identitySources, format, isSimple, ttl } = spec;
  const name = target.functionName;
  // With a TTL of 0, each verdict has expired when it is added.
  const cache = new Map<string, { verdict: Verdict; expires: number }>();

  const ask = async (event: object, invoke: Invoker): Promise<Verdict> => {
    const result = await invoke(target, event, authorizerTimeout);
    if (result === undefined) throw new Refused(responses.serverError, `${name}: no response within 10 s`);
    const verdict = readVerdict(JSON.parse(result), isSimple);
    if (verdict) return verdict;
    const form = isSimple ? 'isAuthorized' : 'principalId and policyDocument (of Effect, Action and Resource)';
    throw new Refused(responses.serverError, `${name}: its response must be an object with ${form}`);
  };

  return async (event, _, invoke) => {
    const identity = identitySources.map((source) => identityOf(event, source));
    if (!identity.every((value) => value !== undefined)) throw new Refused(responses.unauthorized);
    const { apiId, http } = event.requestContext;
    const arn = `arn:aws:execute-api:${region}:${id}:${apiId}/$default/${http.method}${http.path}`;
    const [key, now] = [JSON.stringify(identity), clock()];
    let { verdict, expires = 0 } = cache.get(key) ?? {};
    if (verdict === undefined || expires <= now) {
      verdict = await ask((format === '1.0' ? event1 : event2)(event, identity, arn), invoke);
      for (const [old, { expires }] of cache) if (expires <= now) cache.delete(old);
      cache.set(key, { verdict, expires: now + ttl });
    }
    if (verdict.allows(arn)) return { lambda: verdict.context };
    const reason = `${name}: its policy, which may be cached, does not allow ${arn}`;
    throw new Refused(responses.forbidden, isSimple ? '' : reason);
  };
};

/** Reads the response of an authorizer. @returns undefined if it is malformed */
const readVerdict = (response: unknown, isSimple: boolean): Verdict | undefined => {
  if (!isObject(response)) return undefined;
  const { isAuthorized, principalId, policyDocument, context = null } = response;
  if (context !== null && !isObject(context)) return undefined;
  if (isSimple) return typeof isAuthorized === 'boolean' ? { allows: () => isAuthorized, context } : undefined;
  const statements = isObject(policyDocument) ? [policyDocument['Statement']].flat().map(readStatement) : [undefined];
  if (typeof principalId !== 'string' || !statements.every((each) => each !== undefined)) return undefined;
  const policy = readPolicy(statements);
  return { allows: (arn) => policy('execute-api:Invoke', arn) === 'allowed', context };
};

/** Reads a statement of an IAM policy. @returns undefined if it is malformed, or has a part that is not evaluated here */
const readStatement = (statement: unknown): Statement | undefined => {
  if (!isObject(statement)) return undefined;
  const { Sid: _, Effect: effect, Action, Resource, ...others } = statement;
  const [actions, resources] = [[Action].flat(), [Resource].flat()];
  const areTexts = (values: unknown[]): values is string[] => values.every((value) => typeof value === 'string');
  if (!areTexts(actions) || !areTexts(resources) || Object.keys(others).length > 0) return undefined;
  return effect === 'Allow' || effect === 'Deny' ? { effect, actions, resources } : undefined;
};

/**
 * The event with payload format 2.0. AWS does not document that `identitySource` may be null; AWS's Powertools know it:
 * https://github.com/aws-powertools/powertools-lambda-typescript/issues/3483
 */
const event2 = (event: RequestEvent, identity: string[], routeArn: string): object => {
  const identitySource = identity.length > 0 ? identity : null;
  return { ...event, type: 'REQUEST', routeArn, identitySource };
};

/** The event with payload format 1.0. AWS documents its fields, but not the value of `resourceId`, which is missing. */
const event1 = (event: RequestEvent, identity: string[], methodArn: string): object => {
  const { headers, queryStringParameters = {}, pathParameters = {}, routeKey, requestContext } = event;
  const { accountId, apiId, stage, requestId, http } = requestContext;
  const { method: httpMethod, path, sourceIp, userAgent } = http;
  const resource = routeKey.replace(/^\S+ /, '');
  const identitySource = identity.join();
  const authorization = { methodArn, identitySource, authorizationToken: identitySource };
  const request = { resource, path, httpMethod, headers, queryStringParameters, pathParameters };
  const context = { path, httpMethod, accountId, apiId, stage, requestId, resourcePath: resource };
  const identified = { ...context, identity: { sourceIp, userAgent } };
  return { version: '1.0', type: 'REQUEST', ...authorization, ...request, requestContext: identified };
};
