import type { IncomingMessage } from 'node:http';
import type { LogLine } from '../lambda/functions.ts';
import type { ApiSpec } from '../served-stack.ts';
import { authorize } from './authorizer.ts';
import { eventBody, requestEvent } from './event.ts';
import { type Ask, asking, type Invoke } from './invocation.ts';
import { checkHead, readBody, readTarget } from './request.ts';
import { type HttpResponse, Refused, responseOf, responses } from './response.ts';
import { RouteTable } from './routes.ts';

/** The response to a request. `error` says why the gateway responded instead of a function. */
type Responded = { response: HttpResponse; error?: string };

/** What the gateway does with one request: check it, select the route, call the authorizer, call the integration. */
export class HttpApi {
  readonly #invoke: Invoke;
  readonly #routes: RouteTable;

  constructor({ routes }: ApiSpec, invoke: Invoke) {
    this.#invoke = invoke;
    this.#routes = new RouteTable(routes);
  }

  /** Responds to one request. `log` receives what the functions log. */
  async respond(request: IncomingMessage, requestId: string, log: LogLine[]): Promise<Responded> {
    try {
      return { response: await this.#integrate(request, requestId, asking(this.#invoke, log)) };
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      return { response: thrown instanceof Refused ? thrown.response : responses.serverError, error };
    }
  }

  async #integrate(request: IncomingMessage, requestId: string, ask: Ask): Promise<HttpResponse> {
    checkHead(request);
    const target = readTarget(request);
    const match = this.#routes.find(request.method ?? '', target.segments);
    if (match === undefined) throw new Refused(responses.notFound);
    const { route } = match;
    const event = requestEvent(request, requestId, target, match);
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
    const { functionName } = route.target;
    if (result === undefined) throw new Refused(responses.unavailable, `${functionName}: no response in time`);
    const response = responseOf(result);
    if (response === undefined) throw new Refused(responses.serverError, `${functionName}: malformed response`);
    return response;
  }
}
