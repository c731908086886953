/** Connects to the running local service, a deployed stack or any address, and explains failed requests to the user. */
import { createClient, type Operation, type Outcome, type Token } from '@lambda-service/client';
import type { Command } from 'commander';
import { fetchToken, readSession } from '../start/session.ts';
import { dataFolder } from '../start/settings.ts';
import { matching, ourCommand, printable } from '../terminal.ts';

export type Target = { url?: string | undefined; stack?: string | undefined; token?: string | undefined };

const url = matching(/^https?:\/\/./, 'It must be a URL such as https://host.example', String);

/** Adds the options that choose the service to call. */
export const addTarget = (command: Command): Command =>
  command
    .option('--stack <name>', 'a deployed stack, such as OrderStore: gets the address and tokens from AWS')
    .option('--url <url>', 'the service to use instead of the local one; needs an access token', url)
    .option('--token <token>', 'the access token, instead of ACCESS_TOKEN; other users of this machine may see it');

/** The operations of a contract, by their ids. `file` is the name of an operation's entry, such as create-order. */
export type Operations = Readonly<Record<string, Operation & { file: string }>>;

/** Whether an operation adds an item, which an import can do many times, and which the service lets clients repeat. */
export const addsItem = ({ method, parameters, body }: Operation): boolean =>
  method === 'POST' && body !== undefined && !parameters.some(({ required }) => required);

/** Returns what calls the service at `url`, that of the deployed `stack`, or else the running local service. */
export const connect = async (target: Target, console: Console) => {
  const { url, token } = await addressOf(target, console);
  const call = (operation: Operation, args: unknown[]): Promise<Outcome<unknown, number>> =>
    Reflect.apply(createClient({ operation }, { baseUrl: url, token }).operation, undefined, args);
  return { url, call };
};

const addressOf = async ({ url, stack, token }: Target, console: Console): Promise<{ url: string; token: Token }> => {
  if (url !== undefined && stack !== undefined) throw new Error('Give --url or --stack, not both.');
  if (url !== undefined) return { url, token: givenToken(token) };
  if (stack !== undefined) return addressOfStack(stack, token, console);
  if (token !== undefined) throw new Error('--token also needs --url or --stack: the service that the token is for.');
  const { url: localUrl } = readSession(dataFolder());
  // A service that has restarted since then has another client secret.
  return { url: localUrl, token: untilRefused(async () => fetchToken(readSession(dataFolder()))) };
};

const addressOfStack = async (stack: string, token: string | undefined, console: Console) => {
  // Only this option needs the clients of AWS, which take longer to load than all the rest.
  const { fetchDeployedToken, readDeployedIssuer, readDeployment } = await import('./deployed-issuer.ts');
  const { url, issuer, outputs } = await readDeployment(stack);
  const given = token ?? (issuer && process.env['ACCESS_TOKEN']);
  if (given) return { url, token: given };
  const source = await readDeployedIssuer(stack, outputs);
  const say = (line: string): void => console.error(printable(line));
  return { url, token: untilRefused(() => fetchDeployedToken(source, say)) };
};

const givenToken = (token = process.env['ACCESS_TOKEN']): string => {
  if (!token) throw new Error('--url needs an access token: set ACCESS_TOKEN, or give --token.');
  return token;
};

/**
 * Uses a token until the service refuses it, which it does when the token expires. Requests that are refused while the
 * next one is fetched share it. A request that is refused later fetches another, even if it was sent with the old one.
 */
export const untilRefused = (fetchNext: () => Promise<string>): Token => {
  let token: Promise<string> | undefined;
  let isFetching = false;
  return ({ refused }) => {
    if (token === undefined || (refused && !isFetching)) {
      isFetching = true;
      token = fetchNext().finally(() => {
        isFetching = false;
      });
    }
    return token;
  };
};

export type Failed = Outcome<unknown, number> & { ok: false };

/** Says in one sentence why an operation failed, with advice if there is any, and the request's id if it is known. */
export const explain = (id: string, operation: Operation, result: Failed, url: string): string =>
  `${advice(id, operation, result, url)}${result.requestId === undefined ? '' : ` [request ${result.requestId}]`}`;

/** Statuses of the gateway's error responses after which the same request may succeed later. */
export const retryableStatuses = [429, 500, 502, 503, 504];

const advice = (id: string, operation: Operation, result: Failed, url: string): string => {
  const { error, message } = result;
  if (error === 'no answer')
    return `Nothing answers at ${url} (${message}): check that address or, if it is local, run npm start.`;
  const { status } = result;
  if (error === 'token refused' || status === 431)
    return `The token was refused at ${url} (${status}): get another one with ${ourCommand} token (for a deployment, add --stack <name>)`;
  if (error !== 'gateway') return `${id} failed (${error}): ${message}`;
  if (status === 413) return `${id} failed (413: ${message}): the request is too large.`;
  if (!retryableStatuses.includes(status))
    return `The server at ${url} is another one, or has no such route (${status}): check that address.`;
  // HTTP defines these methods as idempotent.
  const isSafe = addsItem(operation) || ['GET', 'PUT', 'DELETE'].includes(operation.method);
  const again = isSafe ? 'try again later, which is safe.' : 'find out if it was done before you try again.';
  return `${id} failed (${status}: ${message}): ${again}`;
};
