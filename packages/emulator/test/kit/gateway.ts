/** Starts a gateway whose functions a test provides, and sends it requests as raw bytes. */
import { connect } from 'node:net';
import type { APIGatewayProxyEventV2, APIGatewayRequestAuthorizerEventV2 } from 'aws-lambda';
import { httpApi } from '../../gateway/api.ts';
import type { Invoke } from '../../gateway/invocation.ts';
import type { Clock } from '../../gateway/lambda-authorizer.ts';
import { type AccessLogLine, gateway } from '../../gateway/server.ts';
import type { Outcome } from '../../lambda/functions.ts';
import { type ApiSpec, defaultStage, type LambdaAuthorizerSpec, type RouteSpec } from '../../served-stack.ts';
import { account } from './templates.ts';
import { startServer } from './temporary.ts';

export type Response = { status: number; headers: Record<string, string>; body: string };

export const targetOf = (functionName: string) => ({ functionName, arn: functionName, version: '$LATEST' });

const noHeaders = { allowMethods: [], allowHeaders: [], exposeHeaders: [], allowCredentials: false };
/** Allows each origin, and nothing else. */
export const anyOrigin = { ...noHeaders, allowOrigins: ['*'] };

export const serverError = { status: 500, body: '{"message":"Internal Server Error"}' };

export const openRoute = (routeKey: string): RouteSpec => ({ routeKey, target: targetOf('Orders'), timeout: 30_000 });

/** An authorizer that returns isAuthorized, and whose results are not cached. Requests need an Authorization header. */
export const authorizer: LambdaAuthorizerSpec = {
  target: targetOf('Authorizer'),
  identitySources: ['$request.header.Authorization'],
  format: '2.0',
  isSimple: true,
  ttl: 0,
};

/**
 * A route to the function Orders, with the function Authorizer as its authorizer. Requests need an Authorization
 * header.
 */
export const route: RouteSpec = { ...openRoute('POST /orders'), authorizer };

export const allow = { isAuthorized: true, context: { sub: 'me' } };
/** Makes an `invoke` whose authorizer allows each request. `invokeOrders` stands for the function. */
export const allowing =
  (invokeOrders: () => Promise<Outcome>) =>
  (name: string): Promise<Outcome> =>
    name === 'Authorizer' ? Promise.resolve(asJson(allow)) : invokeOrders();

export const asJson = (value: unknown): Outcome => ({ result: JSON.stringify(value), log: [] });

/**
 * What each function returns. If `invoke` is set, it is called instead. An instance is free once `begin` resolves.
 */
type Functions = { [name: string]: unknown; invoke?: (name: string) => Promise<Outcome>; begin?: Promise<void> };

type Options = Partial<Parameters<typeof gateway>[0]> & { clock?: Clock };

/**
 * Starts a gateway that serves `api` until the test ends.
 * @returns the port, `send`, the access log, the names of the functions that were called, and the first events of Orders
 * and Authorizer
 */
export const start = async (functions: Functions = {}, api: Partial<ApiSpec> = {}, options: Options = {}) => {
  const called: string[] = [];
  const events: Record<string, unknown> = {};
  const log: AccessLogLine[] = [];
  const results: Record<string, unknown> = { Authorizer: allow, Orders: { statusCode: 200, body: 'ok' }, ...functions };
  const invoke: Invoke = async ({ functionName: name }, event, onStart) => {
    called.push(name);
    void (functions.begin ?? Promise.resolve()).then(onStart);
    events[name] ??= JSON.parse(JSON.stringify(event));
    return functions.invoke ? functions.invoke(name) : asJson(results[name]);
  };
  const respond = httpApi({ account, stages: [defaultStage], routes: [route], ...api }, invoke, options, options.clock);
  const server = gateway({ respond, onRequest: (line) => log.push(line), ...options });
  const port = await startServer(server);
  return {
    port,
    /** Sends a request. `requestLine` is, for example, GET /orders. */
    send: (requestLine: string, headers: string[] = [], body: string | Buffer = '') => {
      const length = `Content-Length: ${Buffer.byteLength(body)}`;
      const head = [`${requestLine} HTTP/1.1`, 'Host: localhost:80', 'Connection: close', ...headers, length, '', ''];
      return exchange(port, head.join('\r\n'), body);
    },
    log,
    called,
    event: () => events['Orders'] as APIGatewayProxyEventV2,
    authorizerEvent: () => events['Authorizer'] as APIGatewayRequestAuthorizerEventV2,
  };
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

export const token = 'Authorization: Bearer t';

/** Starts a gateway, and sends it a request without a body. @returns what `start` returns, and the response */
export const ask = async (
  functions: Functions,
  api: Partial<ApiSpec> = {},
  requestLine = 'POST /orders',
  headers = [token],
) => {
  const started = await start(functions, api);
  return { ...started, ...(await started.send(requestLine, headers)) };
};

export const json = 'Content-Type: application/json';
