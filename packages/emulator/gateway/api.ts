import type { IncomingMessage } from 'node:http';
import type { FunctionOptions, LogLine } from '../lambda/functions.ts';
import type { Account, ApiSpec, AuthorizerSpec } from '../served-stack.ts';
import { applyCors, isPreflight, refusedOrigin } from './cors.ts';
import { type Invoke, type Invoker, integrate, makeInvoker } from './invocation.ts';
import { type Authorize, type Clock, lambdaAuthorizer } from './lambda-authorizer.ts';
import { checkHead, eventBody, readEventBody, readTarget, requestEvent } from './request.ts';
import { type HttpResponse, notServed, Refused, responses } from './response.ts';
import { routeFinder } from './routes.ts';

/**
 * The response to a request. `error` says why the gateway responded instead of a function, and `refusedOrigin` is the
 * origin that CORS does not allow.
 */
export type Responded = { response: HttpResponse; error?: string; refusedOrigin?: string };

/** Responds to one request. `log` receives the lines that the functions log. */
export type Respond = (request: IncomingMessage, requestId: string, log: LogLine[]) => Promise<Responded>;

/** Makes a function that handles a request as the gateway does: it calls the route's authorizer and function. */
export const httpApi = (
  { account, stages, routes, cors }: ApiSpec,
  invoke: Invoke,
  { debug = false }: Pick<FunctionOptions, 'debug'> = {},
  clock: Clock = Date.now,
): Respond => {
  const find = routeFinder(routes);
  const specs = new Set(routes.flatMap(({ authorizer }) => authorizer ?? []));
  const authorizers = new Map(Array.from(specs, (spec) => [spec, makeAuthorizer(spec, account, clock)]));

  const handle = async (request: IncomingMessage, requestId: string, invoker: Invoker): Promise<HttpResponse> => {
    checkHead(request);
    const target = readTarget(request, stages);
    const match = find(request.method ?? '', target.segments);
    const preflight = cors !== undefined && isPreflight(request);
    // A preflight request must pass the authorizer, if any, of the route that it matches. AWS documents this for the
    // route $default (link in cors.ts).
    if (preflight && match?.route.authorizer === undefined) return responses.noContent;
    if (match === undefined) throw new Refused(responses.notFound);
    const { route } = match;
    if (route.leftOut !== undefined) throw new Refused(notServed(route.leftOut), route.leftOut);
    const body = await readEventBody(request);
    const event = requestEvent(request, requestId, account, target, match, body.length);
    const authorize = route.authorizer && (await authorizers.get(route.authorizer));
    const authorizer = await authorize?.(event, route, invoker);
    if (preflight) return responses.noContent;
    const requestContext = { ...event.requestContext, ...(authorizer && { authorizer }) };
    return integrate(route, { ...event, requestContext, ...eventBody(body, event.headers['content-type']) }, invoker);
  };

  return async (request, requestId, log) => {
    const responded = await handle(request, requestId, makeInvoker(invoke, log, debug)).then(
      (response): Responded => ({ response }),
      failed,
    );
    const refused = refusedOrigin(cors, request);
    return {
      ...responded,
      ...(cors && { response: applyCors(cors, request, responded.response) }),
      ...(refused !== undefined && { refusedOrigin: refused }),
    };
  };
};

/** Makes an authorizer. jose is imported only if it is needed, because that takes time. */
const makeAuthorizer = async (spec: AuthorizerSpec, account: Account, clock: Clock): Promise<Authorize> =>
  spec.target
    ? lambdaAuthorizer(spec, account, clock)
    : (await import('./jwt-authorizer.ts')).jwtAuthorizer(spec, clock);

const failed = (thrown: unknown): Responded => ({
  response: thrown instanceof Refused ? thrown.response : responses.serverError,
  error: thrown instanceof Error ? thrown.message : String(thrown),
});
