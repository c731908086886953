/** Formats, as text, what the logs say about one request to a running local service or to a deployed stack. */
import { printable } from '../start/terminal.ts';

/** A log line of the request, written by a function or by Lambda. `who` is the function's name, such as Authorizer. */
export type LoggedLine = { who: string; level: string; message: unknown };

/**
 * What is known about a request. `summary` is its line in the access log, or undefined until the log has that line.
 * `errors` say why the gateway responded instead of a function.
 */
export type TracedRequest = {
  summary?: { method: string; path: string; status: number; milliseconds: number };
  errors: string[];
  lines: LoggedLine[];
};

/** The reason for each status that the gateway sends without calling a function. No log contains these reasons. */
const beforeFunctions: Record<number, string> = {
  400: 'the request is not valid HTTP',
  401: 'the request has no Authorization header',
  404: 'the API has no route with this method and path',
  413: 'the body is over 10 MB',
  417: 'the request has an Expect header that is not supported',
  429: 'there were more requests than the API accepts',
  431: 'the request line and headers are over 10,240 bytes',
};

export const describe = ({ summary, errors, lines }: TracedRequest): string => {
  const { method, path, status = 0, milliseconds } = summary ?? {};
  const known = lines.length > 0 ? undefined : beforeFunctions[status];
  const text = [
    summary ? `${method} ${path} ${status} ${milliseconds} ms` : 'The access log has no line of this request yet.',
    ...lines.map(({ who, level, message }) => `${who} ${level} ${readable(message)}`),
    ...[...errors, ...(known === undefined ? [] : [known])].map((error) => `Gateway: ${error}`),
  ].join('\n');
  return printable(text);
};

/**
 * Formats a log message, with real line breaks in stack traces. `message` is undefined if the log entry has none, as
 * after console.info(undefined).
 */
const readable = (message: unknown): string => {
  const short = JSON.stringify(message) ?? '';
  return showLineBreaks(short) === short ? short : showLineBreaks(JSON.stringify(message, null, 2));
};

/**
 * Turns the escape sequence for a line break into a line break. Matches whole sequences, so that the n in "C:\\new",
 * which follows an escaped backslash, stays an n.
 */
const showLineBreaks = (json: string): string =>
  json.replaceAll(/\\./g, (escaped) => (escaped === '\\n' ? '\n' : escaped));
