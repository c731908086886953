/** Starts a gateway whose functions a test provides, and sends it requests as raw bytes. */
import { connect } from 'node:net';
import { HttpApi } from '../../gateway/api.ts';
import type { Invoke } from '../../gateway/invocation.ts';
import { type AccessLogEntry, gateway } from '../../gateway/server.ts';
import type { Clock } from '../../gateway/throttle.ts';
import type { Outcome } from '../../lambda/functions.ts';
import type { ApiSpec, RouteSpec, Target } from '../../served-stack.ts';
import { startServer } from './servers.ts';

export type Response = { status: number; headers: Record<string, string>; body: string };

export const targetOf = (functionName: string): Target => ({ functionName, arn: functionName, version: '$LATEST' });

/**
 * A route to the function Orders, with the function Authorizer as its authorizer. Requests need an Authorization
 * header.
 */
export const route: RouteSpec = {
  routeKey: 'POST /orders',
  target: targetOf('Orders'),
  timeout: 30_000,
  authorizer: { target: targetOf('Authorizer'), identitySources: ['$request.header.Authorization'] },
};

export const openRoute = (routeKey: string): RouteSpec => ({ routeKey, target: targetOf('Orders'), timeout: 30_000 });

export const allow = { isAuthorized: true, context: { sub: 'me' } };
export const asJson = (value: unknown): Outcome => ({ result: JSON.stringify(value), log: [] });

/** What the functions Authorizer and Orders return. If `invoke` is set, it is called instead of both. */
type Functions = { Authorizer?: unknown; Orders?: unknown; invoke?: (name: string) => Promise<Outcome> };

/**
 * Starts a gateway that serves `api` until the test ends.
 * @returns the port, the access log, the functions' events, and `event`, which returns the first event of the function
 * with a given name
 */
export const start = async (
  functions: Functions = {},
  api: Partial<ApiSpec> = {},
  { throttleClock, ...options }: Partial<Parameters<typeof gateway>[0]> & { throttleClock?: Clock } = {},
) => {
  const events: { name: string; event: never }[] = [];
  const log: AccessLogEntry[] = [];
  const results: Record<string, unknown> = { Authorizer: allow, Orders: { statusCode: 200, body: 'ok' }, ...functions };
  const invoke: Invoke = async ({ functionName: name }, event) => {
    events.push({ name, event: JSON.parse(JSON.stringify(event)) as never });
    return functions.invoke ? functions.invoke(name) : asJson(results[name]);
  };
  const { respond } = new HttpApi({ routes: [route], ...api }, invoke, throttleClock, options.debug);
  const server = gateway({ respond, onRequest: (entry) => log.push(entry), ...options });
  const port = await startServer(server);
  const event = <T>(name: string): T => events.find((each) => each.name === name)?.event as T;
  return { port, log, events, event };
};

/** Sends `parts` as raw bytes over TCP, and waits until the connection is closed. @returns the response */
export const exchange = async (port: number, ...parts: (string | Buffer)[]): Promise<Response> => {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {});
  for (const part of parts) socket.write(part);
  await new Promise((resolve) => socket.on('close', resolve));
  const [head = '', ...body] = Buffer.concat(chunks).toString().split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: Object.fromEntries(
      lines.map((line) => line.split(': ')).map(([name = '', value = '']) => [name.toLowerCase(), value]),
    ),
    body: body.join('\r\n\r\n'),
  };
};

/** Sends a request without a body. `requestLine` is, for example, GET /orders. */
export const send = (port: number, requestLine: string, headers: string[] = []): Promise<Response> =>
  exchange(
    port,
    [`${requestLine} HTTP/1.1`, 'Host: api.example:80', 'Connection: close', ...headers, '', ''].join('\r\n'),
  );

/** Sends a POST request with a body to /orders, or to another target. */
export const post = (port: number, body: string | Buffer, headers: string[] = [], target = '/orders') =>
  exchange(
    port,
    [
      `POST ${target} HTTP/1.1`,
      'Host: api.example:80',
      'Connection: close',
      ...headers,
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      '',
    ].join('\r\n'),
    body,
  );

export const token = 'Authorization: Bearer t';
export const json = 'Content-Type: application/json';
