/** What the commands `start` and `request` know of the lines that a service's functions log. */
import type { AccessLogLine, LogFormat } from 'http-api-emulator/request-log';

/** Explains the reasons in the authorizer's log that are not clear by themselves. */
const refusals: Record<string, string> = {
  issuer: 'the token is from another issuer',
  'unknown key': "the issuer does not have the token's key",
  signature: "the token's signature is wrong",
  audience: 'the token is for another audience',
  client: 'the token is for another client',
  scope: 'the token lacks a scope of the route',
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

export const logFormat: LogFormat = {
  reasonsIn: ({ status, errorBody, log }: AccessLogLine) => {
    const message = status < 500 ? messageIn(errorBody) : undefined;
    return message === undefined ? log.flatMap((line) => loggedReason(line.message) ?? []) : [message];
  },
  isInRow: ({ level, message }) => {
    const { outcome } = Object(message);
    return outcome === 'failed' || (outcome !== undefined && level === 'INFO');
  },
  // The row has the gateway's request id.
  omitted: ['gatewayRequestId'],
};
