import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toJson } from '@lambda-service/client';
import { onTestFinished } from 'vitest';

type Received = { authorization: string | undefined; body: string };

type Respond = (response: ServerResponse, request: IncomingMessage) => unknown;

export const answer =
  (status: number, body: unknown, headers: Record<string, string> = {}): Respond =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(toJson(body));

/** Starts a service that sends these responses, one for each request, and then repeats the last one. */
export const startScriptedService = async (...responses: [Respond, ...Respond[]]) => {
  const received: Received[] = [];
  const requests: IncomingMessage[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    requests.push(request);
    received.push({ authorization: request.headers.authorization, body });
    const [next = responses[0]] = responses.length > 1 ? responses.splice(0, 1) : responses;
    next(response, request);
  });
  const port = await listenUntilTestEnds(server);
  return { baseUrl: `http://127.0.0.1:${port}`, received, requests };
};

const listenUntilTestEnds = async (server: Server): Promise<number> => {
  // Keep idle connections: on a busy machine, the server would otherwise close one that the client is about to use.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
};
