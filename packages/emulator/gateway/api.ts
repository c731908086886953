import type { IncomingMessage } from 'node:http';
import type { LogLine } from '../lambda/functions.ts';
import type { Account, ApiSpec, AuthorizerSpec, CorsSpec } from '../served-stack.ts';
import { applyCors, isPreflight, refusedOrigin } from './cors.ts';
import { type Invoke, type Invoker, integrate, makeInvoker } from './invocation.ts';
import { type Authorize, lambdaAuthorizer } from './lambda-authorizer.ts';
import { checkHead, eventBody, readEventBody, readTarget, requestEvent } from './request.ts';
import { type HttpResponse, notServed, Refused, responses } from './response.ts';
import { bucketsOf, type Clock, type FindRoute, routeFinder } from './routes.ts';

/**
 * The response to a request. `error` says why the gateway responded instead of a function, and `refusedOrigin` is the
 * origin that CORS does not allow.
 */
export type Responded = { response: HttpResponse; error?: string; refusedOrigin?: string };

/** Responds to one request. `log` receives the lines that the functions log. */
export type Respond = (request: IncomingMessage, requestId: string, log: LogLine[]) => Promise<Responded>;

export type HttpApiOptions = {
  /** Whether requests that exceed the stage's throttling limits get a 429, as on AWS. */
  throttle?: boolean;
  /** If true, neither functions nor requests time out, so that a debugger can pause the functions. */
  debug?: boolean;
  clock?: Clock;
};

/** Handles a request as the gateway does: checks it, selects the route, calls the route's authorizer and function. */
export class HttpApi {
  readonly #invoke: Invoke;
  readonly #debug: boolean;
  readonly #account: Account;
  readonly #find: FindRoute;
  readonly #cors: CorsSpec | undefined;
  readonly #buckets: ReturnType<typeof bucketsOf>;
  readonly #authorizers: Map<AuthorizerSpec | undefined, Promise<Authorize>>;

  constructor(
    { account, routes, cors }: ApiSpec,
    invoke: Invoke,
    { throttle = false, clock = Date.now, debug = false }: HttpApiOptions = {},
  ) {
    this.#invoke = invoke;
    this.#debug = debug;
    this.#account = account;
    this.#find = routeFinder(routes);
    this.#cors = cors;
    this.#buckets = throttle ? bucketsOf(routes, clock) : new Map();
    const specs = new Set(routes.flatMap(({ authorizer }) => authorizer ?? []));
    this.#authorizers = new Map(Array.from(specs, (spec) => [spec, makeAuthorizer(spec, account, clock)]));
  }

  readonly respond: Respond = async (request, requestId, log) => {
    const responded = await this.#handle(request, requestId, makeInvoker(this.#invoke, log, this.#debug)).then(
      (response): Responded => ({ response }),
      failed,
    );
    const refused = refusedOrigin(this.#cors, request);
    return {
      ...responded,
      ...(this.#cors && { response: applyCors(this.#cors, request, responded.response) }),
      ...(refused !== undefined && { refusedOrigin: refused }),
    };
  };

  async #handle(request: IncomingMessage, requestId: string, invoke: Invoker): Promise<HttpResponse> {
    checkHead(request);
    const target = readTarget(request);
    const match = this.#find(request.method ?? '', target.segments);
    const preflight = this.#cors !== undefined && isPreflight(request);
    // A preflight request must pass the authorizer, if any, of the route that it matches. AWS documents this for the
    // route $default (link in cors.ts).
    if (preflight && match?.route.authorizer === undefined) return responses.noContent;
    if (match === undefined) throw new Refused(responses.notFound);
    const { route } = match;
    if (route.leftOut !== undefined) throw new Refused(notServed(route.leftOut), route.leftOut);
    if (this.#buckets.get(route)?.take() === false) throw new Refused(responses.tooManyRequests);
    const event = requestEvent(request, requestId, this.#account, target, match);
    const body = await readEventBody(request);
    const authorizer = await (await this.#authorizers.get(route.authorizer))?.(event, route, invoke);
    if (preflight) return responses.noContent;
    const requestContext = { ...event.requestContext, ...(authorizer && { authorizer }) };
    return integrate(route, { ...event, requestContext, ...eventBody(body, event.headers['content-type']) }, invoke);
  }
}

/** Makes an authorizer. jose is imported only if it is needed, because that takes time. */
const makeAuthorizer = async (spec: AuthorizerSpec, account: Account, clock: Clock): Promise<Authorize> =>
  spec.target
    ? lambdaAuthorizer(spec, account, clock)
    : (await import('./jwt-authorizer.ts')).jwtAuthorizer(spec, clock);

const failed = (thrown: unknown): Responded => ({
  response: thrown instanceof Refused ? thrown.response : responses.serverError,
  error: errorMessage(thrown),
});

export const errorMessage = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
