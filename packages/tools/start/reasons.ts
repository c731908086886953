/** Says in words why a request did not succeed, from its line in the access log, and why something is not served. */
import type { AccessLogLine, Emulator } from 'http-api-emulator';
import { withoutHash } from './terminal.ts';

/** Explains the reasons in the authorizer's log that are not clear by themselves. */
const refusals: Record<string, string> = {
  issuer: 'the token is from another issuer',
  'unknown key': "the issuer does not have the token's key",
  signature: "the token's signature is wrong",
  audience: 'the token is for another audience',
  client: 'the token is for another client',
  scope: 'the token lacks a scope of the route',
};

/** The reason for each status that the gateway sends without calling a function. No log contains these reasons. */
const beforeFunctions: Record<number, string> = {
  400: 'the request is not valid HTTP',
  401: 'no Authorization header',
  404: 'the API has no such route',
  413: 'the body is over 10 MB',
  417: 'the Expect header is not supported',
  429: 'too many requests at a time',
  431: 'the request line and headers are over 10,240 bytes',
};

/** Returns an empty text for a request that succeeded, unless a browser hides its response because of CORS. */
export const reasonFor = ({ status, error, errorBody, refusedOrigin, log }: AccessLogLine): string => {
  const cors = refusedOrigin === undefined ? [] : [`${refusedOrigin} is refused by CORS`];
  if (status >= 200 && status < 400) return cors.join();
  const message = status < 500 ? messageIn(errorBody) : undefined;
  const logged = log.flatMap((line) => loggedReason(line.message) ?? []);
  // If the authorizer has logged why it refuses a request, the gateway's reason adds nothing.
  const ofGateway = status < 500 && logged.length > 0 ? undefined : error?.replace(/^\w+(?=: )/, withoutHash);
  const reasons = message === undefined ? [...logged, ofGateway] : [message];
  const known = log.length === 0 && error === undefined ? beforeFunctions[status] : undefined;
  return [...cors, ...reasons, known].filter((each) => each !== undefined).join('; ');
};

/** The service's own message for the client, which names fields that the log may not name. */
const messageIn = (body = ''): string | undefined => {
  try {
    const { error, message } = Object(JSON.parse(body));
    return typeof error === 'number' ? String(message) : undefined;
  } catch {
    return undefined;
  }
};

const loggedReason = (message: unknown): string | undefined => {
  const { outcome, error, reason, cause } = Object(message);
  if (outcome === 'failed') return causeOf(cause);
  if (outcome !== 'refused') return undefined;
  // Only an operation's line has a number in `error`, and its reason is a sentence.
  return error === undefined ? (refusals[reason] ?? `the token is refused: ${reason}`) : reason;
};

const causeOf = ({ name, code, stack, denied, cause }: Record<string, unknown>): string => {
  // The names of these classes say no more than their messages.
  const [, thrown = ''] = /^(?:(?:Catalogue|Timeout)?Error: |\w+Unavailable: )?(.*)/.exec(String(stack ?? name)) ?? [];
  const more = thrown.split(' ').includes(String(code)) ? undefined : code;
  return [denied ? `IAM denies ${denied}` : thrown, more, cause && causeOf(Object(cause))].filter(Boolean).join(': ');
};

/** Returns a line for each reason why the emulator leaves out resources of the stack. */
export const notServed = ({ leftOut }: Pick<Emulator['stack'], 'leftOut'>): string[] =>
  Array.from(
    Map.groupBy(leftOut, (each) => each.reason),
    ([reason, resources]) => {
      const names = resources.map(({ resource }) => resource.replace(/[\dA-F]{8}(?= \()/, ''));
      return `Not served here: ${names.join(', ')}, because ${reason}.`;
    },
  );
