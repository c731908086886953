import { readPolicy } from '../policy.ts';
import { type Account, type LambdaAuthorizerSpec, type RouteSpec, type Statement, stagePath } from '../served-stack.ts';
import type { Invoker } from './invocation.ts';
import { headersOf, identityOf, type RequestEvent } from './request.ts';
import { isObject, Refused, responses } from './response.ts';

/** Returns the time in milliseconds since 1970. */
export type Clock = () => number;

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
    return readVerdict(name, JSON.parse(result), isSimple);
  };

  return async (event, _, invoke) => {
    const identity = identitySources.map((source) => {
      const value = identityOf(event, source);
      if (value !== undefined) return value;
      const missing = source
        .replace('$request.header.', 'header ')
        .replace('$request.querystring.', 'query parameter ');
      // What is missing comes first, because a terminal may cut the line.
      throw new Refused(responses.unauthorized, `no ${missing}, so the authorizer is not called`);
    });
    const { apiId, stage, http } = event.requestContext;
    const path = http.path.slice(stagePath(stage).length) || '/';
    const arn = `arn:aws:execute-api:${region}:${id}:${apiId}/${stage}/${http.method}${path}`;
    const [key, now] = [JSON.stringify(identity), clock()];
    let { verdict, expires = 0 } = cache.get(key) ?? {};
    if (verdict === undefined || expires <= now) {
      verdict = await ask((format === '1.0' ? event1 : event2)(event, identity, arn), invoke);
      for (const [old, kept] of cache) if (kept.expires <= now) cache.delete(old);
      cache.set(key, { verdict, expires: now + ttl });
    }
    if (verdict.allows(arn)) return { lambda: verdict.context };
    throw new Refused(responses.forbidden, `${name}: its response, which may be cached, does not allow ${arn}`);
  };
};

/**
 * Reads the response of the authorizer `name`. One that may return isAuthorized may still return a policy:
 * https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/apis-apiid-authorizers.html
 * @throws Error if the response is malformed
 */
const readVerdict = (name: string, response: unknown, isSimple: boolean): Verdict => {
  const { isAuthorized, principalId, policyDocument, context = null } = isObject(response) ? response : {};
  const isContext = context === null || isObject(context);
  if (isContext && isSimple && typeof isAuthorized === 'boolean') return { allows: () => isAuthorized, context };
  const form = `${isSimple ? 'isAuthorized, or ' : ''}principalId and policyDocument, and perhaps an object context`;
  if (!isContext || typeof principalId !== 'string' || !isObject(policyDocument))
    throw new Error(`${name}: its response must be an object with ${form}`);
  const policy = readPolicy([policyDocument['Statement']].flat().map((each) => readStatement(name, each)));
  return { allows: (arn) => policy('execute-api:Invoke', arn) === 'allowed', context };
};

/** Reads a statement of an IAM policy. @throws Error if it is malformed, or has a part that is not evaluated here */
const readStatement = (name: string, statement: unknown): Statement => {
  const { Sid: _, Effect: effect, Action, Resource, ...others } = isObject(statement) ? statement : {};
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error(`${name}: its policy has a ${other}, which is not evaluated here`);
  const [actions, resources] = [[Action].flat(), [Resource].flat()];
  const areTexts = (values: unknown[]): values is string[] => values.every((value) => typeof value === 'string');
  if ((effect === 'Allow' || effect === 'Deny') && areTexts(actions) && areTexts(resources))
    return { effect, actions, resources };
  throw new Error(`${name}: its response has a statement without a valid Effect, Action and Resource`);
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
  const { queryStringParameters = {}, pathParameters = {}, routeKey, requestContext } = event;
  const { accountId, apiId, stage, requestId, http } = requestContext;
  const { method: httpMethod, path, sourceIp, userAgent } = http;
  const resource = routeKey.replace(/^\S+ /, '');
  const identitySource = identity.join();
  const authorization = { methodArn, identitySource, authorizationToken: identitySource };
  const request = { resource, path, httpMethod, headers: headersOf(event), queryStringParameters, pathParameters };
  const context = { path, httpMethod, accountId, apiId, stage, requestId, resourcePath: resource };
  const identified = { ...context, identity: { sourceIp, userAgent } };
  return { version: '1.0', type: 'REQUEST', ...authorization, ...request, requestContext: identified };
};
