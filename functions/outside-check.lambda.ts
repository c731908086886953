import { request } from 'node:https';
import { fromEnvironment } from '../packages/runtime/environment.ts';
import { forgedToken } from '../packages/runtime/smoke-test/events.ts';
import { scopes } from './generated/contract.ts';

/** Milliseconds for one request. The gateway waits 10 s for an authorizer. */
export const timeout = 11_000;

/** The contract's first route, such as `POST /plants`. `{id}` in its path is sent as it is: any value will do. */
const [route = ''] = Object.keys(scopes);
const [method, path = ''] = route.split(' ');

const url = fromEnvironment('API_URL') + path;
const issuer = fromEnvironment('ISSUER');

/** Calls the API as a stranger, who must be refused. @throws Error that says what came instead */
export const handler = async (): Promise<void> => {
  const authorization = `Bearer ${forgedToken(issuer)}`;
  // Without a token, only an API with an authorizer answers 401. A domain name that leads to no API also answers 403.
  await expectStatus(401, {});
  // Without the issuer's keys, the authorizer fails, and the answer is 500.
  await expectStatus(403, { authorization });
};

const expectStatus = async (expected: number, headers: Record<string, string>): Promise<void> => {
  const answer = await statusOf(headers).catch((error: Error) => error.message);
  if (answer !== expected) throw new Error(`${method} ${url} must answer ${expected}. Instead: ${answer}`);
};

/** Opens a new connection, so that each check sees the DNS record and the certificate of the moment. */
const statusOf = (headers: Record<string, string>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeout);
    const sent = request(url, { method, headers, agent: false, signal }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', (error) => reject(signal.aborted ? signal.reason : error)).end();
  });
