import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { answers, type HttpAnswer } from './gateway-answer.ts';
import { splitTarget } from './gateway-event.ts';
import { answerRequest, type Invoke, Refused } from './gateway-route.ts';
import type { LogLine } from './lambda.ts';
import type { RouteSpec } from './stack.ts';

/** One request, as the access log tells it; `milliseconds` from its headers to the answer. */
export type AccessLogEntry = {
  method: string;
  path: string;
  status: number;
  milliseconds: number;
  requestId: string;
  /** Why the gateway answered in a function's place. */
  error?: string;
  log: LogLine[];
};

type GatewayOptions = {
  routes: RouteSpec[];
  invoke: Invoke;
  onRequest: (entry: AccessLogEntry) => void;
};

/** An API Gateway HTTP API with payload format 2.0, on 127.0.0.1. */
export const gateway = ({ routes, invoke, onRequest }: GatewayOptions): Server => {
  /** Connections with a request under way, whose answer must not be mixed with another. */
  const busy = new WeakSet<Duplex>();

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const started = performance.now();
    const requestId = newRequestId();
    const log: LogLine[] = [];
    let error = '';
    busy.add(request.socket);
    const instead = (thrown: unknown): HttpAnswer => {
      error = thrown instanceof Error ? thrown.message : String(thrown);
      return thrown instanceof Refused ? thrown.answer : answers.serverError;
    };
    const answer = await answerRequest(request, requestId, routes, invoke, log).catch(instead);
    busy.delete(request.socket);
    send(response, requestId, answer);
    // What is left of a refused body is read and dropped: a reset connection would take the answer along.
    request.resume();
    const { method = '', url = '' } = request;
    const milliseconds = performance.now() - started;
    const { pathname: path } = splitTarget(url);
    onRequest({ method, path, status: answer.status, milliseconds, requestId, log, ...(error && { error }) });
  };

  // The quota for headers is the gateway's; this limit only has to let it be reached, and be answered in the same way.
  const server = createServer({ maxHeaderSize: 64 * 1024, requireHostHeader: false }, handle);
  server.on('checkExpectation', handle);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Node's parser gave up. An answer now would be taken for that of the request under way.
    if (busy.has(socket) || !socket.writable) {
      socket.destroy();
      return;
    }
    const requestId = newRequestId();
    const { status, headers, body } =
      error.code === 'HPE_HEADER_OVERFLOW' ? answers.headersTooLarge : answers.badRequest;
    const lines = { ...headers, connection: 'close', 'apigw-requestid': requestId, 'content-length': body.length };
    const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} Error\r\n${head.join('')}\r\n${body}`);
    onRequest({ method: '-', path: '-', status, milliseconds: 0, requestId, error: error.message, log: [] });
  });
  return server;
};

/** 15 characters and a `=`, as API Gateway's. */
const newRequestId = (): string => randomBytes(11).toString('base64');

const send = (response: ServerResponse, requestId: string, { status, headers, body }: HttpAnswer): void => {
  response.writeHead(status, { ...headers, 'apigw-requestid': requestId, 'content-length': Buffer.byteLength(body) });
  response.end(body);
};
