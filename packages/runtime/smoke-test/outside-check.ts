import { request } from 'node:https';
import { fromEnvironment } from '../environment.ts';
import { forgedToken } from './events.ts';

/** Milliseconds for one request. The gateway waits 10 s for an authorizer. */
export const timeout = 11_000;

/**
 * Makes a handler that calls the API at API_URL as a stranger, who must be refused. It calls the first of `routes`, such
 * as `POST /orders`. `{id}` in its path is sent as it is: any value will do. The handler throws what came instead.
 * @throws Error that names a missing variable: API_URL or ISSUER
 */
export const outsideCheck = (routes: Readonly<Record<string, unknown>>) => {
  const [route = ''] = Object.keys(routes);
  const [method = '', path = ''] = route.split(' ');
  const url = fromEnvironment('API_URL') + path;
  const issuer = fromEnvironment('ISSUER');

  const expectStatus = async (expected: number, headers: Record<string, string>): Promise<void> => {
    const answer = await statusOf(method, url, headers).catch((error: Error) => error.message);
    if (answer !== expected) throw new Error(`${method} ${url} must answer ${expected}. Instead: ${answer}`);
  };

  return async (): Promise<void> => {
    const authorization = `Bearer ${forgedToken(issuer)}`;
    // Without a token, only an API with an authorizer answers 401. A domain name that leads to no API also answers 403.
    await expectStatus(401, {});
    // Without the issuer's keys, the authorizer fails, and the answer is 500.
    await expectStatus(403, { authorization });
  };
};

/** Opens a new connection, so that each check sees the DNS record and the certificate of the moment. */
const statusOf = (method: string, url: string, headers: Record<string, string>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeout);
    const sent = request(url, { method, headers, agent: false, signal }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', (error) => reject(signal.aborted ? signal.reason : error)).end();
  });
