/** Finds what the logs say about one request to the running local service or to a deployed stack, and formats it. */
import { CloudWatchLogs, type ResultField } from '@aws-sdk/client-cloudwatch-logs';
import type { AccessLogEntry } from 'http-api-emulator';
import { readSession } from '../start/session.ts';
import { dataFolder } from '../start/settings.ts';
import { printable, withoutHash } from '../start/terminal.ts';
import { listResources, orExplain } from './aws.ts';

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

export const describeRequest = ({ summary, errors, lines }: TracedRequest): string => {
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

/**
 * Asks the running local service what it did with a request.
 * @throws Error with a one-sentence message for the user if no service runs, or if the service does not know the
 *   request
 */
export const findLocalRequest = async (id: string): Promise<TracedRequest> => {
  const { url } = readSession(dataFolder());
  const response = await fetch(`${url}/docs/requests.json`).catch((cause: unknown) => {
    throw new Error(`The local service at ${url} does not answer; it was probably killed. Start it: npm start`, {
      cause,
    });
  });
  const entries = (await response.json()) as AccessLogEntry[];
  const found = entries.find(({ requestId }) => requestId === id);
  if (found === undefined) {
    throw new Error(
      `The local service at ${url} has no request ${id}. It keeps its latest 1,000 requests until it stops; for a deployment, add --stack <name>.`,
    );
  }
  const { method, path, status, milliseconds, error, log } = found;
  return {
    summary: { method, path, status, milliseconds: Math.round(milliseconds) },
    errors: error ? [error] : [],
    lines: log.map(({ functionName, ...line }) => ({ who: withoutHash(functionName), ...line })),
  };
};

/**
 * A line from the access log, from a function (has `message`), or from Lambda about an invocation (has `record`). `who`
 * is the function whose log has the line, or undefined for the access log.
 */
type Line = Record<string, unknown> & { who: string | undefined; requestId?: string; integrationRequestId?: string };

/**
 * Finds a request in a deployed stack's logs with two queries of CloudWatch Logs Insights. The first finds lines with
 * the gateway's request id; the second adds lines of the same invocations that have only Lambda's id.
 * @param days how many days back to search; AWS charges for the amount of data that a query scans
 */
export const findDeployedRequest = async (id: string, stack: string, days: number): Promise<TracedRequest> => {
  const logs = await readLogGroups(stack);
  const query = (filter: string) => runQuery(logs, filter, days);
  const withId = `requestId = "${id}" or message.gatewayRequestId = "${id}"`;
  const ofGateway = await query(withId);
  if (ofGateway.length === 0) {
    throw new Error(
      `The logs of the stack ${stack} have no request ${id} in the last ${days === 1 ? 'day' : `${days} days`}. Lines arrive some seconds after a request: try again, or search further back with --days.`,
    );
  }
  const invocations = ofGateway.map((line) => (line.who === undefined ? line.integrationRequestId : line.requestId));
  const ids = JSON.stringify([...new Set(invocations)].filter((each) => /^[\da-f-]{36}$/.test(each ?? '')));
  const failed = `record.requestId in ${ids} and record.status in ["error","failure","timeout"]`;
  const all = ids === '[]' ? ofGateway : await query(`${withId} or requestId in ${ids} or (${failed})`);
  const access = ofGateway.find(({ who }) => who === undefined);
  return {
    ...(access && { summary: summaryOf(access) }),
    errors: [access?.['authorizerError'], access?.['integrationError'], access?.['gatewayError']]
      // In the access log, `-` stands for a variable without a value.
      .filter((error): error is string => typeof error === 'string' && error !== '-'),
    // A line from Lambda has `type` and `record` instead of `level` and `message`.
    lines: all.flatMap(({ who, level, message, type = level, record = message }) =>
      who === undefined ? [] : [{ who, level: String(type), message: record }],
    ),
  };
};

const summaryOf = ({ method, route, status, latency }: Line): Required<TracedRequest>['summary'] => ({
  method: String(method),
  // The route is a method and a path, or `-` if the API has no route for the request.
  path: String(route).replace(/^\S+ /, ''),
  status: Number(status),
  milliseconds: Number(latency),
});

/** Lists a stack's log groups, each with the function that writes to it, or with undefined for the access log. */
const readLogGroups = async (stack: string): Promise<Map<string, string | undefined>> => {
  const resources = await listResources(stack);
  const groups = resources.filter(({ ResourceType }) => ResourceType === 'AWS::Logs::LogGroup');
  if (groups.length === 0) throw new Error(`The stack ${stack} does not have the logs of a Plant Store.`);
  const functionOf = (id = ''): string | undefined => /^(.+)Logs[0-9A-F]{8}$/.exec(id)?.[1];
  return new Map(groups.map((each) => [each.PhysicalResourceId ?? '', functionOf(each.LogicalResourceId)]));
};

const runQuery = (groups: Map<string, string | undefined>, filter: string, days: number): Promise<Line[]> =>
  orExplain('The logs cannot be searched', async () => {
    const client = new CloudWatchLogs();
    const now = Math.ceil(Date.now() / 1000);
    const { queryId } = await client.startQuery({
      logGroupNames: [...groups.keys()],
      startTime: now - days * 24 * 60 * 60,
      endTime: now,
      queryString: `fields @log, @message | filter ${filter} | sort @timestamp asc | limit 100`,
    });
    for (;;) {
      const { status, results = [] } = await client.getQueryResults({ queryId });
      if (status === 'Complete') return results.map((row) => lineIn(row, groups));
      if (status !== 'Running' && status !== 'Scheduled') throw new Error(`the query ended with the status ${status}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  });

const lineIn = (row: ResultField[], groups: Map<string, string | undefined>): Line => {
  const values = Object.fromEntries(row.map(({ field, value }) => [field, value]));
  const { '@log': log = '', '@message': message = '{}' } = values;
  // The field @log has the account id, a colon and the name of the log group.
  return { ...JSON.parse(message), who: groups.get(log.slice(log.indexOf(':') + 1)) };
};
