import { readPolicy } from '../policy.ts';
import type { Account, LambdaAuthorizerSpec, RouteSpec, Statement } from '../served-stack.ts';
import type { Invoker } from './invocation.ts';
import { apiId, identityOf, type RequestEvent } from './request.ts';
import { isObject, Refused, responses } from './response.ts';
import type { Clock } from './routes.ts';

/** Authorizes requests. `authorize` returns the `authorizer` of the event's request context, or throws Refused. */
export type Authorizer = { authorize: (event: RequestEvent, route: RouteSpec, invoke: Invoker) => Promise<object> };

/** What a function has decided: whether it allows a request, by its ARN, and what it tells the route's function. */
type Verdict = { allows: (arn: string) => boolean; context: object };

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
export class LambdaAuthorizer implements Authorizer {
  readonly #spec: LambdaAuthorizerSpec;
  readonly #account: Account;
  readonly #clock: Clock;
  /** The verdicts by the values of the identity sources. With a TTL of 0, each has expired when it is added. */
  readonly #cache = new Map<string, { verdict: Verdict; expires: number }>();

  constructor(spec: LambdaAuthorizerSpec, account: Account, clock: Clock) {
    this.#spec = spec;
    this.#account = account;
    this.#clock = clock;
  }

  async authorize(event: RequestEvent, _: RouteSpec, invoke: Invoker): Promise<object> {
    const identity = this.#spec.identitySources.map((source) => {
      const value = identityOf(event, source);
      if (value === undefined) throw new Refused(responses.unauthorized);
      return value;
    });
    const { method, path } = event.requestContext.http;
    const { id, region } = this.#account;
    const arn = `arn:aws:execute-api:${region}:${id}:${apiId}/$default/${method}${path}`;
    const { allows, context } = await this.#decide(JSON.stringify(identity), () =>
      this.#ask(this.#spec.format === '1.0' ? event1(event, identity, arn) : event2(event, identity, arn), invoke),
    );
    if (!allows(arn)) throw new Refused(responses.forbidden);
    return { lambda: context };
  }

  async #decide(key: string, ask: () => Promise<Verdict>): Promise<Verdict> {
    const now = this.#clock();
    const cached = this.#cache.get(key);
    if (cached && cached.expires > now) return cached.verdict;
    const verdict = await ask();
    for (const [old, { expires }] of this.#cache) if (expires <= now) this.#cache.delete(old);
    this.#cache.set(key, { verdict, expires: now + this.#spec.ttl });
    return verdict;
  }

  /** @throws Refused if the function fails, or returns something else than its authorizer must */
  async #ask(event: object, invoke: Invoker): Promise<Verdict> {
    const { target, isSimple } = this.#spec;
    const result = await invoke(target, event, authorizerTimeout);
    const fail = (reason: string) => new Refused(responses.serverError, `${target.functionName}: ${reason}`);
    if (result === undefined) throw fail('no response within 10 s');
    const response: unknown = JSON.parse(result);
    const context = isObject(response) ? (response['context'] ?? {}) : undefined;
    if (!isObject(response) || !isObject(context)) throw fail('its response, or the context in it, is not an object');
    if (isSimple) {
      const { isAuthorized } = response;
      if (typeof isAuthorized !== 'boolean') throw fail('its response has no isAuthorized, which is true or false');
      return { allows: () => isAuthorized, context };
    }
    const { principalId, policyDocument } = response;
    const statements = isObject(policyDocument) ? [policyDocument['Statement']].flat().map(readStatement) : [undefined];
    if (typeof principalId !== 'string' || !statements.every((each) => each !== undefined))
      throw fail('its response has no principalId, or no policyDocument of Effect, Action and Resource only');
    const policy = readPolicy(statements);
    return { allows: (arn) => policy('execute-api:Invoke', arn) === 'allowed', context };
  }
}

/** Reads a statement of an IAM policy. @returns undefined if it is malformed, or has a part that is not evaluated here */
const readStatement = (statement: unknown): Statement | undefined => {
  if (!isObject(statement)) return undefined;
  const { Sid: _, Effect: effect, Action, Resource, ...others } = statement;
  const [actions, resources] = [[Action].flat(), [Resource].flat()];
  const areTexts = (values: unknown[]): values is string[] => values.every((value) => typeof value === 'string');
  if (!areTexts(actions) || !areTexts(resources) || Object.keys(others).length > 0) return undefined;
  return effect === 'Allow' || effect === 'Deny' ? { effect, actions, resources } : undefined;
};

const event2 = (event: RequestEvent, identitySource: string[], routeArn: string): object => ({
  ...event,
  type: 'REQUEST',
  routeArn,
  identitySource,
});

/** The event with payload format 1.0. AWS documents its fields, but not the value of `resourceId`, which is missing. */
const event1 = (event: RequestEvent, identity: string[], methodArn: string): object => {
  const { headers, queryStringParameters = {}, pathParameters = {}, routeKey, requestContext } = event;
  const { accountId, stage, requestId, http } = requestContext;
  const resource = routeKey.replace(/^\S+ /, '');
  return {
    version: '1.0',
    type: 'REQUEST',
    methodArn,
    identitySource: identity.join(),
    authorizationToken: identity.join(),
    resource,
    path: http.path,
    httpMethod: http.method,
    headers,
    queryStringParameters,
    pathParameters,
    requestContext: {
      path: http.path,
      accountId,
      stage,
      requestId,
      identity: { sourceIp: http.sourceIp, userAgent: http.userAgent },
      resourcePath: resource,
      httpMethod: http.method,
      apiId,
    },
  };
};
