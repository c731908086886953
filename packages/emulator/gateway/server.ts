import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { LogLine } from '../lambda/functions.ts';
import { errorMessage, type Respond, type Responded } from './api.ts';
import { splitTarget } from './request.ts';
import { type HttpResponse, responses } from './response.ts';

/**
 * One request in the access log. `time` (ISO 8601) is when the request's headers arrived, and `milliseconds` how long the
 * response took from then.
 */
export type AccessLogEntry = {
  time: string;
  method: string;
  path: string;
  status: number;
  milliseconds: number;
  requestId: string;
  /** Why the gateway itself sent an error response instead of a function's response. */
  error?: string;
  /** The beginning of the body of a 4xx or 5xx. */
  errorBody?: string;
  /** The request's Origin, if CORS does not allow it. */
  refusedOrigin?: string;
  log: LogLine[];
};

/** In characters: enough for a message of ours, and little enough to keep 1,000 of them. */
const errorBodyLength = 4_000;

export type GatewayOptions = {
  /** Handles a request with the API that is being served at that time; a reload may replace the API. */
  respond: Respond;
  onRequest: (entry: AccessLogEntry) => void;
  /**
   * Called before the API handles a request. Returns true if `intercept` responds itself; the API then does nothing.
   */
  intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** If true, nothing times out, so that a debugger can pause the functions. */
  debug?: boolean;
};

/** Emulates an API Gateway HTTP API with payload format 2.0. @returns a server that is not listening yet */
export const gateway = ({ respond, onRequest, intercept, debug }: GatewayOptions): Server => {
  /**
   * The number of requests in progress on each connection. If it is not zero, the gateway must not send an error for
   * invalid bytes: the client would mistake the error for the response to a request in progress.
   */
  const inProgress = new WeakMap<Duplex, number>();
  const count = (socket: Duplex, change: number): void =>
    void inProgress.set(socket, (inProgress.get(socket) ?? 0) + change);

  const report = async (entry: AccessLogEntry): Promise<void> => {
    try {
      await onRequest(entry);
    } catch (error) {
      console.error('onRequest failed:', error);
    }
  };

  const handle = async (request: IncomingMessage, serverResponse: ServerResponse): Promise<void> => {
    const [started, time] = [performance.now(), new Date().toISOString()];
    let failure: Responded | undefined;
    try {
      if (intercept?.(request, serverResponse)) return;
    } catch (error) {
      failure = { response: responses.serverError, error: `intercept failed: ${errorMessage(error)}` };
    }
    const requestId = newRequestId();
    const log: LogLine[] = [];
    count(request.socket, 1);
    const { response, error, ...cors } = failure ?? (await respond(request, requestId, log));
    count(request.socket, -1);
    send(serverResponse, requestId, response);
    // Read and discard the rest of a refused request's body. Otherwise, the connection could be reset before the client
    // has read the response.
    request.resume();
    const { method = '', url = '' } = request;
    const milliseconds = performance.now() - started;
    const { pathname: path } = splitTarget(url);
    const { status, body } = response;
    const errorBody = status >= 400 && { errorBody: String(body).slice(0, errorBodyLength) };
    const entry = { time, method, path, status, milliseconds, requestId, log };
    void report({ ...entry, ...(error && { error }), ...errorBody, ...cors });
  };

  // Node's limit for headers must exceed API Gateway's (10,240 bytes), so that `respond` can check the latter and
  // return a 431. If headers exceed even Node's limit, the `clientError` listener sends the 431.
  const limits = debug ? { headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 } : {};
  const server = createServer({ maxHeaderSize: 64 * 1024, requireHostHeader: false, ...limits }, handle);
  server.on('checkExpectation', handle);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Node could not parse the data. If a request is in progress, close the connection without an error response: the
    // client would mistake that for the response to the request in progress.
    if (inProgress.get(socket) || !socket.writable) {
      socket.destroy();
      return;
    }
    const requestId = newRequestId();
    const response = error.code === 'HPE_HEADER_OVERFLOW' ? responses.headersTooLarge : responses.badRequest;
    const { status } = response;
    socket.end(messageOf(requestId, response));
    const measured = { time: new Date().toISOString(), milliseconds: 0, requestId };
    void report({ ...measured, method: '-', path: '-', status, error: error.message, log: [] });
  });
  return server;
};

/** Makes a request id that looks like API Gateway's: 15 characters and a `=`. */
const newRequestId = (): string => randomBytes(11).toString('base64');

const send = (target: ServerResponse, requestId: string, response: HttpResponse): void => {
  if (target.headersSent) {
    // `intercept` sent the beginning of a response, and then threw or returned false. Close the connection, so that the
    // client knows that the response is incomplete.
    target.destroy();
    return;
  }
  target.writeHead(response.status, headersOf(requestId, response));
  target.end(response.body);
};

const headersOf = (requestId: string, { status, headers, body }: HttpResponse) => {
  // RFC 9110 section 8.6: a response with status 204 must not have a Content-Length.
  const length = status === 204 ? {} : { 'content-length': Buffer.byteLength(body) };
  return { ...headers, 'apigw-requestid': requestId, ...length };
};

/** Formats a response as HTTP/1.1 text, for a connection whose request Node could not parse. */
const messageOf = (requestId: string, response: HttpResponse): string => {
  const { status, body } = response;
  const lines = Object.entries({ ...headersOf(requestId, response), connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
};
