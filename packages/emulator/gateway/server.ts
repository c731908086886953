import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { printable } from '../command/text.ts';
import type { LogLine } from '../lambda/functions.ts';
import { otherHostOf } from '../servers.ts';
import type { Respond, Responded } from './api.ts';
import { splitTarget } from './request.ts';
import { type HttpResponse, otherHost } from './response.ts';

/**
 * One request in the access log. `time` (ISO 8601) is when the request's headers arrived, and `milliseconds` how long the
 * response took from then.
 */
export type AccessLogLine = {
  time: string;
  method: string;
  path: string;
  status: number;
  milliseconds: number;
  requestId: string;
  /** Why the gateway itself sent an error response instead of a function's response. */
  error?: string;
  /** The first 4,000 characters of the body of a 4xx or 5xx. */
  errorBody?: string;
  /** The request's Origin, if CORS does not allow it. */
  refusedOrigin?: string;
  log: LogLine[];
};

export type GatewayOptions = {
  /** Handles a request with the API that is being served at that time; a reload may replace the API. */
  respond: Respond;
  onRequest: (logged: AccessLogLine) => void;
  /**
   * Called before the API handles a request. Returns true if `intercept` responds itself; the API then does nothing. It
   * must not throw, which would end the process.
   */
  intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** If true, nothing times out, so that a debugger can pause the functions. */
  debug?: boolean;
};

/** Emulates an API Gateway HTTP API with payload format 2.0. @returns a server that is not listening yet */
export const gateway = ({ respond, onRequest, intercept, debug }: GatewayOptions): Server => {
  const handle = async (request: IncomingMessage, serverResponse: ServerResponse): Promise<void> => {
    const [started, time] = [performance.now(), new Date().toISOString()];
    const other = otherHostOf(request);
    if (other === undefined && intercept?.(request, serverResponse)) return;
    const requestId = newRequestId();
    const log: LogLine[] = [];
    const { response, error, ...cors } =
      other === undefined ? await respond(request, requestId, log) : refuseHost(other, request.socket.localPort);
    send(serverResponse, requestId, response);
    // Read and discard the rest of a refused request's body. Otherwise, the connection could be reset before the client
    // has read the response.
    request.resume();
    const { method = '', url = '' } = request;
    const milliseconds = performance.now() - started;
    const { pathname: path } = splitTarget(url);
    const { status, body } = response;
    const errorBody = status >= 400 && { errorBody: String(body).slice(0, 4_000) };
    const logged = { time, method, path, status, milliseconds, requestId, log };
    try {
      await onRequest({ ...logged, ...(error && { error }), ...errorBody, ...cors });
    } catch (failure) {
      console.error(printable(`onRequest failed: ${inspect(failure)}`));
    }
  };

  // Node's limit for headers must exceed API Gateway's (10,240 bytes), so that `respond` can check the latter and
  // return a 431.
  const limits = debug ? { headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 } : {};
  return createServer({ maxHeaderSize: 64 * 1024, ...limits }, handle);
};

const refuseHost = (host: string, port?: number): Responded => ({
  response: otherHost(port),
  error: `the host ${host} is refused`,
});

/** Makes a request id that looks like API Gateway's: 15 characters and a `=`. */
const newRequestId = (): string => randomBytes(11).toString('base64');

const send = (target: ServerResponse, requestId: string, { status, headers, body }: HttpResponse): void => {
  // RFC 9110 section 8.6: a response with status 204 must not have a Content-Length.
  const length = status === 204 ? {} : { 'content-length': Buffer.byteLength(body) };
  target.writeHead(status, { ...headers, 'apigw-requestid': requestId, ...length });
  target.end(body);
};
