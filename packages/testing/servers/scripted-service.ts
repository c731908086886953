import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { toJson } from '@lambda-service/client';
import { startServer } from './servers.ts';

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
  const port = await startServer(server);
  return { baseUrl: `http://127.0.0.1:${port}`, received, requests };
};
