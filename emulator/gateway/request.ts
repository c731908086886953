/** What the gateway does with one request: check limits, find the route, call the authorizer, call the integration. */
import type { IncomingMessage } from 'node:http';
import { account } from '../account.ts';
import type { LogLine, Outcome } from '../lambda/functions.ts';
import type { AuthorizerSpec, RouteSpec, Target } from '../served-stack.ts';
import { apiId, eventBody, type RequestEvent, requestEvent } from './event.ts';
import { answerOf, answers, type HttpAnswer } from './response.ts';

export type Invoke = (target: Target, event: unknown) => Promise<Outcome>;

/** Thrown if the gateway itself responds, instead of a function. The message goes to the access log. */
export class Refused extends Error {
  readonly answer: HttpAnswer;

  constructor(answer: HttpAnswer, message = '') {
    super(message);
    this.answer = answer;
  }
}

/** Quotas (bytes, milliseconds): https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html */
const limits = { requestLineAndHeaderValues: 10_240, body: 10 * 1024 * 1024, authorizerTimeout: 10_000 };

/** Invokes a function. @returns its result as JSON, or undefined if it takes longer than `timeout` milliseconds */
type Ask = (target: Target, event: unknown, timeout: number) => Promise<string | undefined>;

/** Handles one request. `log` receives what the functions log. @throws Refused if the gateway itself responds */
export const answerRequest = async (
  request: IncomingMessage,
  requestId: string,
  routes: RouteSpec[],
  invoke: Invoke,
  log: LogLine[],
): Promise<HttpAnswer> => {
  const ask: Ask = async (target, event, timeout) => {
    const outcome = await withTimeout(invoke(target, event), timeout);
    if (outcome === undefined) return undefined;
    log.push(...outcome.log);
    if ('result' in outcome) return outcome.result;
    throw new Refused(
      outcome.tooLarge ? answers.bodyTooLarge : answers.serverError,
      `${target.functionName}: ${outcome.failure}`,
    );
  };

  if (headBytes(request) > limits.requestLineAndHeaderValues) throw new Refused(answers.headersTooLarge);
  const event = eventOf(request, requestId);
  const route = routes.find(({ routeKey }) => routeKey === event.routeKey);
  if (route === undefined) throw new Refused(answers.notFound);
  const body = await readBody(request);
  const context = route.authorizer && (await authorize(event, route.authorizer, ask));
  const result = await ask(
    route.target,
    {
      ...event,
      ...(context && { requestContext: { ...event.requestContext, authorizer: { lambda: context } } }),
      ...eventBody(body, event.headers['content-type']),
    },
    route.timeout,
  );
  if (result === undefined) throw new Refused(answers.unavailable, `${route.target.functionName}: no response in time`);
  const answer = answerOf(result);
  if (answer === undefined) throw new Refused(answers.serverError, `${route.target.functionName}: malformed response`);
  return answer;
};

const eventOf = (request: IncomingMessage, requestId: string): RequestEvent => {
  try {
    return requestEvent(request, requestId);
  } catch {
    throw new Refused(answers.badRequest, 'the path has an invalid escape sequence');
  }
};

// Calls the authorizer and returns its context.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
const authorize = async (
  event: RequestEvent,
  { target, identitySources: [source = ''] }: AuthorizerSpec,
  ask: Ask,
): Promise<object> => {
  const { functionName } = target;
  const identity = event.headers[source.replace('$request.header.', '').toLowerCase()];
  if (identity === undefined || identity === '') throw new Refused(answers.unauthorized);
  const { method, path } = event.requestContext.http;
  const routeArn = `arn:aws:execute-api:${account.region}:${account.id}:${apiId}/$default/${method}${path}`;
  const authorizerEvent = { ...event, type: 'REQUEST', routeArn, identitySource: [identity] };
  const result = await ask(target, authorizerEvent, limits.authorizerTimeout);
  if (result === undefined) throw new Refused(answers.serverError, `${functionName}: no response within 10 s`);
  const verdict: unknown = JSON.parse(result);
  if (!isSimpleResponse(verdict)) throw new Refused(answers.serverError, `${functionName}: malformed response`);
  if (!verdict.isAuthorized) throw new Refused(answers.forbidden);
  return verdict.context ?? {};
};

type SimpleResponse = { isAuthorized: boolean; context?: object };

const isSimpleResponse = (value: unknown): value is SimpleResponse =>
  typeof value === 'object' &&
  value !== null &&
  'isAuthorized' in value &&
  typeof value.isAuthorized === 'boolean' &&
  (!('context' in value) || (typeof value.context === 'object' && value.context !== null));

/** Bytes of the request line and the header values: the gateway's quota counts these. */
const headBytes = (request: IncomingMessage): number => {
  const values = request.rawHeaders.filter((_, index) => index % 2 === 1);
  const requestLine = `${request.method} ${request.url} HTTP/${request.httpVersion}`;
  return [requestLine, ...values].reduce((sum, text) => sum + Buffer.byteLength(text, 'latin1'), 0);
};

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let length = 0;
  // Keep the stream after a refusal: destroying it would close the socket before the response is sent.
  const body: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  try {
    for await (const chunk of body) {
      length += chunk.length;
      if (length > limits.body) throw new Refused(answers.bodyTooLarge);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof Refused
      ? error
      : new Refused(answers.badRequest, 'the client closed the connection before the body ended');
  }
  return Buffer.concat(chunks);
};

/** Returns undefined if `promise` takes longer than `milliseconds`; its later result is ignored. */
const withTimeout = async <T>(promise: Promise<T>, milliseconds: number): Promise<T | undefined> => {
  const timeout = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => timeout.resolve(undefined), milliseconds);
  return Promise.race([promise, timeout.promise]).finally(() => clearTimeout(timer));
};
