/** Says in words why a request did not succeed, from its line in the access log, and why something is not served. */
import type { AccessLogLine } from '../gateway/server.ts';
import type { LogLine } from '../lambda/reports.ts';
import type { LeftOut } from '../served-stack.ts';
import { withoutHash } from './text.ts';

/** What is known of the lines that the functions of a service log. */
export type LogFormat = {
  /** Returns the reasons that the functions of a request that did not succeed have logged, or sent to the client. */
  reasonsIn: (logged: AccessLogLine) => string[];
  /** Whether the row of a request says all that a line says, except for its stack traces. */
  isInRow: (line: LogLine) => boolean;
  /** The fields of a line that are not printed. */
  omitted: string[];
};

/** The reason for each status that the gateway sends without calling a function. No log contains these reasons. */
const beforeFunctions: Record<number, string> = {
  400: 'the request is not valid HTTP',
  401: 'no Authorization header',
  404: 'the API has no such route',
  413: 'the body is over 10 MB',
  429: 'too many requests at a time',
  431: 'the request line and headers are over 10,240 bytes',
};

/** Returns an empty text for a request that succeeded, unless a browser hides its response because of CORS. */
export const reasonFor = (logged: AccessLogLine, reasonsIn: LogFormat['reasonsIn']): string => {
  const { status, error, refusedOrigin, log } = logged;
  const cors = refusedOrigin === undefined ? [] : [`${refusedOrigin} is refused by CORS`];
  if (status >= 200 && status < 400) return cors.join();
  const reasons = reasonsIn(logged);
  // If the functions say why they refuse a request, the gateway's reason adds nothing.
  const ofGateway = status < 500 && reasons.length > 0 ? undefined : error?.replace(/^\w+(?=: )/, withoutHash);
  const known = log.length === 0 && error === undefined ? beforeFunctions[status] : undefined;
  return [...cors, ...reasons, ofGateway, known].filter((each) => each !== undefined).join('; ');
};

/** Returns a line for each reason why the emulator leaves out resources of the stack. */
export const notServed = ({ leftOut }: { leftOut: LeftOut[] }): string[] =>
  Array.from(
    Map.groupBy(leftOut, (each) => each.reason),
    ([reason, resources]) => {
      const names = resources.map(({ resource }) => resource.replace(/[\dA-F]{8}(?= \()/, ''));
      return `Not served here: ${names.join(', ')}, because ${reason}.`;
    },
  );
